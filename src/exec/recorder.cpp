#include "src/exec/recorder.hpp"

#include <x86intrin.h>

#include <algorithm>
#include <cmath>
#include <ranges>

namespace hocket {

Recorder::Moment Recorder::Moment::now() {
  return {__rdtsc(), Deadline::Clock::now()};
}

Recorder::Recorder() : records_(std::make_unique<OperationRecord[]>(slots)), next_(records_.get()) {}

void Recorder::show_waits(std::vector<RecordedWait> waits, Deadline believed_until) {
  shown_at_ = Deadline::Clock::now();
  const std::lock_guard lock(mutex_);
  waits_ = std::move(waits);
  believed_until_ = believed_until;
}

double Recorder::nanoseconds_per_tick(const Moment& now) const {
  const auto ticks = static_cast<double>(now.ticks - made_.ticks);
  return static_cast<double>((now.time - made_.time).count()) / (ticks > 0 ? ticks : 1);
}

std::chrono::nanoseconds Recorder::time_in(std::uint64_t ticks) const {
  return std::chrono::nanoseconds(std::llround(static_cast<double>(ticks) * nanoseconds_per_tick(Moment::now())));
}

// In the order of their beginning, without those that may have been written over meanwhile.
std::vector<OperationRecord::Contents> Recorder::copy() const {
  std::vector<OperationRecord::Contents> copied(slots);
  const auto place = [this](const OperationRecord* record) {
    return static_cast<std::size_t>(record - records_.get());
  };
  const std::size_t before = place(next_.load(std::memory_order_acquire));
  for (std::size_t i = 0; i < slots; ++i) copied[i] = records_[(before + i) % slots].read();
  std::atomic_signal_fence(std::memory_order_seq_cst);  // the processor keeps the order of loads by itself
  const std::size_t written = (place(next_.load(std::memory_order_acquire)) + slots - before) % slots;
  copied.erase(copied.begin(), copied.begin() + static_cast<std::ptrdiff_t>(written + 1));
  std::erase_if(copied, [](const OperationRecord::Contents& record) { return record.began == 0; });
  return copied;
}

std::function<Deadline::Clock::time_point(std::uint64_t ticks)> Recorder::clock() const {
  const Moment now = Moment::now();
  return [now, per_tick = nanoseconds_per_tick(now)](std::uint64_t at) {
    const double back = static_cast<double>(static_cast<std::int64_t>(now.ticks - at)) * per_tick;
    return now.time - std::chrono::nanoseconds(std::llround(back));
  };
}

std::vector<RecordedOperation> Recorder::operations() const {
  const std::vector<OperationRecord::Contents> records = copy();
  const auto time_of = clock();
  std::vector<RecordedOperation> operations;
  std::uint64_t next_timed = __rdtsc();  // what is timed from each one on
  for (const OperationRecord::Contents& record : records | std::views::reverse) {
    RecordedOperation& operation = operations.emplace_back(
        RecordedOperation{.tag = record.tag, .peer = record.detail.peer, .began = time_of(record.began)});
    if (record.detail.path != 0) operation.path = static_cast<DirectPath>(record.detail.path - 1);
    operation.exact = !record.untimed();
    if (operation.exact) next_timed = record.began;
    if (record.ended >= record.began) operation.ended = time_of(operation.exact ? record.ended : next_timed);
  }
  std::ranges::reverse(operations);
  return operations;
}

std::vector<RecordedWait> Recorder::waits() const {
  const std::lock_guard lock(mutex_);
  return believed_until_.passed() ? std::vector<RecordedWait>() : waits_;
}

}  // namespace hocket
