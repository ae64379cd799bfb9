#include "tools/sgd/training.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

#include "tools/sgd/convolution.hpp"
#include "tools/sgd/hash.hpp"
#include "tools/sgd/problem.hpp"
#include "tools/sgd/random.hpp"

namespace hocket::sgd {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t sentence_bytes_max = 1024;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::vector<std::unique_ptr<Layer>> layers_of(const Training& training, const Dataset& data) {
  if (training.network == Architecture::lenet) return lenet(data.rows, data.columns, classes);
  return perceptron(data.picture_size(), training.hidden, classes);
}

// The first rank whose value is not rank 0's, or -1.
int first_to_differ(Communicator& comm, std::uint64_t value) {
  const std::int64_t own[] = {static_cast<std::int64_t>(value)};
  std::vector<std::int64_t> all(static_cast<std::size_t>(comm.size()));
  comm.allgather(std::span(own), all);
  const auto other = std::ranges::find_if(all, [&](std::int64_t one) { return one != all.front(); });
  return other == all.end() ? -1 : static_cast<int>(other - all.begin());
}

std::uint64_t fingerprint(const Training& training, const Data& data) {
  const std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", training.seed,
                  static_cast<int>(training.network), fmt::join(training.hidden, ","), training.epochs, training.steps,
                  training.batch, training.batch_per_rank, training.base_batch, training.rate, training.warmup_epochs,
                  training.rule.momentum, training.rule.weight_decay, training.rule.lars, training.rule.trust,
                  static_cast<int>(training.combine), training.bucket_mb, static_cast<int>(training.departure));
  const std::uint64_t parts[] = {fingerprint(data.training), fingerprint(data.test)};
  return Hash().add(std::span<const std::uint64_t>(parts)).add(std::span<const char>(text)).value();
}

Data load_alone(const Training& training) {
  if (!training.folder.empty()) {
    Data data{read_mnist(training.folder, Part::training), read_mnist(training.folder, Part::test)};
    if (data.training.rows != data.test.rows || data.training.columns != data.test.columns) {
      throw Problem(fmt::format("The training pictures in {} are of {} × {} pixels, but the test pictures of {} × {}.",
                                training.folder, data.training.rows, data.training.columns, data.test.rows,
                                data.test.columns));
    }
    return data;
  }
  const std::size_t tests = std::clamp<std::size_t>(training.drawn / 4, 1, 2048);
  return {draw_digits(training.drawn, training.seed), draw_digits(tests, training.seed + 1'000'003)};
}

// The pictures of a share of a batch as the network takes them.
struct Samples {
  std::vector<float> pixels;
  std::vector<std::uint8_t> labels;

  void take(const Dataset& data, std::span<const std::uint32_t> which) {
    pixels.clear();
    labels.clear();
    for (const std::uint32_t index : which) {
      for (const std::uint8_t pixel : data.picture(index)) pixels.push_back(static_cast<float>(pixel) / 255);
      labels.push_back(data.labels[index]);
    }
  }
};

// One rank's part in a training.
class Trainer {
 public:
  Trainer(const Training& training, Communicator& comm, const Data& data)
      : training_(training),
        comm_(comm),
        data_(data),
        batch_(training.batch_per_rank > 0 ? training.batch_per_rank * static_cast<std::size_t>(comm.size())
                                           : training.batch),
        network_(layers_of(training, data.training)),
        optimizer_(training.rule, network_.tensors()),
        buckets_(make_buckets(network_.tensors(), static_cast<std::size_t>(training.bucket_mb * 1e6))),
        exchange_(comm, buckets_, training.departure) {
    require_samples();
    steps_per_epoch_ = data.training.size() / batch_;
    rate_.base = training.rate;
    rate_.warmup_steps = static_cast<std::size_t>(training.warmup_epochs * static_cast<double>(steps_per_epoch_));
    if (training.base_batch > 0) rate_.factor = static_cast<double>(batch_) / static_cast<double>(training.base_batch);
  }

  Trained run(const Listener& listener) {
    if (comm_.rank() == 0) network_.initialise(training_.seed);
    comm_.broadcast(network_.weights(), 0);
    Trained trained;
    trained.parameters = network_.weights().size();
    trained.buckets = buckets_.size();
    for (std::size_t epoch = 1; epoch <= training_.epochs && !is_last_step(); ++epoch) {
      trained.epochs.push_back(run_epoch(epoch, listener));
      if (comm_.rank() == 0 && listener.epoch) listener.epoch(trained.epochs.back());
      // The same on all ranks, as the loss is a sum over all, and their weights are the same.
      trained.finite = std::isfinite(trained.epochs.back().loss) &&
                       std::ranges::all_of(network_.weights(), [](float weight) { return std::isfinite(weight); });
      if (!trained.finite) return trained;  // bits of what is no number may differ between ranks
    }
    trained.hash = Hash().add(std::span<const float>(network_.weights())).value();
    if (const int other = first_to_differ(comm_, trained.hash); other >= 0) {
      throw WeightsDiffer(
          fmt::format("Rank {} ended with different weights from rank 0: an allreduce gave different results.", other));
    }
    return trained;
  }

 private:
  void require_samples() const {
    const std::size_t samples = data_.training.size();
    const auto ranks = static_cast<std::size_t>(comm_.size());
    if (samples < ranks) {
      throw Problem(
          fmt::format("There are {} ranks but {} samples: every rank needs one. Start fewer ranks.", ranks, samples));
    }
    if (batch_ < ranks) {
      throw Problem(
          fmt::format("--batch {} is less than one sample for each of {} ranks. Choose a larger batch, or "
                      "start fewer ranks.",
                      batch_, ranks));
    }
    if (batch_ > samples) {
      throw Problem(
          fmt::format("A batch has {} samples, but there are {} in all. Choose a smaller batch.", batch_, samples));
    }
  }

  bool is_last_step() const { return training_.steps > 0 && step_ >= training_.steps; }

  Epoch run_epoch(std::size_t number, const Listener& listener) {
    // The same order on all ranks, and for any number of ranks.
    const auto order = Random(training_.seed * 1'000'033 + number).permutation(data_.training.size());
    Epoch epoch{.number = number};
    double loss = 0;
    for (; epoch.steps < steps_per_epoch_ && !is_last_step(); ++epoch.steps) {
      epoch.rate = rate_.at(step_);
      loss += run_step(std::span(order).subspan(epoch.steps * batch_, batch_), epoch.rate, epoch.times);
      if (comm_.rank() == 0 && listener.step) listener.step(number, epoch.steps + 1, steps_per_epoch_);
    }
    double sums[] = {loss, test()};
    comm_.allreduce(std::span(sums), Op::sum);
    epoch.loss = sums[0] / static_cast<double>(epoch.steps * batch_);
    epoch.accuracy = sums[1] / static_cast<double>(data_.test.size());
    double times[] = {epoch.times.compute, -epoch.times.wait, epoch.times.update};
    comm_.allreduce(std::span(times), Op::max);
    const auto steps = static_cast<double>(epoch.steps);
    epoch.times = {times[0] / steps, -times[1] / steps, times[2] / steps};
    return epoch;
  }

  // Returns the loss summed over this rank's share.
  double run_step(std::span<const std::uint32_t> batch, double rate, StepTimes& times) {
    const Share share = share_of(batch.size(), comm_.rank(), comm_.size());
    samples_.take(data_.training, batch.subspan(share.begin, share.end - share.begin));
    const auto began = Clock::now();
    const Score score = network_.forward(samples_.pixels, samples_.labels);
    const double ranks = training_.combine == Combine::sum ? comm_.size() : 1;
    network_.backward(static_cast<float>(ranks / static_cast<double>(batch.size())),
                      [&](std::size_t tensor) { exchange_.ready(tensor); });
    const auto computed = Clock::now();
    exchange_.finish();
    const auto summed = Clock::now();
    optimizer_.step(network_.tensors(), rate);
    times.compute += seconds_between(began, computed);
    times.wait += seconds_between(computed, summed);
    times.update += seconds_between(summed, Clock::now());
    ++step_;
    return score.loss;
  }

  // How many of this rank's share of the test pictures the network knows.
  double test() {
    const Share share = share_of(data_.test.size(), comm_.rank(), comm_.size());
    double correct = 0;
    constexpr std::size_t at_once = 256;
    for (std::size_t begin = share.begin; begin < share.end; begin += at_once) {
      std::vector<std::uint32_t> which;
      for (std::size_t i = begin; i < std::min(begin + at_once, share.end); ++i) {
        which.push_back(static_cast<std::uint32_t>(i));
      }
      samples_.take(data_.test, which);
      correct += network_.forward(samples_.pixels, samples_.labels).correct;
    }
    return correct;
  }

  const Training& training_;
  Communicator& comm_;
  const Data& data_;
  const std::size_t batch_;
  Network network_;
  Optimizer optimizer_;
  const std::vector<Bucket> buckets_;
  GradientExchange exchange_;  // after the network, whose gradients it may still be sending when something breaks
  LearningRate rate_;
  std::size_t steps_per_epoch_ = 0, step_ = 0;
  Samples samples_;
};

}  // namespace

Share share_of(std::size_t total, int rank, int ranks) {
  const auto of = static_cast<std::size_t>(ranks), at = static_cast<std::size_t>(rank);
  return {total * at / of, total * (at + 1) / of};
}

Data load(const Options& options, Communicator& comm) {
  Data data;
  std::string problem;
  try {
    data = load_alone(options.training);
  } catch (const Problem& found) {
    problem = found.what();
  } catch (const std::bad_alloc&) {
    problem = "There is no memory for the data.";
  }
  // Ranks that could go on must not wait for one that cannot: they learn of it here.
  std::int32_t failed[] = {problem.empty() ? comm.size() : comm.rank()};
  comm.allreduce(std::span(failed), Op::min);
  if (failed[0] < comm.size()) {
    std::vector<std::uint8_t> text(problem.begin(), problem.end());
    text.resize(sentence_bytes_max - 1);
    text.push_back(0);
    comm.broadcast(text, failed[0]);
    throw Problem(fmt::format("Rank {}: {}", failed[0], reinterpret_cast<const char*>(text.data())));
  }
  if (const int other = first_to_differ(comm, fingerprint(options.training, data)); other >= 0) {
    throw Problem(
        fmt::format("Rank {} has different data or options from rank 0. Start all ranks with the same ones.", other));
  }
  return data;
}

Trained train(const Training& training, Communicator& comm, const Data& data, const Listener& listener) {
  return Trainer(training, comm, data).run(listener);
}

}  // namespace hocket::sgd
