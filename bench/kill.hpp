// A rank that kills itself in the middle of a benchmark, and how long the others take to go on without it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/collectives.hpp"
#include "bench/options.hpp"
#include "hocket/hocket.hpp"

namespace hocket::bench {

// What came of it, in microseconds, for each rank that is left, in their new order. Complete on the new rank 0.
struct Survival {
  Kill kill;
  int ranks = 0;                          // that are left
  std::string during = {};                // "allreduce 64K in place"
  std::vector<double> detection_us = {};  // from the death until a call failed
  std::vector<double> shrink_us = {};     // of hocket_comm_shrink()
  std::vector<double> recovery_us = {};   // from the death to the end of the first collective without the dead
  bool right = true;                      // its result, on all
};

class Killing {
 public:
  explicit Killing(const Kill& kill) : kill_(kill) {}

  // Before every timed operation, on all ranks. Before the one that is meant, the victim tells the others when it will
  // die, which it then does; so they are in the middle of that operation. Throws hocket::Error.
  void before_operation(hocket_comm* comm, Place place);
  // Whether a failure of a call is that death, which was not survived yet.
  bool explains(const Error& error) const { return dies_at_ && error.result() == HOCKET_PEER_LOST; }
  // At once after that failure, on every rank that is left: `comm` becomes their communicator. Throws hocket::Error.
  Survival survive(Communicator& comm, std::string during);
  bool is_over() const { return over_; }
  std::uint64_t operations() const { return operations_; }

 private:
  using Clock = std::chrono::steady_clock;

  const Kill kill_;
  std::uint64_t operations_ = 0;  // that were timed
  std::optional<Clock::time_point> dies_at_;
  bool over_ = false;
};

// Ranks on several hosts have no clock in common. Collective; the same on all ranks. Throws hocket::Error.
bool share_a_clock(Communicator& comm);

}  // namespace hocket::bench
