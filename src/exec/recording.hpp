// What an executor knows of what it has done and does, for people who want to see what happened.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/exec/context.hpp"
#include "src/exec/counters.hpp"
#include "src/exec/recorder.hpp"
#include "src/exec/step_recorder.hpp"
#include "src/spi/status.hpp"

namespace hocket {

struct RecordedCommunicator {
  Context::Identity identity;
  std::uint64_t calls = 0;  // collectives that were called, whether they have begun or not
  Counters counters = {};
};

struct Recording {
  std::vector<RecordedCommunicator> communicators;  // the first is the one that the executor was made for
  std::vector<RecordedOperation> operations;        // the latest, the first one first
  std::vector<RecordedStep> steps;                  // likewise, where they are recorded
  std::vector<RecordedWait> waits;
  Status broken;
};

}  // namespace hocket
