#include "bench/best_fixed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "bench/report.hpp"
#include "src/plan/choices.hpp"
#include "src/plan/plan.hpp"
#include "src/spi/schedule.hpp"
#include "tools/progress.hpp"

namespace hocket::bench {
namespace {

constexpr double hopeless = 3;  // times the best of the first round: measured no more

// One communicator, and what its rounds took for the case at hand.
struct Contender {
  std::string named;
  Communicator comm;
  std::vector<double> times;
  Measurement latest;
  bool given_up = false;
};

// "auto", then all that may be named for calls of this collective.
std::vector<std::string> names_for(const Benchmark& benchmark) {
  std::vector<std::string> names = {std::string(automatic_algorithm)};
  const auto collective = collective_of(benchmark);
  if (!collective) return names;
  const CollectiveInfo& info = info_of(*collective);
  for (const Algorithm& algorithm : catalog()) {
    const bool fits = !algorithm.encoded && !(algorithm.forwards_blocks && info.has_unequal_blocks());
    if (algorithm.collective == info.equal_blocks && fits) names.emplace_back(algorithm.name);
  }
  return names;
}

double median(std::vector<double> values) {
  return values.empty() ? 0 : summarize(std::move(values)).p50;
}

double slower_than(const Standing& best, const Standing& automatic) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < best.rounds_us.size(); ++round) {
    ratios.push_back(automatic.rounds_us[round] / best.rounds_us[round]);
  }
  return median(std::move(ratios)) - 1;
}

Standing standing_of(const Contender& contender) {
  return {contender.named, contender.latest.transport, contender.latest.algorithm, median(contender.times),
          contender.times};
}

class BestFixed {
 public:
  explicit BestFixed(const Options& options)
      : options_(options),
        memory_(make_memory(options.memory, options.device, options.offset)),
        pacer_(make("dissemination")) {
    for (const std::string& name : names_for(*options.collective)) {
      contenders_.push_back({.named = name, .comm = make(name)});
    }
  }

  int rank() const { return contenders_.front().comm.rank(); }
  int size() const { return contenders_.front().comm.size(); }
  bool has_contest() const { return contenders_.size() > 1; }
  void barrier() { contenders_.front().comm.barrier(); }

  Contest measure_case(const Case& what) {
    for (Contender& contender : contenders_) {
      contender.times.clear();
      contender.given_up = false;
    }
    Contest contest{.what = what, .ranks = size()};
    for (int round = 0; round < options_.rounds; ++round) {
      for (std::size_t turn = 0; turn < contenders_.size(); ++turn) {
        Contender& contender = contenders_[(turn + static_cast<std::size_t>(round)) % contenders_.size()];
        if (!contender.given_up) measure_once(contender, what, round, contest.findings);
      }
      if (round == 0) give_up_the_hopeless();
    }
    contest.automatic = standing_of(contenders_.front());
    for (auto at = contenders_.begin() + 1; at != contenders_.end(); ++at) contest.fixed.push_back(standing_of(*at));
    std::ranges::stable_sort(contest.fixed, {},
                             [](const Standing& each) { return std::pair(each.rounds_us.size() == 1, each.time_us); });
    contest.slower = slower_than(contest.fixed.front(), contest.automatic);
    return contest;
  }

 private:
  Communicator make(const std::string& algorithm) const {
    hocket::Options given = communicator_options(options_);
    given.algorithm = algorithm;
    return Communicator::create(given);
  }

  void measure_once(Contender& contender, const Case& what, int round, Findings& findings) {
    const Method method{
        .iterations = options_.iterations,
        .seconds = options_.seconds / options_.rounds,
        .warmup = options_.warmup,
        .warmup_seconds = options_.warmup_seconds,
        .checks = round == 0 ? options_.checks : 0,
        .fresh = options_.fresh || what.collective->may_run_ahead()};  // a rank that runs ahead hides how long it takes
    if (rank() == 0) {
      progress_.set_subject(fmt::format("{} {}, {}, round {} of {}", what.collective->name(),
                                        size_text(bytes_of(what, size())), contender.named, round + 1,
                                        options_.rounds));
    }
    Member member{.comm = contender.comm.handle(), .place = {rank(), size()}, .memory = memory_.get()};
    member.pacer = [this] { pacer_.barrier(); };
    if (rank() == 0) {
      member.progress = [this](const char* phase, std::size_t done, std::size_t total) {
        progress_.show(phase, done, total);
      };
    }
    contender.latest = measure(member, what, method);
    contender.times.push_back(contender.latest.time_us.p50);
    findings += contender.latest.findings;
    if (rank() == 0) progress_.clear();
  }

  // Rank 0 knows the times.
  void give_up_the_hopeless() {
    double best = contenders_.front().times.front();
    for (const Contender& contender : contenders_) best = std::min(best, contender.times.front());
    std::vector<std::int32_t> verdicts;
    for (const Contender& contender : contenders_) {
      verdicts.push_back(contender.named != automatic_algorithm && contender.times.front() > hopeless * best);
    }
    contenders_.front().comm.broadcast(std::span(verdicts), 0);
    for (std::size_t i = 0; i < verdicts.size(); ++i) contenders_[i].given_up = verdicts[i] != 0;
  }

  const Options& options_;
  const std::unique_ptr<Memory> memory_;
  Communicator pacer_;  // the same for all: ranks leave the barrier of each algorithm in another order
  std::vector<Contender> contenders_;
  Progress progress_;
};

void print_head(std::FILE* table, const Options& options, int ranks) {
  fmt::print(table, "# hocket-bench {}: {} on {} ranks, transport {}: auto against every fixed algorithm\n",
             hocket_version(), options.collective->name(), ranks, options.transport);
  fmt::print(table, "# times in us: median of {} rounds that take turns; slower: auto against the best fixed\n#\n",
             options.rounds);
  fmt::print(table, "#{:>11} {:>8} {:>22} {:>10} {:>22} {:>10} {:>8}  {}\n", "size (B)", "type", "auto is", "time",
             "best fixed", "time", "slower", "next");
}

void print_row(std::FILE* table, const Contest& contest) {
  const Standing& best = contest.fixed.front();
  std::string next;
  for (std::size_t i = 1; i < std::min<std::size_t>(contest.fixed.size(), 3); ++i) {
    next += fmt::format("{}{} {:.1f}", next.empty() ? "" : ", ", contest.fixed[i].named, contest.fixed[i].time_us);
  }
  fmt::print(table, "{:>12} {:>8} {:>22} {:>10.1f} {:>22} {:>10.1f} {:>6.0f} %  {}\n",
             bytes_of(contest.what, contest.ranks), name_of(contest.what.dtype), contest.automatic.algorithm,
             contest.automatic.time_us, best.named, best.time_us, 100 * contest.slower, next);
  std::fflush(table);
}

void print_end(std::FILE* table, const std::vector<Contest>& contests) {
  const auto worst = std::ranges::max_element(contests, {}, &Contest::slower);
  const auto slow = std::ranges::count_if(contests, [](const Contest& each) { return each.slower > 0.1; });
  fmt::print(
      table,
      "# auto is at most {:.0f} % slower than the best fixed algorithm ({} bytes: {} took {:.1f} us, {} {:.1f})\n",
      100 * worst->slower, bytes_of(worst->what, worst->ranks), worst->automatic.algorithm, worst->automatic.time_us,
      worst->fixed.front().named, worst->fixed.front().time_us);
  fmt::print(table, "# more than 10 % slower: {} of {} sizes\n", slow, contests.size());
}

}  // namespace

int measure_best_fixed(const Options& options) {
  BestFixed job(options);
  const auto complain = [&](const std::string& sentence) {
    if (job.rank() == 0) fmt::print(stderr, "hocket-bench: {}\n", sentence);
    job.barrier();  // a launcher ends everybody when one rank leaves in haste: rank 0 speaks first
    return exit_usage;
  };
  if (!job.has_contest()) return complain(fmt::format("{} has no algorithms to name.", options.collective->name()));
  if (const Status fits = check_size(options, job.size()); !fits) return complain(fits.message());
  std::FILE* const table = options.json_file == "-" ? stderr : stdout;
  if (job.rank() == 0) print_head(table, options, job.size());
  std::vector<Contest> contests;
  Findings found;
  for (Case what : cases_of(options, job.size())) {
    what.in_place = !options.out_of_place;
    contests.push_back(job.measure_case(what));
    found += contests.back().findings;
    if (job.rank() == 0) print_row(table, contests.back());
  }
  int status = 0;
  if (job.rank() == 0) {
    print_end(table, contests);
    if (found.wrong + found.out_of_bounds > 0) {
      fmt::print(table, "# WRONG elements: {}\n", found.wrong + found.out_of_bounds);
      status = exit_wrong_results;
    }
    const Status written = write_document(options.json_file, to_json(contests, options));
    if (!written) {
      fmt::print(stderr, "hocket-bench: {}\n", written.message());
      status = exit_usage;
    }
  }
  job.barrier();
  return status;
}

}  // namespace hocket::bench
