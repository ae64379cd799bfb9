// Fits the cost of messages to measured times.
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
  double alpha = 0;         // seconds for each message
  double bandwidth = 0;     // B, bytes a second
  double r_squared = 0;     // share of the variance of times that the model explains; 1: all
  double median_error = 0;  // of |model − time| / time
  double seconds(double messages, double bytes) const { return messages * alpha + bytes / bandwidth; }
};

// Least squares, each square divided by the time: what delays a message adds up over the messages of a call, so the
// variance of a time grows with it. An α that would be negative, as noise can make it, becomes 0. Needs two samples or
// more, with times above zero.
Fit fit_costs(std::span<const Sample> samples);

}  // namespace hocket::sgd
