// A network: layers in a row, a softmax and the cross-entropy behind them. All weights lie in one array and all
// gradients in another, tensor after tensor in the order in which backward() completes them, last layer first: so a
// bucket of gradients that are ready is one range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tools/sgd/layers.hpp"

namespace hocket::sgd {

// Zeroed floats in memory that the ranks of one host can share (hocket_mem_alloc), so that collectives on them need no
// copies. Throws hocket::Error.
class SharedFloats {
 public:
  explicit SharedFloats(std::size_t count);
  std::span<float> span() const { return {values_.get(), count_}; }

 private:
  struct Free {
    void operator()(float* values) const;
  };
  std::size_t count_;
  std::unique_ptr<float[], Free> values_;
};

// Summed over samples, so that parts of a batch add up.
struct Score {
  double loss = 0;
  double correct = 0;
};

class Network {
 public:
  // Takes layers each of which has as many inputs as the one before has outputs. All weights are zero.
  explicit Network(std::vector<std::unique_ptr<Layer>> layers);

  std::size_t inputs() const { return layers_.front()->inputs(); }
  std::span<const Tensor> tensors() const { return tensors_; }
  std::span<float> weights() const { return weights_.span(); }

  // Weights evenly from ±√(6 / products), which keeps the size of signals behind ReLUs (He et al. 2015); biases zero.
  void initialise(std::uint64_t seed);
  // `pixels` are those of labels.size() pictures.
  Score forward(std::span<const float> pixels, std::span<const std::uint8_t> labels);
  // Gradients of `scale` times the loss of the last forward(), whose pixels must still be there. Calls ready(i) when
  // that of tensors()[i] is complete, in order.
  void backward(float scale, const std::function<void(std::size_t)>& ready);

 private:
  std::vector<std::unique_ptr<Layer>> layers_;
  SharedFloats weights_, gradients_;
  std::vector<Tensor> tensors_;
  std::span<const float> pixels_;
  std::vector<std::uint8_t> labels_;
  std::vector<std::vector<float>> outputs_;  // of each layer; the last become the loss's gradient for each sample
};

// One hidden layer of each given size, with ReLUs between; no hidden layer: a linear classifier.
std::vector<std::unique_ptr<Layer>> perceptron(std::size_t inputs, std::span<const std::size_t> hidden,
                                               std::size_t outputs);

}  // namespace hocket::sgd
