#include "tools/sgd/fit.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hocket::sgd {
namespace {

// α and 1/B from the normal equations of minimising Σ (messages·α + bytes/B − t)² / t.
void solve(std::span<const Sample> samples, double& alpha, double& per_byte) {
  double mm = 0, mb = 0, bb = 0, m = 0, b = 0;
  for (const Sample& sample : samples) {
    mm += sample.messages * sample.messages / sample.seconds;
    mb += sample.messages * sample.bytes / sample.seconds;
    bb += sample.bytes * sample.bytes / sample.seconds;
    m += sample.messages;
    b += sample.bytes;
  }
  const double determinant = mm * bb - mb * mb;
  alpha = determinant > 0 ? (m * bb - b * mb) / determinant : 0;
  per_byte = determinant > 0 ? (mm * b - mb * m) / determinant : 0;
  if (alpha < 0 || per_byte <= 0) {
    alpha = 0;
    per_byte = b / bb;
  }
}

}  // namespace

Fit fit_costs(std::span<const Sample> samples) {
  double per_byte = 0;
  Fit fit;
  solve(samples, fit.alpha, per_byte);
  fit.bandwidth = 1 / per_byte;

  double mean = 0;
  for (const Sample& sample : samples) mean += sample.seconds / static_cast<double>(samples.size());
  double residual = 0, total = 0;
  std::vector<double> errors;
  for (const Sample& sample : samples) {
    const double error = fit.seconds(sample.messages, sample.bytes) - sample.seconds;
    residual += error * error;
    total += (sample.seconds - mean) * (sample.seconds - mean);
    errors.push_back(std::abs(error) / sample.seconds);
  }
  fit.r_squared = total > 0 ? 1 - residual / total : 0;
  std::ranges::sort(errors);
  fit.median_error = errors[errors.size() / 2];
  return fit;
}

}  // namespace hocket::sgd
