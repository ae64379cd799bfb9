// What a person can put right, as one sentence for the terminal. Thrown by everything in this folder.
#pragma once

#include <stdexcept>

namespace hocket::sgd {

class Problem : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The ranks have come to different weights: nothing that a person did wrong.
class WeightsDiffer : public Problem {
 public:
  using Problem::Problem;
};

}  // namespace hocket::sgd
