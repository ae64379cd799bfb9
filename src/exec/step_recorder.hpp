// StepRecorder: the latest steps of the schedules that an executor runs, for those who ask for them
// (HOCKET_RECORD_STEPS): what was sent, received, copied and reduced, with whom, and when. The thread that progresses
// writes; any thread may read, at any time, without a lock, as of a Recorder.
#pragma once

#include <x86intrin.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "src/spi/schedule.hpp"
#include "src/spi/transport.hpp"

namespace hocket {

// One step as it was recorded. Times are those of the steady clock.
struct RecordedStep {
  std::uint32_t communicator = 0, number = 0;  // of the call that it is part of
  SignatureKind call = SignatureKind::collective;
  StepKind kind = StepKind::send;
  Rank peer = no_rank;  // of a message: the other end, as a rank of the communicator
  std::uint64_t bytes = 0;
  Deadline::Clock::time_point began = {};
  std::optional<Deadline::Clock::time_point> ended = {};  // nothing: it runs, or failed
};

// Thread rule: begin() and end() by the thread that progresses; steps() by any thread.
class StepRecorder {
 public:
  // Names a step that has begun.
  using Number = std::uint64_t;

  // Keeps so many; at least 1.
  explicit StepRecorder(std::size_t capacity) : places_(capacity + 1), records_(new Record[places_]) {}

  // Of a message, the step begins when it is handed to its link, and ends when the link has done it.
  Number begin(const Tag& call, StepKind kind, Rank peer, std::size_t bytes) {
    const Number number = written_.load(std::memory_order_relaxed);
    const What what{.communicator = call.communicator,
                    .number = call.sequence,
                    .peer = peer,
                    .call = static_cast<std::uint16_t>(call.call.kind),
                    .kind = static_cast<std::uint16_t>(kind)};
    const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(what);
    Record& record = records_[number % places_];
    record[0].store(words[0], std::memory_order_relaxed);
    record[1].store(words[1], std::memory_order_relaxed);
    record[2].store(bytes, std::memory_order_relaxed);
    record[3].store(__rdtsc(), std::memory_order_relaxed);
    record[4].store(0, std::memory_order_relaxed);
    written_.store(number + 1, std::memory_order_release);
    return number;
  }
  // Nothing where so many others have begun meanwhile that it is not kept any more.
  void end(Number number) {
    if (number + places_ <= written_.load(std::memory_order_relaxed)) return;
    records_[number % places_][4].store(__rdtsc(), std::memory_order_relaxed);
  }

  // The latest, the first one first. `time_of` turns ticks of the processor's counter into time.
  using TimeOf = std::function<Deadline::Clock::time_point(std::uint64_t ticks)>;
  std::vector<RecordedStep> steps(const TimeOf& time_of) const;

 private:
  struct What {
    std::uint32_t communicator, number;
    Rank peer;
    std::uint16_t call, kind;
  };
  using Record = std::array<std::atomic<std::uint64_t>, 5>;

  const std::size_t places_;  // one more than are kept: that which is written next may be half written
  const std::unique_ptr<Record[]> records_;
  std::atomic<Number> written_{0};
};

}  // namespace hocket
