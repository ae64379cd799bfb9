// Synchronous data-parallel training: every rank has all weights and a share of each batch; what a rank has learned
// from its share reaches the others by allreduce, so all take the same step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "hocket/hocket.hpp"
#include "tools/sgd/data.hpp"
#include "tools/sgd/network.hpp"
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

struct Trained {
  std::vector<Epoch> epochs;
  std::uint64_t hash = 0;  // of all weights, if they are finite
  std::size_t parameters = 0;
  std::size_t buckets = 0;
  bool finite = true;  // the losses and all weights; where they are not, training has ended after that epoch
};

struct Data {
  Dataset training, test;
};

// Reads or draws what `options` ask for, on every rank. Where one rank cannot, all throw Problem: that rank says why,
// the others name it. All also throw where their data or options differ.
Data load(const Options& options, Communicator& comm);

// What to tell a person meanwhile; called on rank 0 only.
struct Listener {
  std::function<void(std::size_t epoch, std::size_t step, std::size_t steps)> step;
  std::function<void(const Epoch&)> epoch;
};

// Trains; collective. Throws hocket::Error; Problem where there are fewer samples than ranks, or ranks end with
// different weights.
Trained train(const Training& training, Communicator& comm, const Data& data, const Listener& listener);

}  // namespace hocket::sgd
