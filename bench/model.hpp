// What the model expects of what was measured: a simulated run of the same schedule on a described network.
#pragma once

#include <optional>
#include <string>

#include "bench/measure.hpp"
#include "hocket/spi/status.hpp"
#include "src/plan/network.hpp"

namespace hocket::bench {

class Model {
 public:
  // A file as `hocket-plan probe --save` writes it, or as docs/COST.md describes. invalid_argument and not_found tell
  // what is wrong with it.
  static Result<Model> open(const std::string& file, int ranks);

  // Microseconds, for the algorithm and the transport that the measurement names. Nothing where no schedule of exact
  // messages ran: direct paths, lower precision, threads, and point to point.
  std::optional<double> expected_us(const Case& what, const Measurement& measured) const;

 private:
  Model(Network described, Network tcp) : described_(std::move(described)), tcp_(std::move(tcp)) {}

  Network described_;
  Network tcp_;  // the same where all exchange over TCP
};

}  // namespace hocket::bench
