// HostBuffers: which of a program's buffers are in memory that the host reads and writes, not on a GPU.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "src/spi/gpu.hpp"

namespace hocket::comm {

// Thread rule: any thread.
class HostBuffers {
 public:
  // `gpus`: whose memory buffers may be; null: none's.
  explicit HostBuffers(Gpus* gpus) : gpus_(gpus) {}

  // Whether those that were found stay what they are: no driver was seen that hands out memory.
  bool stay() const { return gpus_ == nullptr || !gpus_->seen(); }
  // Whether it is known that `data` is one of them; null is. Where it was one, it is, unless there is a driver that
  // hands out memory; that is looked for again and again.
  [[gnu::always_inline]] bool hold(const void* data) {
    if (gpus_ == nullptr || data == nullptr) return true;
    const std::uint32_t calls = calls_.load(std::memory_order_relaxed);
    calls_.store(calls + 1, std::memory_order_relaxed);  // that of another thread may be lost
    const bool known = place_of(data).load(std::memory_order_relaxed) == data && !gpus_->seen();
    return (known && calls % calls_per_look != 0) || find(data);
  }

 private:
  static constexpr std::size_t places = 256, line = 64;
  static constexpr std::uint32_t calls_per_look = 256;

  // Most programs send from the same few buffers again and again, and those of small messages may lie side by side.
  std::atomic<const void*>& place_of(const void* data) {
    const auto number = reinterpret_cast<std::uintptr_t>(data) / line;
    return latest_[(number + number / places) % places];
  }
  [[gnu::noinline]] bool find(const void* data) {
    const auto gpu = gpus_->gpu_at(data);
    if (!gpu.ok() || *gpu != nullptr) return false;
    place_of(data).store(data, std::memory_order_relaxed);
    return true;
  }

  Gpus* const gpus_;
  std::atomic<std::uint32_t> calls_{0};
  std::array<std::atomic<const void*>, places> latest_{};
};

}  // namespace hocket::comm
