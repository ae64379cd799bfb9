// Fits the cost of messages to measured times: t = messages · α + bytes / B, for a ring 2(N−1) · (α + S/(N·B)).
//
// Least squares of relative errors, Σ ((messages·α + bytes/B − t) / t)²: weighted least squares with weights 1/t²
// (Tofallis 2008, "Least squares percentage regression", Journal of Modern Applied Statistical Methods 7(2), section
// 3). Short and long messages count alike, and a call that something delayed counts at most as an error of 100 %, while
// of absolute errors it could outweigh all others.
#pragma once

#include <span>

namespace hocket::sgd {

// One measured time, and what a model says it is made of: `messages` · α + `bytes` / B.
struct Sample {
  double messages = 0;
  double bytes = 0;
  double seconds = 0;
};

struct Fit {
  static constexpr double good = 0.9;  // R²

  double alpha = 0;      // seconds for each message
  double bandwidth = 0;  // B, bytes a second; infinite where the bytes make no difference that can be measured
  double r_squared = 0;  // see fit_costs(); 1: the model explains all, 0 or less: no more than one time for all calls
  double median_error = 0;  // of |model − time| / time
  // Whether the times are about as the formula says. Where they are not, α and B say little.
  bool describes() const { return r_squared >= good; }
  double seconds(double messages, double bytes) const { return messages * alpha + bytes / bandwidth; }
};

// Neither α nor 1/B comes out negative, as noise could make them: the one that would be is 0, and the other is fitted
// alone. R² = 1 − Σ ((model − t)/t)² / Σ ((mean − t)/t)², with the mean that makes the second sum least; 0
// where all times are equal. Needs a sample or more, with times above zero.
Fit fit_costs(std::span<const Sample> samples);

}  // namespace hocket::sgd
