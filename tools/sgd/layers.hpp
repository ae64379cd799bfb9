// The layers that networks are made of. All work on a batch: sample after sample, each with inputs() or outputs()
// floats.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hocket::sgd {

// Weights that are learned together, with the gradient of the loss for each. The maker of the network owns the memory.
struct Tensor {
  std::string name;
  std::span<float> weights, gradient;
  std::size_t inputs = 0;  // how many products one output sums: what the first weights are scaled by; 0: a bias

  bool is_bias() const { return inputs == 0; }
};

class Layer {
 public:
  Layer(std::size_t inputs, std::size_t outputs) : inputs_(inputs), outputs_(outputs) {}
  virtual ~Layer() = default;
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  std::size_t inputs() const { return inputs_; }
  std::size_t outputs() const { return outputs_; }

  // Lengths of the weights and of the biases; 0 where nothing is learned.
  virtual std::size_t weights() const { return 0; }
  virtual std::size_t biases() const { return 0; }
  virtual std::size_t products() const { return 0; }  // Tensor::inputs of the weights
  // Says where they lie; before any other call.
  void bind(const Tensor& weights, const Tensor& biases) {
    weights_ = weights;
    biases_ = biases;
  }

  virtual void forward(std::span<const float> input, std::span<float> output) = 0;
  // Overwrites the gradients of the layer's tensors and of its input, from those of its output. `input` and `output`
  // are those of the last forward(). An empty `input_gradient` is not wanted.
  virtual void backward(std::span<const float> input, std::span<const float> output,
                        std::span<const float> output_gradient, std::span<float> input_gradient) = 0;

 protected:
  Tensor weights_, biases_;

 private:
  std::size_t inputs_, outputs_;
};

// Every output is a weighted sum of all inputs, plus a bias. Weights lie input after input.
std::unique_ptr<Layer> make_dense(std::size_t inputs, std::size_t outputs);
// What is below zero becomes zero.
std::unique_ptr<Layer> make_relu(std::size_t size);

}  // namespace hocket::sgd
