#include "tools/sgd/fit.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hocket::sgd {
namespace {

constexpr double rounding = 1e-12;

struct Costs {
  double alpha = 0, per_byte = 0;
};

// Σ ((messages·α + bytes·per_byte − t) / t)²
double squares(std::span<const Sample> samples, const Costs& costs) {
  double sum = 0;
  for (const Sample& sample : samples) {
    const double model = sample.messages * costs.alpha + sample.bytes * costs.per_byte;
    sum += std::pow(model / sample.seconds - 1, 2);
  }
  return sum;
}

// The least such sum, from its normal equations.
Costs solve(std::span<const Sample> samples) {
  double mm = 0, mb = 0, bb = 0, m = 0, b = 0;
  for (const Sample& sample : samples) {
    const double messages = sample.messages / sample.seconds, bytes = sample.bytes / sample.seconds;
    mm += messages * messages;
    mb += messages * bytes;
    bb += bytes * bytes;
    m += messages;
    b += bytes;
  }
  const double determinant = mm * bb - mb * mb;
  const Costs both{(m * bb - b * mb) / determinant, (mm * b - mb * m) / determinant};
  if (determinant > rounding * mm * bb && both.alpha >= 0 && both.per_byte > 0) return both;
  const Costs bytes_alone{0, b / bb}, messages_alone{m / mm, 0};
  return squares(samples, bytes_alone) <= squares(samples, messages_alone) ? bytes_alone : messages_alone;
}

double r_squared(std::span<const Sample> samples, const Costs& costs) {
  std::vector<Sample> single;  // calls of which each is one message of no bytes: all take the same time
  double weights = 0, weighted_times = 0;
  for (const Sample& sample : samples) {
    single.push_back({1, 0, sample.seconds});
    weights += 1 / (sample.seconds * sample.seconds);
    weighted_times += 1 / sample.seconds;
  }
  const double total = squares(single, {weighted_times / weights, 0});
  return total > rounding ? 1 - squares(samples, costs) / total : 0;
}

}  // namespace

Fit fit_costs(std::span<const Sample> samples) {
  const Costs costs = solve(samples);
  Fit fit{.alpha = costs.alpha, .bandwidth = 1 / costs.per_byte, .r_squared = r_squared(samples, costs)};
  std::vector<double> errors;
  for (const Sample& sample : samples) {
    errors.push_back(std::abs(fit.seconds(sample.messages, sample.bytes) / sample.seconds - 1));
  }
  std::ranges::sort(errors);
  fit.median_error = errors[errors.size() / 2];
  return fit;
}

}  // namespace hocket::sgd
