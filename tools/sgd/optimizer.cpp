#include "tools/sgd/optimizer.hpp"

#include <cmath>

namespace hocket::sgd {
namespace {

double norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

// What LARS multiplies the rate of one tensor by; 1 where a norm of zero says nothing.
double local_rate(const UpdateRule& rule, const Tensor& tensor) {
  const double weights = norm(tensor.weights), gradient = norm(tensor.gradient);
  if (weights == 0 || gradient == 0) return 1;
  return rule.trust * weights / (gradient + rule.weight_decay * weights);
}

}  // namespace

double LearningRate::at(std::size_t step) const {
  if (step >= warmup_steps) return base * factor;
  const double way = static_cast<double>(step) / static_cast<double>(warmup_steps);
  return base + (base * factor - base) * way;
}

Optimizer::Optimizer(const UpdateRule& rule, std::span<const Tensor> tensors) : rule_(rule) {
  for (const Tensor& tensor : tensors) velocities_.emplace_back(tensor.weights.size());
}

void Optimizer::step(std::span<const Tensor> tensors, double rate) {
  const auto momentum = static_cast<float>(rule_.momentum);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    const double local = rule_.lars && !tensor.is_bias() ? local_rate(rule_, tensor) : 1;
    const auto step_rate = static_cast<float>(rate * local);
    const auto decay = static_cast<float>(tensor.is_bias() ? 0 : rule_.weight_decay);
    for (std::size_t j = 0; j < tensor.weights.size(); ++j) {
      float& velocity = velocities_[i][j];
      velocity = momentum * velocity + step_rate * (tensor.gradient[j] + decay * tensor.weights[j]);
      tensor.weights[j] -= velocity;
    }
  }
}

}  // namespace hocket::sgd
