// What the model expects of what was measured: a simulated run of the same schedule on a described network, or the
// closed form of the direct path.
#pragma once

#include <optional>
#include <string>

#include "bench/measure.hpp"
#include "src/plan/network.hpp"
#include "src/spi/status.hpp"
#include "tools/plan/probe.hpp"

namespace hocket::bench {

class Model {
 public:
  // A file as `hocket-plan probe --save` writes it, or as docs/performance/cost-networks.md describes. invalid_argument
  // and not_found tell what is wrong with it.
  static Result<Model> open(const std::string& file, int ranks);
  // The same for what a probe has just measured.
  static Result<Model> of(const ProbeFigures& measured, int ranks);

  // Microseconds, for the algorithm or direct path, and the transport, that the measurement names. Nothing for lower
  // precision, threads, and point to point. `fresh`: of a call that all begin at once, else of one in a row of calls.
  std::optional<double> expected_us(const Case& what, const Measurement& measured, bool fresh) const;

 private:
  static Result<Model> make(Result<Network> described);
  Model(Network described, Network tcp) : described_(std::move(described)), tcp_(std::move(tcp)) {}

  Network described_;
  Network tcp_;  // the same where all exchange over TCP
};

}  // namespace hocket::bench
