#include "bench/flags.hpp"

#include <fmt/ranges.h>

#include <vector>

#include "tools/arguments.hpp"
#include "tools/launch_cores.hpp"
#include "transports/registry.hpp"

namespace hocket::bench {
namespace {

std::vector<std::string> transport_names() {
  std::vector<std::string> names = {"auto"};
  for (const TransportEntry& entry : transports()) names.emplace_back(entry.name);
  return names;
}

// For CLI::Option::check().
std::string device_name(const std::string& text) {
  const bool number = !text.empty() && text.size() < 5 && text.find_first_not_of("0123456789") == std::string::npos;
  if (number || text == local_rank_device) return {};
  return fmt::format("'{}' is neither the number of a GPU nor {}", text, local_rank_device);
}

}  // namespace

std::string benchmark_names() {
  std::string names;
  for (const Benchmark& entry : all_benchmarks()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name());
  }
  return names;
}

CLI::Option* add_subject(CLI::App& app, Written& written, Options& options) {
  app.add_option("collective", written.collective, benchmark_names())->required()->type_name("COLLECTIVE");
  app.add_option("-b,--minbytes", written.min, "smallest size, as 64K (4)")->type_name("SIZE");
  CLI::Option* max = app.add_option("-e,--maxbytes", written.max, "largest size (64M)")->type_name("SIZE");
  CLI::Option* factor = app.add_option("-f,--stepfactor", written.factor, "each size is this times the last (4)")
                            ->check(CLI::Range(2, 1 << 20));
  app.add_option("-i,--stepbytes", written.step, "each size is this more than the last")
      ->type_name("SIZE")
      ->excludes(factor);
  app.add_option("-d,--datatype", written.dtype, names_of(all_data_types) + ", all (float32)")->type_name("TYPE");
  app.add_option("-o,--op", written.op, names_of(built_in_reduce_ops) + ", all (sum)")->type_name("OP");
  app.add_option("-r,--root", written.root, "rank, or all (0)")->type_name("RANK");
  app.add_option("--placement", written.placement, "in, out or both (both)")
      ->check(CLI::IsMember({"in", "out", "both"}))
      ->type_name("PLACE");
  app.add_option("--memory", options.memory, "plain, registered, or cuda: that of a GPU (plain)")
      ->check(CLI::IsMember({plain_memory, registered_memory, cuda_memory}))
      ->type_name("KIND");
  app.add_option("--device", options.device,
                 "with --memory cuda: the GPU of all ranks by its number, or local-rank: each takes that of its own "
                 "number on its host (0)")
      ->check(device_name, "")
      ->type_name("GPU");
  app.add_option(
         "--offset", options.offset,
         "bytes from the beginning of a page to where each buffer in host memory begins: 16 as what malloc maps (0)")
      ->check(CLI::Range(0, 4095))
      ->type_name("BYTES");
  const std::vector<std::string> names = transport_names();
  app.add_option("--transport", options.transport,
                 fmt::format("{}: loopback has threads for ranks (auto)", fmt::join(names, ", ")))
      ->check(CLI::IsMember(names))
      ->type_name("NAME");
  app.add_flag("--persistent", options.persistent, "each call is planned once, and started for every operation");
  app.add_option("--coalesced", options.tensors, "cut the data into this many tensors, and make one call on their list")
      ->check(CLI::Range(1, 1 << 20))
      ->type_name("N");
  app.add_option("--wire", written.wire, names_of(all_wire_formats) + ": how float32 travels (exact)")
      ->type_name("FORMAT");
  app.add_option("--algorithm", options.algorithm, "as HOCKET_ALGORITHM: ring, allreduce=linear:4K,ring ... (auto)")
      ->type_name("NAME");
  return max;
}

void add_method(CLI::App& app, Written& written, Options& options) {
  app.add_option("--ranks", options.ranks, "start this many ranks here")->check(CLI::Range(1, group_ranks_max));
  app.add_option("--timeout", options.timeout_seconds,
                 "seconds that any wait for another rank may last (HOCKET_TIMEOUT_MS, or 300)")
      ->check(arguments::number(0.001, 1e7));
  app.add_option("--bind-to", options.binding,
                 "with --ranks: core, each rank on its own; auto: if there are enough cores; none (auto)")
      ->check(CLI::IsMember(launch::bindings))
      ->type_name("WHAT");
  CLI::Option* iterations = app.add_option("-n,--iters", options.iterations, "operations to time for each size")
                                ->check(CLI::Range(1, 10'000'000));
  app.add_option("--seconds", options.seconds, "time for each size, instead of a count (0.25)")
      ->check(arguments::number(0, 86400))
      ->excludes(iterations);
  app.add_option("-w,--warmup_iters", options.warmup, "operations before those that are timed (2)")
      ->check(CLI::Range(0, 1'000'000));
  app.add_option("--warmup-seconds", options.warmup_seconds,
                 "seconds to go on warming up after those, while the system spreads the ranks over the cores (0)")
      ->check(arguments::number(0, 3600));
  app.add_option("-c,--check", options.checks, "operations to check for each size; 0: none (1)")
      ->check(CLI::Range(0, 1'000'000));
  CLI::Option* fresh =
      app.add_flag("--fresh", options.fresh,
                   "every rank rewrites its input before every operation, outside the clock; operations are timed one "
                   "by one. Without it: back to back");
  app.add_option("--pacer", options.pacer_file,
                 "with --fresh: ranks meet before each operation in this file as well, 4096 zeros, made anew for each "
                 "run, as those of all libraries do in bench/compare")
      ->check(arguments::not_empty())
      ->needs(fresh)
      ->type_name("FILE");
  app.add_option("--kill", written.kill,
                 "this rank kills itself at this timed operation, counted from 1; the others go on, and show how long "
                 "they took to notice, to shrink and to recover")
      ->check(arguments::not_empty())
      ->type_name("RANK@ITERATION");
  app.add_option("--json", options.json_file, "write results there; -: standard output")->type_name("FILE");
  app.add_option("--model", options.model_file,
                 "show what the model expects on this network, as hocket-plan probe --save writes it; probe: of what "
                 "these ranks measure first")
      ->type_name("FILE");
  CLI::Option* best = app.add_flag("--best-fixed", options.best_fixed,
                                   "measure auto and every algorithm that can be named, taking turns, and show how "
                                   "much slower auto is than the best");
  app.add_option("--rounds", options.rounds, "with --best-fixed: turns of each; they share --seconds (5)")
      ->check(CLI::Range(1, 1000))
      ->needs(best);
  app.add_option("--csv", options.csv_file, "write results there; -: standard output")->type_name("FILE");
}

}  // namespace hocket::bench
