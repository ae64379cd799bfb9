// HostBuffers: which of a program's buffers are in memory that the host reads and writes, not on a GPU. Of a page, all
// or nothing is.
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
  explicit HostBuffers(Gpus* gpus) : gpus_(gpus), seen_(gpus == nullptr ? never_ : gpus->seen_flag()) {}

  // Whether those that were found stay what they are: no driver was seen that hands out memory.
  bool stay() const { return !seen_.load(std::memory_order_relaxed); }
  static bool in_one_page(const void* data, const void* other) { return difference(data, other) < page_bytes; }
  // The same of two pairs.
  static bool in_one_page(const void* data, const void* other, const void* more, const void* other_of_more) {
    return (difference(data, other) | difference(more, other_of_more)) < page_bytes;
  }
  // Whether it is known that `data` is one of them; null is. Where it was one, it is, unless there is a driver that
  // hands out memory; that is looked for again and again.
  bool hold(const void* data) {
    if (gpus_ == nullptr || data == nullptr) return true;
    const std::uint32_t calls = calls_.load(std::memory_order_relaxed);
    calls_.store(calls + 1, std::memory_order_relaxed);  // that of another thread may be lost
    const bool known = place_of(data).load(std::memory_order_relaxed) == number_of(data) && !gpus_->seen();
    return (known && calls % calls_per_look != 0) || find(data);
  }

 private:
  static constexpr std::size_t places = 256, page_bytes = 4096;
  static constexpr std::uint32_t calls_per_look = 256;

  static std::uintptr_t difference(const void* data, const void* other) {
    return reinterpret_cast<std::uintptr_t>(data) ^ reinterpret_cast<std::uintptr_t>(other);
  }
  // Of its page.
  static std::uintptr_t number_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data) / page_bytes; }
  // Most programs send from the same few pages again and again, which may lie side by side.
  std::atomic<std::uintptr_t>& place_of(const void* data) {
    const std::uintptr_t number = number_of(data);
    return latest_[(number + number / places) % places];
  }
  [[gnu::noinline]] bool find(const void* data) {
    const auto gpu = gpus_->gpu_at(data);
    if (!gpu.ok() || *gpu != nullptr) return false;
    place_of(data).store(number_of(data), std::memory_order_relaxed);
    return true;
  }

  static constexpr std::atomic<bool> never_{false};

  Gpus* const gpus_;
  const std::atomic<bool>& seen_;  // whether there is a driver that hands out memory
  std::atomic<std::uint32_t> calls_{0};
  std::array<std::atomic<std::uintptr_t>, places> latest_{};  // no data lies in page 0
};

}  // namespace hocket::comm
