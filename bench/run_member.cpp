#include "bench/run_member.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "bench/kill.hpp"
#include "bench/measure.hpp"
#include "bench/model.hpp"
#include "bench/pacer.hpp"
#include "bench/report.hpp"
#include "tools/progress.hpp"

namespace hocket::bench {
namespace {

class MemberRun {
 public:
  MemberRun(const Options& options, Communicator& comm, bool ranks_are_threads,
            const std::optional<ProbeFigures>& probed)
      : options_(options),
        comm_(comm),
        probed_(probed),
        memory_(make_memory(options.memory, options.device, options.offset)) {
    member_.memory = memory_.get();
    member_.ranks_are_threads = ranks_are_threads;
    if (!options.pacer_file.empty()) {
      pacer_.emplace(options.pacer_file, comm.size());
      member_.pacer = [this] { pacer_->meet(); };
    }
    if (options.kill) member_.killing = &killing_.emplace(*options.kill);
  }

  int run() {
    if (const Status fits = check_size(options_, comm_.size()); !fits) return complain(fits.message(), exit_usage);
    if (killing_ && !share_a_clock(comm_)) {
      return complain("--kill compares times of all ranks, which must be on one host.", exit_usage);
    }
    if (pacer_ && !share_a_clock(comm_)) {
      return complain("--pacer is a file in which all ranks meet, which must be on one host.", exit_usage);
    }
    if (const Status begun = begin(); !begun) return complain(begun.message(), exit_usage);
    for (std::size_t next = 0; next < cases_of(options_, comm_.size()).size();) {
      const Case what = cases_of(options_, comm_.size())[next];
      try {
        measure_case(what);
        ++next;
      } catch (const Error& error) {
        if (!killing_ || !killing_->explains(error)) throw;
        // The case begins anew, among those that are left.
        if (const Status gone_on = survive(); !gone_on) return complain(gone_on.message(), exit_usage);
      }
    }
    return finish();
  }

 private:
  // On this communicator: what rank 0 tells with, and where this rank is.
  Status begin() {
    member_.comm = comm_.handle();
    member_.place = {comm_.rank(), comm_.size()};
    if (comm_.rank() != 0 || report_) return {};
    Result<Report> report = Report::open(options_);
    if (!report) return report.status();
    report_ = std::move(report).value();
    if (!options_.model_file.empty()) {
      Result<Model> opened =
          probed_ ? Model::of(*probed_, comm_.size()) : Model::open(options_.model_file, comm_.size());
      if (!opened) return {opened.status().code(), opened.status().message() + "."};
      model_ = std::move(opened).value();
    }
    member_.progress = [this](const char* phase, std::size_t done, std::size_t total) {
      progress_.show(phase, done, total);
    };
    report_->begin(comm_.size());
    return {};
  }

  std::string subject(const Case& what) const {
    return fmt::format("{} {} {}", what.collective->name(), size_text(bytes_of(what, member_.place.size)),
                       what.in_place ? "in place" : "out of place");
  }

  std::optional<Row> measure_placement(Case what, bool wanted, bool in_place) {
    if (!wanted) return std::nullopt;
    what.in_place = in_place;
    measured_ = subject(what);
    progress_.set_subject(measured_);
    const Method method{options_.iterations,     options_.seconds, options_.warmup,
                        options_.warmup_seconds, options_.checks,  options_.fresh};
    Row row{what, measure(member_, what, method), member_.place.size};
    if (model_) row.model_us = model_->expected_us(what, row.measured, options_.fresh);
    return row;
  }

  void measure_case(const Case& what) {
    const std::optional<Row> out_of_place = measure_placement(what, options_.out_of_place, false);
    const std::optional<Row> in_place = measure_placement(what, options_.in_place, true);
    progress_.clear();
    if (report_) report_->add(out_of_place, in_place);
  }

  Status survive() {
    const Survival survival = killing_->survive(comm_, measured_);
    progress_.clear();
    if (const Status begun = begin(); !begun) return begun;
    if (report_) report_->survived(survival);
    return {};
  }

  int finish() {
    int status = 0;
    if (killing_ && !killing_->is_over()) {
      status = exit_usage;
      if (report_) {
        complain(fmt::format("--kill {}@{}: nobody was killed, as only {} operations were timed; choose a lower "
                             "iteration, or more with --iters.",
                             options_.kill->rank, options_.kill->iteration, killing_->operations()),
                 0);
      }
    }
    const Status finished = report_ ? report_->finish() : Status();
    comm_.barrier();  // a launcher ends everybody when one rank leaves in haste: rank 0 still has files to write
    if (!finished) return complain(finished.message(), exit_usage);
    return report_ && !report_->is_right() ? exit_wrong_results : status;
  }

  const Options& options_;
  Communicator& comm_;
  const std::optional<ProbeFigures>& probed_;
  const std::unique_ptr<Memory> memory_;
  std::optional<pacing::Pacer> pacer_;
  std::optional<Killing> killing_;
  Member member_;
  std::string measured_;  // what is
  // Rank 0's:
  std::optional<Report> report_;
  std::optional<Model> model_;
  Progress progress_;
};

}  // namespace

int complain(const std::string& sentence, int exit_status) {
  fmt::print(stderr, "hocket-bench: {}\n", sentence);
  return exit_status;
}

int run_member(const Options& options, Communicator& comm, bool ranks_are_threads,
               const std::optional<ProbeFigures>& probed) {
  return MemberRun(options, comm, ranks_are_threads, probed).run();
}

}  // namespace hocket::bench
