// Synchronous data-parallel training: every rank has all weights and a share of each batch; what a rank has learned
// from its share reaches the others by allreduce, so all take the same step.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "hocket/hocket.hpp"
#include "tools/sgd/loading.hpp"
#include "tools/sgd/model.hpp"
#include "tools/sgd/options.hpp"

namespace hocket::sgd {

// Which of `total` things belong to `rank`: consecutive ones, as many on each rank as on any other, or one more.
struct Share {
  std::size_t begin = 0, end = 0;
};
Share share_of(std::size_t total, int rank, int ranks);

// How long an average step took, in seconds: of the rank that computed longest, and so waited least, since the others
// wait for it too.
struct StepTimes {
  double compute = 0;  // forward and backward pass; starting the exchange of buckets is part of it
  double wait = 0;     // for the exchange, after the backward pass
  double update = 0;   // of the weights
  double total() const { return compute + wait + update; }
};

struct Epoch {
  std::size_t number = 0;  // from 1
  std::size_t steps = 0;
  double loss = 0;      // mean over the epoch's samples, each before the step that it is part of
  double accuracy = 0;  // of the test pictures, after the epoch
  double rate = 0;      // learning rate of the last step
  StepTimes times;
};

// The ranks of an elastic training have become others.
struct Change {
  std::size_t step = 0;  // that they went on with, counted from 0
  int ranks = 0;         // from then on
  int lost = 0, joined = 0;
};

struct Trained {
  std::vector<Epoch> epochs;
  std::vector<Change> changes;
  std::vector<std::uint64_t> hashes;  // of all weights, on each rank, if they are finite
  std::size_t parameters = 0;
  std::size_t buckets = 0;
  bool finite = true;  // the losses and all weights; where they are not, training has ended after that epoch
};

// What to tell a person meanwhile; called on rank 0 only.
struct Listener {
  std::function<void(std::size_t epoch, std::size_t step, std::size_t steps)> step;
  std::function<void(const Epoch&)> epoch;
  std::function<void(const Change&)> change;
};

// One rank's part in a training. Every function that is collective throws hocket::Error, and leaves the training as it
// was before: so ranks may go on with it on another communicator, once they have settled where.
class Trainer {
 public:
  // All must outlive this object. `comm` may be given another value in between calls, after begin_again(). `elastic`:
  // the ranks may become others. Throws Problem where there are fewer samples than ranks.
  Trainer(const Training& training, Communicator& comm, const Data& data, const Listener& listener, bool elastic);

  // Collective, before anything else and after every change of the communicator: all go on from where the one stands
  // that has come furthest; where nobody has begun, rank 0 does. Throws Problem on a rank that has other data or
  // options.
  void settle(const Change& change = {});
  // Collective: a step, or what follows the last one of an epoch. False: training is over.
  bool advance();
  // Collective, when training is over. Throws WeightsDiffer.
  Trained conclude();

  // Elastic: whether rank 0 thinks that it is time to take newcomers in; the same on all ranks.
  bool looks_for_newcomers() const { return looks_; }
  void have_looked() { looks_ = false; }
  // How many more ranks could have a sample in each step.
  int room() const;
  // After a failure, before the communicator is given another value. A rank that was only stopped may still write into
  // memory of calls that failed: `stopped` gives the training other memory.
  void begin_again(bool stopped);

 private:
  using Clock = std::chrono::steady_clock;
  // The pictures of a share of a batch as the network takes them.
  struct Samples {
    std::vector<float> pixels;
    std::vector<std::uint8_t> labels;
    void take(const Dataset& data, std::span<const std::uint32_t> which);
  };

  std::unique_ptr<Model> make_model() const;
  void require_samples() const;
  void make_exchange();
  int furthest() const;
  void receive_state(int from);
  bool is_last_step() const { return training_.steps > 0 && step_ >= training_.steps; }
  void run_step();
  double exchange(double loss);
  void end_epoch();
  double test();

  const Training& training_;
  Communicator& comm_;
  const Data& data_;
  const Listener& listener_;
  const bool elastic_;
  const std::size_t batch_;
  const std::uint64_t fingerprint_;              // of what must be equal on ranks that come later
  std::vector<std::unique_ptr<Model>> retired_;  // whose memory others may write into
  std::unique_ptr<Model> model_;
  std::optional<GradientExchange> exchange_;  // after the model, whose gradients it may still send when a call fails
  LearningRate rate_;
  std::size_t steps_per_epoch_ = 0;
  Samples samples_;
  std::vector<std::uint32_t> order_;  // of the samples, in the epoch order_of_
  std::size_t order_of_ = 0;
  // What ranks agree on:
  bool begun_ = false;
  std::size_t step_ = 0;
  Epoch current_;  // its loss is a sum: over this rank's samples, or over all ranks' where the training is elastic
  std::vector<Epoch> epochs_;
  std::vector<Change> changes_;
  bool finite_ = true;
  bool looks_ = false;
  Clock::time_point looked_ = Clock::now();
};

// Trains; collective. Throws hocket::Error; Problem where there are fewer samples than ranks, or ranks end with
// different weights.
Trained train(const Training& training, Communicator& comm, const Data& data, const Listener& listener);

}  // namespace hocket::sgd
