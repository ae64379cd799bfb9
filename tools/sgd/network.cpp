#include "tools/sgd/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "hocket/hocket.hpp"
#include "tools/sgd/random.hpp"

namespace hocket::sgd {
namespace {

std::size_t count_weights(const std::vector<std::unique_ptr<Layer>>& layers) {
  std::size_t count = 0;
  for (const auto& layer : layers) count += layer->weights() + layer->biases();
  return count;
}

// Turns the outputs of one sample into probabilities, those into the gradient of the loss, and returns the loss.
double cross_entropy(std::span<float> outputs, std::size_t label) {
  const float largest = *std::ranges::max_element(outputs);
  double sum = 0;
  for (const float output : outputs) sum += std::exp(static_cast<double>(output - largest));
  const double loss = std::log(sum) - static_cast<double>(outputs[label] - largest);
  for (float& output : outputs) output = static_cast<float>(std::exp(static_cast<double>(output - largest)) / sum);
  outputs[label] -= 1;
  return loss;
}

}  // namespace

SharedFloats::SharedFloats(std::size_t count) : count_(count) {
  void* memory = nullptr;
  check(hocket_mem_alloc(&memory, std::max<std::size_t>(count, 1) * sizeof(float)));
  values_.reset(static_cast<float*>(memory));
}

void SharedFloats::Free::operator()(float* values) const {
  hocket_mem_free(values);
}

Network::Network(std::vector<std::unique_ptr<Layer>> layers)
    : layers_(std::move(layers)),
      weights_(count_weights(layers_)),
      gradients_(count_weights(layers_)),
      outputs_(layers_.size()) {
  std::size_t used = 0;
  const auto take = [&](std::string name, std::size_t count, std::size_t products) {
    tensors_.push_back(
        {std::move(name), weights_.span().subspan(used, count), gradients_.span().subspan(used, count), products});
    used += count;
    return tensors_.back();
  };
  for (std::size_t i = layers_.size(); i-- > 0;) {
    Layer& layer = *layers_[i];
    if (layer.weights() == 0) continue;
    const Tensor weights = take(fmt::format("layer {} weights", i), layer.weights(), layer.products());
    layer.bind(weights, take(fmt::format("layer {} biases", i), layer.biases(), 0));
  }
}

void Network::initialise(std::uint64_t seed) {
  Random random(seed);
  for (const Tensor& tensor : tensors_) {
    const float limit = tensor.is_bias() ? 0 : std::sqrt(6.0F / static_cast<float>(tensor.inputs));
    for (float& weight : tensor.weights) weight = random.uniform(-limit, limit);
  }
}

Score Network::forward(std::span<const float> pixels, std::span<const std::uint8_t> labels) {
  pixels_ = pixels;
  labels_.assign(labels.begin(), labels.end());
  std::span<const float> input = pixels;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    outputs_[i].resize(labels.size() * layers_[i]->outputs());
    layers_[i]->forward(input, outputs_[i]);
    input = outputs_[i];
  }
  Score score;
  const std::size_t classes = layers_.back()->outputs();
  for (std::size_t sample = 0; sample < labels.size(); ++sample) {
    const auto outputs = std::span(outputs_.back()).subspan(sample * classes, classes);
    const auto guess = static_cast<std::size_t>(std::ranges::max_element(outputs) - outputs.begin());
    score.correct += guess == labels[sample] ? 1 : 0;
    score.loss += cross_entropy(outputs, labels[sample]);
  }
  return score;
}

void Network::backward(float scale, const std::function<void(std::size_t)>& ready) {
  std::vector<float> gradient = outputs_.back(), before;
  for (float& value : gradient) value *= scale;
  std::size_t complete = 0;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    Layer& layer = *layers_[i];
    before.resize(i == 0 ? 0 : labels_.size() * layer.inputs());
    layer.backward(i == 0 ? pixels_ : outputs_[i - 1], outputs_[i], gradient, before);
    gradient.swap(before);
    for (const std::size_t tensors : {layer.weights(), layer.biases()}) {
      if (tensors > 0) ready(complete++);
    }
  }
}

std::vector<std::unique_ptr<Layer>> perceptron(std::size_t inputs, std::span<const std::size_t> hidden,
                                               std::size_t outputs) {
  std::vector<std::unique_ptr<Layer>> layers;
  for (const std::size_t size : hidden) {
    layers.push_back(make_dense(inputs, size));
    layers.push_back(make_relu(size));
    inputs = size;
  }
  layers.push_back(make_dense(inputs, outputs));
  return layers;
}

}  // namespace hocket::sgd
