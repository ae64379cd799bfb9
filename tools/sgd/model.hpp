// What is trained: a network with its optimizer, in host memory or on a GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tools/sgd/layers.hpp"
#include "tools/sgd/network.hpp"
#include "tools/sgd/options.hpp"

namespace hocket::sgd {

class Model {
 public:
  virtual ~Model() = default;

  // On a GPU: of memory that the host does not touch.
  virtual std::span<const Tensor> tensors() const = 0;
  // As in Network.
  virtual void initialise(std::uint64_t seed) = 0;
  virtual Score forward(std::span<const float> pixels, std::span<const std::uint8_t> labels) = 0;
  virtual void backward(float scale, const std::function<void(std::size_t)>& ready) = 0;
  // Changes the weights by the gradients.
  virtual void step(double rate) = 0;
  // All weights, tensor after tensor, and what the optimizer remembers, in the same order.
  virtual std::vector<float> weights() = 0;
  virtual std::vector<float> velocities() = 0;
  virtual void set(std::span<const float> weights, std::span<const float> velocities) = 0;
  // What orders the gradients: the stream of a GPU; null: they are ready when backward() says so.
  virtual void* stream() { return nullptr; }
};

std::unique_ptr<Model> make_host_model(const Training& training, std::vector<std::unique_ptr<Layer>> layers);
// A perceptron on GPU `training.device`. Throws hocket::Error.
std::unique_ptr<Model> make_device_model(const Training& training, std::size_t inputs, std::size_t outputs);

}  // namespace hocket::sgd
