// How gradients change weights: momentum, LARS, and a learning rate that grows with the batch.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tools/sgd/layers.hpp"

namespace hocket::sgd {

// Linear scaling with gradual warm-up (Goyal et al. 2017, "Accurate, Large Minibatch SGD", sections 2.1 and 2.2): a
// batch k times as large takes a rate k times as large, reached in equal steps from the rate of the small batch.
struct LearningRate {
  double base = 0.1;
  double factor = 1;             // k
  std::size_t warmup_steps = 0;  // until base · factor is reached

  double at(std::size_t step) const;
};

struct UpdateRule {
  double momentum = 0.9;
  double weight_decay = 0;
  // Layer-wise adaptive rate scaling (You, Gitman, Ginsburg 2017, "Large Batch Training of Convolutional Networks",
  // algorithm 1): each tensor's rate is multiplied by trust · ‖w‖ / (‖g‖ + decay · ‖w‖). Biases keep the plain rate.
  bool lars = false;
  double trust = 0.001;
};

// v ← momentum · v + rate · (g + decay · w);  w ← w − v.  Biases do not decay. All in float32, so ranks with the same
// weights and gradients come to the same weights, bit for bit.
class Optimizer {
 public:
  Optimizer(const UpdateRule& rule, std::span<const Tensor> tensors);

  void step(std::span<const Tensor> tensors, double rate);
  // What it remembers of earlier steps: as many numbers for each tensor as that has weights.
  std::span<std::vector<float>> velocities() { return velocities_; }

 private:
  UpdateRule rule_;
  std::vector<std::vector<float>> velocities_;  // by tensor
};

}  // namespace hocket::sgd
