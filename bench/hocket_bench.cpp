// hocket-bench: measures one collective and checks its results. The ranks are processes that a launcher started,
// processes that this program starts (--ranks), or threads of this process (--transport loopback).
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <exception>
#include <new>
#include <thread>

#include "bench/best_fixed.hpp"
#include "bench/measure.hpp"
#include "bench/model.hpp"
#include "bench/options.hpp"
#include "bench/report.hpp"
#include "hocket/hocket.hpp"
#include "src/base/environment.hpp"
#include "tools/arguments.hpp"
#include "tools/guarded_main.hpp"
#include "tools/launch.hpp"
#include "tools/plan/probe_measure.hpp"
#include "tools/progress.hpp"

namespace hocket::bench {
namespace {

int complain(const std::string& sentence, int exit_status) {
  fmt::print(stderr, "hocket-bench: {}\n", sentence);
  return exit_status;
}

int exit_status_of(const Error& error) {
  switch (error.result()) {
    case HOCKET_INVALID_ARGUMENT:
    case HOCKET_INVALID_ENVIRONMENT:
    case HOCKET_UNSUPPORTED:
    case HOCKET_NOT_FOUND: return exit_usage;
    default: return exit_communication;
  }
}

// Measures everything on this rank; `report`, `progress` and `model`, if any, are rank 0's, null elsewhere. Throws
// hocket::Error.
void measure_all(const Options& options, Member member, Report* report, Progress* progress, const Model* model) {
  const Method method{options.iterations, options.seconds, options.warmup, options.checks, options.fresh};
  if (progress != nullptr) {
    member.progress = [progress](const char* phase, std::size_t done, std::size_t total) {
      progress->show(phase, done, total);
    };
  }
  const auto measure_placement = [&](Case what, bool wanted, bool in_place) -> std::optional<Row> {
    if (!wanted) return std::nullopt;
    what.in_place = in_place;
    if (progress != nullptr) {
      progress->set_subject(fmt::format("{} {} {}", what.collective->name(),
                                        size_text(bytes_of(what, member.place.size)),
                                        in_place ? "in place" : "out of place"));
    }
    Row row{what, measure(member, what, method), member.place.size};
    if (model != nullptr) row.model_us = model->expected_us(what, row.measured, options.fresh);
    return row;
  };
  for (const Case& what : cases_of(options, member.place.size)) {
    const std::optional<Row> out_of_place = measure_placement(what, options.out_of_place, false);
    const std::optional<Row> in_place = measure_placement(what, options.in_place, true);
    if (progress != nullptr) progress->clear();
    if (report != nullptr) report->add(out_of_place, in_place);
  }
}

// The whole life of one rank. Returns its exit status.
int run_member(const Options& options, Communicator& comm, bool ranks_are_threads,
               const std::optional<ProbeFigures>& probed) {
  if (const Status fits = check_size(options, comm.size()); !fits) return complain(fits.message(), exit_usage);
  const Member member{
      .comm = comm.handle(), .place = {comm.rank(), comm.size()}, .ranks_are_threads = ranks_are_threads};
  if (comm.rank() != 0) {
    measure_all(options, member, nullptr, nullptr, nullptr);
    comm.barrier();  // a launcher ends everybody when one rank leaves in haste: rank 0 still has files to write
    return 0;
  }
  Result<Report> report = Report::open(options);
  if (!report) return complain(report.status().message(), exit_usage);
  std::optional<Model> model;
  if (!options.model_file.empty()) {
    Result<Model> opened = probed ? Model::of(*probed, comm.size()) : Model::open(options.model_file, comm.size());
    if (!opened) return complain(opened.status().message() + ".", exit_usage);
    model = std::move(opened).value();
  }
  Progress progress;
  report->begin(comm.size());
  measure_all(options, member, &*report, &progress, model ? &*model : nullptr);
  const Status finished = report->finish();
  comm.barrier();
  if (!finished) return complain(finished.message(), exit_usage);
  const Findings found = report->findings();
  return found.wrong + found.out_of_bounds > 0 ? exit_wrong_results : 0;
}

// Turns what run_member throws into a message and an exit status.
int run_guarded(const Options& options, Communicator& comm, bool ranks_are_threads,
                const std::optional<ProbeFigures>& probed = std::nullopt) {
  try {
    return run_member(options, comm, ranks_are_threads, probed);
  } catch (const Error& error) {
    return complain(fmt::format("rank {}: {}", comm.rank(), error.what()), exit_status_of(error));
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
  return launch::run(launch);
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
  if (options.transport == "loopback") return run_threads(options);
  if (options.ranks == 0) {
    const bool launched = environment::in_force("HOCKET_RANK") || environment::in_force("HOCKET_WORLD_SIZE");
    if (launched) return run_process(options);
    return complain("No ranks: let --ranks N start them here, or start them with hocket-run or another launcher.",
                    exit_usage);
  }
  if (const Status fits = check_size(options, options.ranks); !fits) return complain(fits.message(), exit_usage);
  return run_processes(options, argc, argv);
}

}  // namespace
}  // namespace hocket::bench

int main(int argc, char** argv) {
  return hocket::guarded_main("hocket-bench", argc, argv, hocket::bench::run);
}
