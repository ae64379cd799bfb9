// What is known of an operation's run while it takes longer than most.
#pragma once

#include <string>
#include <vector>

#include "src/spi/types.hpp"

namespace hocket {

// Which peers it still waits for, the likeliest culprits first: "receiving from rank 2, sending to rank 3".
struct Missing {
  std::vector<Rank> peers = {};
  std::string text = {};
};

// Its times.
struct RunClock {
  Deadline::Clock::time_point began;
  Deadline deadline;
  Deadline next_telling;
  bool told = false;
};

}  // namespace hocket
