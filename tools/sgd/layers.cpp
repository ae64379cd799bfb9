#include "tools/sgd/layers.hpp"

#include <algorithm>

#include "tools/sgd/vectors.hpp"

namespace hocket::sgd {
namespace {

class Dense final : public Layer {
 public:
  using Layer::Layer;

  std::size_t weights() const override { return inputs() * outputs(); }
  std::size_t biases() const override { return outputs(); }
  std::size_t products() const override { return inputs(); }

  void forward(std::span<const float> input, std::span<float> output) override {
    for (std::size_t sample = 0; sample * outputs() < output.size(); ++sample) {
      const auto from = input.subspan(sample * inputs(), inputs());
      const auto to = output.subspan(sample * outputs(), outputs());
      std::ranges::copy(biases_.weights, to.begin());
      for (std::size_t i = 0; i < inputs(); ++i) {
        if (from[i] != 0) add_multiple(from[i], row(weights_.weights, i), to);  // most of a picture is background
      }
    }
  }

  void backward(std::span<const float> input, std::span<const float>, std::span<const float> output_gradient,
                std::span<float> input_gradient) override {
    std::ranges::fill(weights_.gradient, 0.0F);
    std::ranges::fill(biases_.gradient, 0.0F);
    for (std::size_t sample = 0; sample * outputs() < output_gradient.size(); ++sample) {
      const auto from = output_gradient.subspan(sample * outputs(), outputs());
      add_multiple(1, from, biases_.gradient);
      for (std::size_t i = 0; i < inputs(); ++i) {
        const float value = input[sample * inputs() + i];
        if (value != 0) add_multiple(value, from, row(weights_.gradient, i));
        if (!input_gradient.empty()) input_gradient[sample * inputs() + i] = dot(row(weights_.weights, i), from);
      }
    }
  }

 private:
  std::span<float> row(std::span<float> of, std::size_t input) const {
    return of.subspan(input * outputs(), outputs());
  }
};

class Relu final : public Layer {
 public:
  explicit Relu(std::size_t size) : Layer(size, size) {}

  void forward(std::span<const float> input, std::span<float> output) override {
    for (std::size_t i = 0; i < output.size(); ++i) output[i] = std::max(input[i], 0.0F);
  }

  void backward(std::span<const float>, std::span<const float> output, std::span<const float> output_gradient,
                std::span<float> input_gradient) override {
    for (std::size_t i = 0; i < input_gradient.size(); ++i) {
      input_gradient[i] = output[i] > 0 ? output_gradient[i] : 0;
    }
  }
};

}  // namespace

std::unique_ptr<Layer> make_dense(std::size_t inputs, std::size_t outputs) {
  return std::make_unique<Dense>(inputs, outputs);
}

std::unique_ptr<Layer> make_relu(std::size_t size) {
  return std::make_unique<Relu>(size);
}

}  // namespace hocket::sgd
