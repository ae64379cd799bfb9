// hocket-bench: measures one collective and checks its results. The ranks are processes that a launcher started,
// processes that this program starts (--ranks), or threads of this process (--transport loopback).
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <new>
#include <thread>

#include "bench/best_fixed.hpp"
#include "bench/options.hpp"
#include "bench/pacer.hpp"
#include "bench/run_member.hpp"
#include "hocket/hocket.hpp"
#include "src/base/environment.hpp"
#include "tools/arguments.hpp"
#include "tools/guarded_main.hpp"
#include "tools/launch.hpp"
#include "tools/plan/probe_measure.hpp"

namespace hocket::bench {
namespace {

int exit_status_of(const Error& error) {
  switch (error.result()) {
    case HOCKET_INVALID_ARGUMENT:
    case HOCKET_INVALID_ENVIRONMENT:
    case HOCKET_UNSUPPORTED:
    case HOCKET_NOT_FOUND: return exit_usage;
    default: return exit_communication;
  }
}

// Turns what run_member throws into a message and an exit status.
int run_guarded(const Options& options, Communicator& comm, bool ranks_are_threads,
                const std::optional<ProbeFigures>& probed = std::nullopt) {
  try {
    return run_member(options, comm, ranks_are_threads, probed);
  } catch (const Error& error) {
    return complain(fmt::format("rank {}: {}", comm.rank(), error.what()), exit_status_of(error));
  } catch (const pacing::PacerError& error) {
    return complain(fmt::format("rank {}: {}", comm.rank(), error.what()), exit_communication);
  } catch (const std::bad_alloc&) {
    return complain(fmt::format("rank {}: no memory for the buffers; choose a smaller -e.", comm.rank()),
                    exit_communication);
  }
}

int run_process(const Options& options) {
  try {
    if (options.best_fixed) return measure_best_fixed(options);
    std::optional<ProbeFigures> probed;  // rank 0's
    if (options.model_file == model_of_probe) {
      auto measured = measure_here();
      if (!measured) return complain(measured.status().message(), exit_communication);
      probed = *std::move(measured);
      for (const std::string& what : probed ? disturbed(*probed) : std::vector<std::string>()) {
        fmt::print(stderr, "hocket-bench: the model is uncertain, because its probe was disturbed: {}.\n", what);
      }
    }
    Communicator comm = Communicator::create(communicator_options(options));
    return run_guarded(options, comm, false, probed);
  } catch (const Error& error) {
    return complain(error.what(), exit_status_of(error));
  }
}

int run_threads(const Options& options) {
  std::vector<Communicator> comms;
  try {
    hocket::Options given = communicator_options(options);
    given.transport.clear();
    comms = Communicator::create_local(options.ranks, given);
  } catch (const Error& error) {
    return complain(error.what(), exit_status_of(error));
  }
  std::atomic<int> first_failure = 0;
  std::exception_ptr thrown;  // by rank 0
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < comms.size(); ++rank) {
    threads.emplace_back([&, rank] {
      int status = exit_usage, none = 0;
      try {
        status = run_guarded(options, comms[rank], true);
      } catch (...) {  // rank 0 cannot print
        thrown = std::current_exception();
      }
      if (status != 0) first_failure.compare_exchange_strong(none, status);
      if (status > exit_wrong_results) hocket_comm_abort(comms[rank].handle(), "another rank has failed");
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (thrown) std::rethrow_exception(thrown);
  return first_failure;
}

// Starts this program again as the ranks.
int run_processes(const Options& options, int argc, char** argv) {
  launch::Options launch;
  launch.caller = "hocket-bench";
  launch.ranks = options.ranks;
  launch.output = launch::Output::progress;
  launch.binding = options.binding;
  launch.command = launch::own_command(argc, argv);
  if (options.kill) launch.elastic = {.least = options.ranks - 1, .most = options.ranks};
  return launch::run(launch);
}

// Told here once, rather than by every rank.
std::optional<std::string> what_a_gpu_lacks(const Options& options) {
  if (options.memory != cuda_memory) return std::nullopt;
  try {
    (void)device::open_device(options.device == local_rank_device ? 0 : device_index(options.device));
  } catch (const Error& error) {
    return fmt::format(
        "--memory cuda needs a GPU: {}. Run it where a GPU and NVIDIA's driver are, or measure --memory plain.",
        error.what());
  }
  return std::nullopt;
}

int run(int argc, char** argv) {
  const Parsed parsed = parse_options(argc, argv);
  if (!parsed.options) {
    fmt::print(parsed.exit_status == 0 ? stdout : stderr, "{}", parsed.text);
    return parsed.exit_status;
  }
  const Options& options = *parsed.options;
  if (const auto ending = options.ranks > 0 ? arguments::refuse_ranks_below_launcher("hocket-bench") : std::nullopt) {
    return arguments::show(*ending);
  }
  if (options.transport == "loopback") {
    if (const auto why = what_a_gpu_lacks(options)) return complain(*why, exit_usage);
    return run_threads(options);
  }
  if (options.ranks == 0) {
    const bool launched = environment::in_force("HOCKET_RANK") || environment::in_force("HOCKET_WORLD_SIZE");
    if (launched) return run_process(options);
    if (environment::find({"HOCKET_NEWCOMER"})) {
      return complain("A benchmark takes no newcomers in: start hocket-run with --restarts 0.", exit_usage);
    }
    return complain("No ranks: let --ranks N start them here, or start them with hocket-run or another launcher.",
                    exit_usage);
  }
  if (const Status fits = check_size(options, options.ranks); !fits) return complain(fits.message(), exit_usage);
  if (const auto why = what_a_gpu_lacks(options)) return complain(*why, exit_usage);
  return run_processes(options, argc, argv);
}

}  // namespace
}  // namespace hocket::bench

int main(int argc, char** argv) {
  return hocket::guarded_main("hocket-bench", argc, argv, hocket::bench::run);
}
