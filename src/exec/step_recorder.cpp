#include "src/exec/step_recorder.hpp"

#include <algorithm>

namespace hocket {

std::vector<RecordedStep> StepRecorder::steps(const TimeOf& time_of) const {
  const Number before = written_.load(std::memory_order_acquire);
  const Number first = before - std::min<Number>(before, places_ - 1);
  std::vector<std::array<std::uint64_t, 5>> copied;
  copied.reserve(before - first);
  for (Number number = first; number < before; ++number) {
    auto& words = copied.emplace_back();
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] = records_[number % places_][i].load(std::memory_order_relaxed);
    }
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the processor keeps the order of loads by itself
  const Number after = written_.load(std::memory_order_acquire);
  const Number kept = after - std::min<Number>(after, places_ - 1);  // those before may be half written over
  std::vector<RecordedStep> steps;
  for (Number number = std::max(first, kept); number < before; ++number) {
    const auto& words = copied[number - first];
    const auto what = std::bit_cast<What>(std::array{words[0], words[1]});
    RecordedStep& step = steps.emplace_back(RecordedStep{.communicator = what.communicator,
                                                         .number = what.number,
                                                         .call = static_cast<SignatureKind>(what.call),
                                                         .kind = static_cast<StepKind>(what.kind),
                                                         .peer = what.peer,
                                                         .bytes = words[2],
                                                         .began = time_of(words[3])});
    if (words[4] != 0) step.ended = time_of(words[4]);
  }
  return steps;
}

}  // namespace hocket
