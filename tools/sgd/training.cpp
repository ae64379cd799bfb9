#include "tools/sgd/training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/sgd/convolution.hpp"
#include "tools/sgd/hash.hpp"
#include "tools/sgd/problem.hpp"
#include "tools/sgd/random.hpp"

namespace hocket::sgd {
namespace {

// How often rank 0 has newcomers looked for.
constexpr std::chrono::milliseconds look_every{50};

using Instant = std::chrono::steady_clock::time_point;

double seconds_between(Instant from, Instant to) {
  return std::chrono::duration<double>(to - from).count();
}

std::vector<std::unique_ptr<Layer>> layers_of(const Training& training, const Dataset& data) {
  if (training.network == Architecture::lenet) return lenet(data.rows, data.columns, classes);
  return perceptron(data.picture_size(), training.hidden, classes);
}

// What stands before the lists and the weights when a rank tells the others where it stands.
struct Position {
  std::uint64_t step = 0, epochs = 0, changes = 0;
  Epoch current;
  std::uint64_t finite = 1;
};

template <class T>
std::span<std::uint8_t> bytes_of(std::span<T> values) {
  return {reinterpret_cast<std::uint8_t*>(values.data()), values.size_bytes()};
}

}  // namespace

void Trainer::Samples::take(const Dataset& data, std::span<const std::uint32_t> which) {
  pixels.clear();
  labels.clear();
  for (const std::uint32_t index : which) {
    for (const std::uint8_t pixel : data.picture(index)) pixels.push_back(static_cast<float>(pixel) / 255);
    labels.push_back(data.labels[index]);
  }
}

Trainer::Trainer(const Training& training, Communicator& comm, const Data& data, const Listener& listener, bool elastic)
    : training_(training),
      comm_(comm),
      data_(data),
      listener_(listener),
      elastic_(elastic),
      batch_(training.batch_per_rank > 0 ? training.batch_per_rank * static_cast<std::size_t>(comm.size())
                                         : training.batch),
      fingerprint_(elastic ? fingerprint(training, data) : 0),
      model_(make_model()) {
  require_samples();
  make_exchange();
  steps_per_epoch_ = data.training.size() / batch_;
  rate_.base = training.rate;
  rate_.warmup_steps = static_cast<std::size_t>(training.warmup_epochs * static_cast<double>(steps_per_epoch_));
  if (training.base_batch > 0) rate_.factor = static_cast<double>(batch_) / static_cast<double>(training.base_batch);
}

std::unique_ptr<Model> Trainer::make_model() const {
  if (training_.device == no_device) return make_host_model(training_, layers_of(training_, data_.training));
  return make_device_model(training_, data_.training.picture_size(), classes);
}

void Trainer::require_samples() const {
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

int Trainer::room() const {
  return static_cast<int>(batch_) - comm_.size();
}

void Trainer::make_exchange() {
  const auto bytes = static_cast<std::size_t>(training_.bucket_mb * 1e6);
  exchange_.emplace(comm_, make_buckets(model_->tensors(), bytes), training_.departure, model_->stream());
}

void Trainer::begin_again(bool stopped) {
  exchange_.reset();
  if (stopped) {
    auto other = make_model();
    other->set(model_->weights(), model_->velocities());
    retired_.push_back(std::exchange(model_, std::move(other)));
  }
  make_exchange();
}

// The first of the ranks that have come furthest; -1: none has begun.
int Trainer::furthest() const {
  const std::int64_t mine[] = {begun_ ? static_cast<std::int64_t>(step_) : -1, static_cast<std::int64_t>(fingerprint_)};
  std::vector<std::int64_t> all(2 * static_cast<std::size_t>(comm_.size()));
  comm_.allgather(std::span(mine), all);
  std::size_t best = 0;
  for (std::size_t i = 2; i < all.size(); i += 2) {
    if (all[i] > all[best]) best = i;
  }
  if (all[best + 1] != mine[1]) {
    throw Problem(fmt::format(
        "This rank has different data or options from rank {}. Start all ranks with the same ones.", best / 2));
  }
  return all[best] < 0 ? -1 : static_cast<int>(best / 2);
}

void Trainer::settle(const Change& change) {
  int from = furthest();
  if (from < 0) {
    from = 0;
    if (comm_.rank() == 0) model_->initialise(training_.seed);
  }
  if (change.lost + change.joined > 0) {
    changes_.push_back(change);
    changes_.back().step = step_;
    changes_.back().ranks = comm_.size();
  }
  receive_state(from);
  begun_ = true;
  looks_ = false;  // which some may have heard, and others not
  const bool tells = change.lost + change.joined > 0 && comm_.rank() == 0 && listener_.change;
  if (tells) listener_.change(changes_.back());
}

// Takes nothing over before all of it is there.
void Trainer::receive_state(int from) {
  Position position{.step = step_,
                    .epochs = epochs_.size(),
                    .changes = changes_.size(),
                    .current = current_,
                    .finite = finite_ ? 1U : 0U};
  comm_.broadcast(bytes_of(std::span(&position, 1)), from);
  std::vector<Epoch> epochs = epochs_;
  std::vector<Change> changes = changes_;
  epochs.resize(position.epochs);
  changes.resize(position.changes);
  comm_.broadcast(bytes_of(std::span(epochs)), from);
  comm_.broadcast(bytes_of(std::span(changes)), from);
  std::vector<float> values = model_->weights();
  const std::size_t weights = values.size();
  const std::vector<float> velocities = model_->velocities();
  values.insert(values.end(), velocities.begin(), velocities.end());
  comm_.broadcast(values, from);
  step_ = position.step;
  current_ = position.current;
  finite_ = position.finite != 0;
  epochs_ = std::move(epochs);
  changes_ = std::move(changes);
  model_->set(std::span(values).first(weights), std::span(values).subspan(weights));
}

bool Trainer::advance() {
  const bool over = !finite_ || epochs_.size() >= training_.epochs || (is_last_step() && current_.steps == 0);
  if (over) return false;
  if (current_.steps < steps_per_epoch_ && !is_last_step()) {
    run_step();
  } else {
    end_epoch();
  }
  return true;
}

Trained Trainer::conclude() {
  const std::vector<float> weights = model_->weights();
  Trained trained{
      .epochs = epochs_,
      .changes = changes_,
      .parameters = weights.size(),
      .buckets = make_buckets(model_->tensors(), static_cast<std::size_t>(training_.bucket_mb * 1e6)).size(),
      .finite = finite_};
  if (!finite_) return trained;  // bits of what is no number may differ between ranks
  trained.hashes = on_all(comm_, Hash().add(std::span(weights)).value());
  if (const int other = first_to_differ(trained.hashes); other >= 0) {
    throw WeightsDiffer(
        fmt::format("Rank {} ended with different weights from rank 0: an allreduce gave different results.", other));
  }
  return trained;
}

// Nothing that ranks agree on changes before all calls have succeeded. So a rank is at most one step behind another.
void Trainer::run_step() {
  const std::size_t number = epochs_.size() + 1;
  if (order_of_ != number) {  // the same on all ranks, and for any number of ranks
    order_ = Random(training_.seed * 1'000'033 + number).permutation(data_.training.size());
    order_of_ = number;
  }
  const auto batch = std::span<const std::uint32_t>(order_).subspan(current_.steps * batch_, batch_);
  const Share share = share_of(batch.size(), comm_.rank(), comm_.size());
  samples_.take(data_.training, batch.subspan(share.begin, share.end - share.begin));
  const auto began = Clock::now();
  const Score score = model_->forward(samples_.pixels, samples_.labels);
  const double ranks = training_.combine == Combine::sum ? comm_.size() : 1;
  model_->backward(static_cast<float>(ranks / static_cast<double>(batch.size())),
                   [&](std::size_t tensor) { exchange_->ready(tensor); });
  const auto computed = Clock::now();
  const double loss = exchange(score.loss);
  const auto summed = Clock::now();
  current_.rate = rate_.at(step_);
  model_->step(current_.rate);
  current_.loss += loss;
  current_.times.compute += seconds_between(began, computed);
  current_.times.wait += seconds_between(computed, summed);
  current_.times.update += seconds_between(summed, Clock::now());
  ++current_.steps;
  ++step_;
  if (comm_.rank() == 0 && listener_.step) listener_.step(number, current_.steps, steps_per_epoch_);
}

// Of gradients; returns the step's loss. What a rank that dies has summed up so far would be lost with it, so in an
// elastic training all ranks have the sum.
double Trainer::exchange(double loss) {
  exchange_->finish();
  if (!elastic_) return loss;
  const bool due = comm_.rank() == 0 && Clock::now() - looked_ >= look_every;
  double sums[] = {loss, due ? 1.0 : 0.0};
  comm_.allreduce(std::span(sums), Op::sum);
  looks_ = sums[1] > 0;
  if (looks_) looked_ = Clock::now();
  return sums[0];
}

void Trainer::end_epoch() {
  const bool counts = !elastic_ || comm_.rank() == 0;
  double sums[] = {counts ? current_.loss : 0, test()};
  comm_.allreduce(std::span(sums), Op::sum);
  double times[] = {current_.times.compute, -current_.times.wait, current_.times.update};
  comm_.allreduce(std::span(times), Op::max);
  Epoch epoch{.number = epochs_.size() + 1, .steps = current_.steps, .rate = current_.rate};
  epoch.loss = sums[0] / static_cast<double>(epoch.steps * batch_);
  epoch.accuracy = sums[1] / static_cast<double>(data_.test.size());
  const auto steps = static_cast<double>(epoch.steps);
  epoch.times = {times[0] / steps, -times[1] / steps, times[2] / steps};
  epochs_.push_back(epoch);
  current_ = {};
  // The same on all ranks, as the loss is a sum over all, and their weights are the same.
  finite_ = std::isfinite(epoch.loss) &&
            std::ranges::all_of(model_->weights(), [](float weight) { return std::isfinite(weight); });
  if (comm_.rank() == 0 && listener_.epoch) listener_.epoch(epoch);
}

// How many of this rank's share of the test pictures the network knows.
double Trainer::test() {
  const Share share = share_of(data_.test.size(), comm_.rank(), comm_.size());
  double correct = 0;
  constexpr std::size_t at_once = 256;
  for (std::size_t begin = share.begin; begin < share.end; begin += at_once) {
    std::vector<std::uint32_t> which;
    for (std::size_t i = begin; i < std::min(begin + at_once, share.end); ++i) {
      which.push_back(static_cast<std::uint32_t>(i));
    }
    samples_.take(data_.test, which);
    correct += model_->forward(samples_.pixels, samples_.labels).correct;
  }
  return correct;
}

Share share_of(std::size_t total, int rank, int ranks) {
  const auto of = static_cast<std::size_t>(ranks), at = static_cast<std::size_t>(rank);
  return {total * at / of, total * (at + 1) / of};
}

Trained train(const Training& training, Communicator& comm, const Data& data, const Listener& listener) {
  Trainer trainer(training, comm, data, listener, false);
  trainer.settle();
  while (trainer.advance()) continue;
  return trainer.conclude();
}

}  // namespace hocket::sgd
