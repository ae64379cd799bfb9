// Two ranks that measure together what a message costs, and what memory does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "hocket/hocket.hpp"
#include "tools/plan/probe.hpp"

namespace hocket {

// Rank 0 learns the other's times. Both ranks call the same functions.
class ProbePair {
 public:
  explicit ProbePair(Communicator& comm);

  // Seconds for one way.
  double ping_pong();
  // Seconds of one message at its sender and at its receiver, who looks when all have arrived. On rank 0.
  std::array<double, 2> one_way(std::size_t bytes, std::size_t count);
  // Both send and receive at once: seconds for a byte each way.
  double exchange(std::size_t bytes = std::size_t{512} << 10);
  // Seconds for a byte of a copy, and of a sum with a message that has just come, while the other rank does the same.
  double copy();
  double reduce();

 private:
  double over_blocks(const std::function<void(std::uint8_t*)>& work);
  // The next stretch of this length, round and round.
  std::span<std::uint8_t> next(std::vector<std::uint8_t>& memory, std::size_t bytes);

  Communicator& comm_;
  std::vector<std::uint8_t> memory_, other_;
  std::size_t at_ = 0;
};

// `overhead`: seconds that a call costs which does nothing.
LinkFigures measure_links(ProbePair& pair, double overhead);

}  // namespace hocket
