#include "tools/sgd/proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace hocket::sgd {
namespace {

using Clock = std::chrono::steady_clock;
using Tell = std::function<void(const std::string&)>;

constexpr std::chrono::hours patience{1};  // of ranks that wait while others measure

const char* algorithm_of(Way way) {
  return way == Way::ring ? "ring" : "linear";
}

// Small whole numbers, whose sums are exact.
float value_of(int rank, std::size_t index) {
  return static_cast<float>(static_cast<std::size_t>(rank) + index % 13);
}

bool is_sum(std::span<const float> sums, int ranks) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    float expected = 0;
    for (int rank = 0; rank < ranks; ++rank) expected += value_of(rank, i);
    if (sums[i] != expected) return false;
  }
  return true;
}

// Calls are repeated until all of one kind have taken so long together: what disturbs one of few short calls would be
// much of their median.
constexpr double seconds_of_calls = 0.02;
constexpr double calls_max = 1000;

// What one rank saw of several calls.
struct Seen {
  std::vector<std::int64_t> steps, sent;
  std::vector<double> seconds;
  bool right = true;
};

void call_repeatedly(Communicator& comm, Way way, std::size_t count, int calls, Seen& seen) {
  std::vector<float> send(count), recv(count);
  for (std::size_t i = 0; i < count; ++i) send[i] = value_of(comm.rank(), i);
  for (int call = 0; call < calls; ++call) {
    comm.barrier();
    const hocket_counters before = comm.counters();
    const auto began = Clock::now();
    comm.allreduce(send, recv, Op::sum);
    seen.seconds.push_back(std::chrono::duration<double>(Clock::now() - began).count());
    seen.right = seen.right && last_call().algorithm == std::string(algorithm_of(way));
    const hocket_counters after = comm.counters();
    seen.steps.push_back(static_cast<std::int64_t>(after.steps - before.steps));
    seen.sent.push_back(static_cast<std::int64_t>(after.bytes_sent - before.bytes_sent));
  }
  seen.right = seen.right && is_sum(recv, comm.size());
}

// How long calls take until the last rank has its result; the same on all ranks.
double median_time(Communicator& comm, std::vector<double> seconds) {
  comm.allreduce(seconds, Op::max);
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

Extremes extremes_of(Communicator& comm, const std::vector<std::int64_t>& own) {
  const auto [least, most] = std::ranges::minmax(own);
  std::int64_t both[] = {-least, most};
  comm.allreduce(std::span(both), Op::max);
  return {-both[0], both[1]};
}

Measured measure(Communicator& comm, Way way, std::size_t bytes, int iterations) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::size_t each = std::max<std::size_t>((bytes / sizeof(float) + ranks - 1) / ranks, 1);
  Seen seen;
  call_repeatedly(comm, way, each * ranks, iterations + 1, seen);
  seen.seconds.erase(seen.seconds.begin());  // the first call makes connections
  const auto needed = static_cast<int>(std::min(seconds_of_calls / median_time(comm, seen.seconds), calls_max));
  if (needed > iterations) call_repeatedly(comm, way, each * ranks, needed - iterations, seen);
  std::int32_t right[] = {seen.right ? 1 : 0};
  comm.allreduce(std::span(right), Op::min);
  return {.way = way,
          .ranks = comm.size(),
          .bytes = each * ranks * sizeof(float),
          .steps = extremes_of(comm, seen.steps),
          .sent = extremes_of(comm, seen.sent),
          .sums_right = right[0] == 1,
          .calls = static_cast<int>(seen.seconds.size()),
          .seconds = median_time(comm, seen.seconds)};
}

// How gradients travel in one trial.
struct Exchange {
  const char* words;
  double bucket_mb;
  Departure departure;
};
constexpr Exchange alone{"", 1000, Departure::after_all};
constexpr Exchange exchanges[] = {{"all together at the end", 1000, Departure::after_all},
                                  {"buckets of 0.5 MB as they fill", 0.5, Departure::when_full},
                                  {"each tensor by itself", 0, Departure::when_full}};

// As much data as a few steps need.
Data load_some(const Options& options, Communicator& comm) {
  constexpr std::size_t steps = 3;
  Data data = load(options, comm);
  const std::size_t samples = std::min(data.training.size(), options.training.batch * steps);
  data.training.pixels.resize(samples * data.training.picture_size());
  data.training.labels.resize(samples);
  return data;
}

class Prover {
 public:
  Prover(const Options& options, Communicator& world, const Tell& tell)
      : options_(options), world_(world), tell_(tell) {}

  Proven run() {
    // Before anything is measured, and by all ranks of the world, so that all learn what is wrong on one of them.
    data_ = load_some(options_, world_);
    proven_.links = options_.proof->described;
    proven_.cores = static_cast<int>(std::thread::hardware_concurrency());
    for (int ranks = 2; ranks <= options_.proof->ranks; ++ranks) {
      for (const Way way : {Way::ring, Way::naive}) measure_group(ranks, way);
    }
    train_groups();
    fit();
    return proven_;
  }

 private:
  bool belongs(int ranks) const { return world_.rank() < ranks; }
  void tell(const std::string& text) const {
    if (world_.rank() == 0) tell_(text);
  }

  // The first ranks of the world, in a communicator of their own that does everything in one way.
  Communicator make_group(int ranks, Way way) const {
    const char* job = std::getenv("HOCKET_JOB");
    hocket::Options group;
    group.world_size = ranks;
    group.rank = world_.rank();
    group.name = fmt::format("{}-prove-{}", job != nullptr ? job : "default", groups_);
    group.transport = options_.transport.empty() ? "tcp" : options_.transport;
    group.algorithm = algorithm_of(way);
    return Communicator::create(group);
  }

  void measure_group(int ranks, Way way) {
    ++groups_;
    if (belongs(ranks)) {
      Communicator group = make_group(ranks, way);
      for (const std::size_t bytes : options_.proof->sizes) {
        tell(fmt::format("{}, {} ranks, {} bytes", way == Way::ring ? "ring" : "naive", ranks, bytes));
        proven_.measured.push_back(measure(group, way, bytes, options_.proof->iterations));
      }
    }
    world_.barrier({patience});
  }

  // With 1, 2, 4 … ranks.
  void train_groups() {
    for (int ranks = 1; ranks <= options_.proof->ranks; ranks *= 2) {
      ++groups_;
      if (belongs(ranks)) {
        Communicator group = make_group(ranks, Way::ring);
        if (ranks == 1) {
          train_once(group, alone);
        } else {
          for (const Exchange& exchange : exchanges) train_once(group, exchange);
        }
      }
      world_.barrier({patience});
    }
  }

  void train_once(Communicator& group, const Exchange& exchange) {
    tell(fmt::format("training, {} rank{} {}", group.size(), group.size() == 1 ? "" : "s,", exchange.words));
    Training training = options_.training;
    training.epochs = 2;  // the first makes connections and plans
    training.bucket_mb = exchange.bucket_mb;
    training.departure = exchange.departure;
    const Trained trained = train(training, group, data_, {});
    Trial trial{.ranks = group.size(),
                .exchange = exchange.words,
                .overlaps = exchange.departure == Departure::when_full,
                .times = trained.epochs.back().times};
    trial.step_alone = proven_.trials.empty() ? trial.times.total() : proven_.trials.front().step_alone;
    proven_.trials.push_back(trial);
    proven_.gradient_bytes = trained.parameters * sizeof(float);
  }

  void fit() {
    if (world_.rank() != 0) return;
    for (const Way way : {Way::ring, Way::naive}) {
      std::vector<Sample> samples;
      for (const Measured& one : proven_.measured) {
        if (one.way == way) samples.push_back(one.sample());
      }
      (way == Way::ring ? proven_.ring : proven_.naive) = fit_costs(samples);
    }
  }

  const Options& options_;
  Communicator& world_;
  const Tell& tell_;
  Data data_;
  int groups_ = 0;  // counted on all ranks, so that each group has a name of its own
  Proven proven_;
};

}  // namespace

std::int64_t Measured::expected_steps() const {
  return way == Way::ring ? 2 * (ranks - 1) : ranks - 1;
}

std::int64_t Measured::expected_bytes() const {
  const auto all = static_cast<std::int64_t>(bytes);
  return way == Way::ring ? 2 * (ranks - 1) * (all / ranks) : (ranks - 1) * all;
}

bool Measured::holds() const {
  const bool most = steps.most == expected_steps() && sent.most == expected_bytes();
  const bool all = steps.least == steps.most && sent.least == sent.most;
  return sums_right && most && (way == Way::naive || all);
}

Sample Measured::sample() const {
  const double messages = 2.0 * (ranks - 1);
  const auto message_bytes = static_cast<double>(bytes) / (way == Way::ring ? ranks : 1);
  return {messages, messages * message_bytes, seconds};
}

const Measured* Proven::find(Way way, int ranks, std::size_t bytes) const {
  const auto found = std::ranges::find_if(
      measured, [&](const Measured& one) { return one.way == way && one.ranks == ranks && one.bytes == bytes; });
  return found == measured.end() ? nullptr : &*found;
}

std::vector<std::string> Proven::doubts() const {
  std::vector<std::string> sentences;
  const int ranks = measured.empty() ? 0 : std::ranges::max(measured, {}, &Measured::ranks).ranks;
  if (ranks > cores) {
    sentences.push_back(fmt::format(
        "This machine has {} processor core{}. Where it runs more ranks than that, they wait for a core, so "
        "processors rather than links set the times.",
        cores, cores == 1 ? "" : "s"));
  }
  for (const auto& [name, fit] : {std::pair{"ring", &ring}, std::pair{"naive way", &naive}}) {
    if (fit->describes()) continue;
    sentences.push_back(
        fmt::format("R² of the {} is below {}: the formula does not describe these times, and its α and B say little. "
                    "Measure on a machine that does nothing else, with more --iterations and more --bytes.",
                    name, Fit::good));
  }
  return sentences;
}

bool Proven::holds() const {
  return std::ranges::all_of(measured, &Measured::holds);
}

Proven prove(const Options& options, Communicator& world, const std::function<void(const std::string&)>& tell) {
  return Prover(options, world, tell).run();
}

}  // namespace hocket::sgd
