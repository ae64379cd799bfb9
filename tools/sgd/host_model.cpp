#include <algorithm>

#include "tools/sgd/model.hpp"

namespace hocket::sgd {
namespace {

class HostModel final : public Model {
 public:
  HostModel(const Training& training, std::vector<std::unique_ptr<Layer>> layers)
      : network_(std::move(layers)), optimizer_(training.rule, network_.tensors()) {}

  std::span<const Tensor> tensors() const override { return network_.tensors(); }
  void initialise(std::uint64_t seed) override { network_.initialise(seed); }
  Score forward(std::span<const float> pixels, std::span<const std::uint8_t> labels) override {
    return network_.forward(pixels, labels);
  }
  void backward(float scale, const std::function<void(std::size_t)>& ready) override {
    network_.backward(scale, ready);
  }
  void step(double rate) override { optimizer_.step(network_.tensors(), rate); }
  std::vector<float> weights() override { return {network_.weights().begin(), network_.weights().end()}; }
  std::vector<float> velocities() override {
    std::vector<float> all;
    for (const std::vector<float>& velocity : optimizer_.velocities()) {
      all.insert(all.end(), velocity.begin(), velocity.end());
    }
    return all;
  }
  void set(std::span<const float> weights, std::span<const float> velocities) override {
    std::ranges::copy(weights, network_.weights().begin());
    for (std::vector<float>& velocity : optimizer_.velocities()) {
      std::ranges::copy(velocities.first(velocity.size()), velocity.begin());
      velocities = velocities.subspan(velocity.size());
    }
  }

 private:
  Network network_;
  Optimizer optimizer_;
};

}  // namespace

std::unique_ptr<Model> make_host_model(const Training& training, std::vector<std::unique_ptr<Layer>> layers) {
  return std::make_unique<HostModel>(training, std::move(layers));
}

}  // namespace hocket::sgd
