#include "tools/sgd/convolution.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tools/sgd/network.hpp"
#include "tools/sgd/problem.hpp"
#include "tools/sgd/vectors.hpp"

namespace hocket::sgd {
namespace {

class Convolution final : public Layer {
 public:
  Convolution(const Pictures& input, const Pictures& output, std::size_t side)
      : Layer(input.size(), output.size()), in_(input), out_(output), side_(side) {}

  std::size_t weights() const override { return out_.channels * products(); }
  std::size_t biases() const override { return out_.channels; }
  std::size_t products() const override { return in_.channels * side_ * side_; }

  void forward(std::span<const float> input, std::span<float> output) override {
    const std::size_t picture = out_.rows * out_.columns;
    for (std::size_t at = 0; at < output.size(); at += picture) {
      std::ranges::fill(output.subspan(at, picture), biases_.weights[at / picture % out_.channels]);
    }
    for_each_pair(output.size() / outputs(), [&](std::size_t weight, std::size_t from, std::size_t to) {
      add_multiple(weights_.weights[weight], input.subspan(from, out_.columns), output.subspan(to, out_.columns));
    });
  }

  void backward(std::span<const float> input, std::span<const float>, std::span<const float> output_gradient,
                std::span<float> input_gradient) override {
    std::ranges::fill(weights_.gradient, 0.0F);
    std::ranges::fill(biases_.gradient, 0.0F);
    std::ranges::fill(input_gradient, 0.0F);
    const std::size_t picture = out_.rows * out_.columns;
    for (std::size_t i = 0; i < output_gradient.size(); ++i) {
      biases_.gradient[i / picture % out_.channels] += output_gradient[i];
    }
    for_each_pair(output_gradient.size() / outputs(), [&](std::size_t weight, std::size_t from, std::size_t to) {
      const auto gradient = output_gradient.subspan(to, out_.columns);
      weights_.gradient[weight] += dot(input.subspan(from, out_.columns), gradient);
      if (input_gradient.empty()) return;
      add_multiple(weights_.weights[weight], gradient, input_gradient.subspan(from, out_.columns));
    });
  }

 private:
  // Calls visit(weight, from, to) wherever a weight takes a run of out_.columns inputs, from `from` on, to a row of
  // outputs, from `to` on.
  template <class Visit>
  void for_each_pair(std::size_t samples, Visit visit) const {
    for (std::size_t sample = 0; sample < samples; ++sample) {
      for (std::size_t weight = 0; weight < weights(); ++weight) {
        const std::size_t right = weight % side_, down = weight / side_ % side_;
        const std::size_t in_channel = weight / (side_ * side_) % in_.channels;
        const std::size_t out_channel = weight / products();
        for (std::size_t row = 0; row < out_.rows; ++row) {
          const std::size_t from = (in_channel * in_.rows + row + down) * in_.columns + right;
          visit(weight, sample * inputs() + from, sample * outputs() + (out_channel * out_.rows + row) * out_.columns);
        }
      }
    }
  }

  Pictures in_, out_;
  std::size_t side_;
};

class MaxPooling final : public Layer {
 public:
  MaxPooling(const Pictures& input, const Pictures& output)
      : Layer(input.size(), output.size()), in_(input), out_(output) {}

  void forward(std::span<const float> input, std::span<float> output) override {
    largest_.resize(output.size());
    for (std::size_t i = 0; i < output.size(); ++i) {
      largest_[i] = largest_of(input, corner_of(i));
      output[i] = input[largest_[i]];
    }
  }

  void backward(std::span<const float>, std::span<const float>, std::span<const float> output_gradient,
                std::span<float> input_gradient) override {
    std::ranges::fill(input_gradient, 0.0F);
    for (std::size_t i = 0; i < output_gradient.size() && !input_gradient.empty(); ++i) {
      input_gradient[largest_[i]] += output_gradient[i];
    }
  }

 private:
  // The upper left pixel of the square that output `i` is the largest of. Pictures of all samples lie in a row.
  std::size_t corner_of(std::size_t i) const {
    const std::size_t column = i % out_.columns, row = i / out_.columns % out_.rows;
    const std::size_t picture = i / (out_.columns * out_.rows);
    return (picture * in_.rows + 2 * row) * in_.columns + 2 * column;
  }

  std::size_t largest_of(std::span<const float> input, std::size_t corner) const {
    std::size_t best = corner;
    for (const std::size_t other : {corner + 1, corner + in_.columns, corner + in_.columns + 1}) {
      if (input[other] > input[best]) best = other;
    }
    return best;
  }

  Pictures in_, out_;
  std::vector<std::size_t> largest_;  // by output of the last forward()
};

Pictures convolved(const Pictures& input, std::size_t channels, std::size_t side) {
  return {channels, input.rows - side + 1, input.columns - side + 1};
}

Pictures pooled(const Pictures& input) {
  return {input.channels, input.rows / 2, input.columns / 2};
}

}  // namespace

std::unique_ptr<Layer> make_convolution(const Pictures& input, std::size_t channels, std::size_t side) {
  return std::make_unique<Convolution>(input, convolved(input, channels, side), side);
}

std::unique_ptr<Layer> make_max_pooling(const Pictures& input) {
  return std::make_unique<MaxPooling>(input, pooled(input));
}

std::vector<std::unique_ptr<Layer>> lenet(std::size_t rows, std::size_t columns, std::size_t outputs) {
  constexpr std::size_t side = 5, least = 16;  // both convolutions fit, and leave a pixel
  if (rows < least || columns < least) {
    throw Problem(fmt::format("--network lenet needs pictures of at least {} x {} pixels, not {} x {}.", least, least,
                              rows, columns));
  }
  std::vector<std::unique_ptr<Layer>> layers;
  Pictures pictures{1, rows, columns};
  for (const std::size_t channels : {6, 16}) {
    layers.push_back(make_convolution(pictures, channels, side));
    pictures = convolved(pictures, channels, side);
    layers.push_back(make_relu(pictures.size()));
    layers.push_back(make_max_pooling(pictures));
    pictures = pooled(pictures);
  }
  const std::size_t hidden[] = {120, 84};
  for (auto& layer : perceptron(pictures.size(), hidden, outputs)) layers.push_back(std::move(layer));
  return layers;
}

}  // namespace hocket::sgd
