#include "bench/buffers.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "hocket/hocket.h"

namespace hocket::bench {
namespace {

constexpr std::byte guard_value{0x5A};
constexpr std::byte poison{0xA5};

std::size_t first_bytes(const Case& what, Place place) {
  const std::size_t send = send_elements(what, place) * size_of(what.dtype);
  return what.in_place ? bytes_of(what, place.size) : send;
}

std::size_t second_bytes(const Case& what, Place place) {
  return what.in_place ? 0 : recv_elements(what, place) * size_of(what.dtype);
}

}  // namespace

GuardedBytes::GuardedBytes(std::size_t bytes, bool registered) : bytes_(bytes), memory_(nullptr, Free{registered}) {
  constexpr std::size_t alignment = 64;
  const std::size_t rounded = (bytes + 2 * guard + alignment - 1) / alignment * alignment;
  void* memory = nullptr;
  if (!registered) {
    memory = std::aligned_alloc(alignment, rounded);
  } else if (hocket_mem_alloc(&memory, rounded) != HOCKET_OK) {
    memory = nullptr;
  }
  memory_.reset(static_cast<std::byte*>(memory));
  if (memory_ == nullptr) throw std::bad_alloc();
  std::fill_n(memory_.get(), guard, guard_value);
  std::fill_n(data() + bytes_, guard, guard_value);
}

void GuardedBytes::Free::operator()(std::byte* memory) const {
  if (!registered) {
    std::free(memory);
  } else {
    (void)hocket_mem_free(memory);
  }
}

std::uint64_t GuardedBytes::count_out_of_bounds() const {
  const auto changed = [](const std::byte* zone) {
    return static_cast<std::uint64_t>(std::count_if(zone, zone + guard, [](std::byte b) { return b != guard_value; }));
  };
  return changed(memory_.get()) + changed(data() + bytes_);
}

Buffers::Buffers(const Case& what, Place place)
    : what_(what),
      place_(place),
      first_(first_bytes(what, place), what.registered),
      second_(second_bytes(what, place), what.registered) {
  if (what.in_place) {
    send_ = first_.data() + in_place_send_offset(what, place) * size_of(what.dtype);
    recv_ = first_.data() + in_place_recv_offset(what, place) * size_of(what.dtype);
    if (ignores_send(what, place)) send_ = nullptr;
    if (ignores_recv(what, place)) recv_ = nullptr;
  } else {
    send_ = first_.data();
    recv_ = second_.data();
  }
}

void Buffers::write_input(const Pattern& pattern) {
  if (send_ == nullptr) return;
  for (const Segment& part : input_of(what_, place_)) {
    pattern.fill(part.source, part.first, send_ + part.offset * size_of(what_.dtype), part.count);
  }
}

void Buffers::poison_output() {
  if (!what_.in_place) {
    std::fill_n(second_.data(), second_.size(), poison);
  } else if (send_ == nullptr) {
    std::fill_n(first_.data(), first_.size(), poison);
  }
}

Findings Buffers::check(const Pattern& pattern) const {
  Findings found;
  const bool exact = what_.wire == WireFormat::exact;
  const double allowed = exact ? 0 : tolerance(what_, place_.size, pattern.largest());
  for (const Segment& segment : expected_output(what_, place_)) {
    const std::byte* at = recv_ + segment.offset * size_of(what_.dtype);
    found.wrong += exact ? pattern.count_wrong(segment.source, segment.first, at, segment.count)
                         : pattern.count_far(segment.source, segment.first, at, segment.count, allowed);
  }
  const bool input_stays = !what_.in_place || recv_ == nullptr;
  if (input_stays) found.wrong += pattern.count_wrong(place_.rank, 0, send_, send_elements(what_, place_));
  if (!what_.in_place && ignores_recv(what_, place_)) {
    found.wrong += static_cast<std::uint64_t>(
        std::count_if(recv_, recv_ + second_.size(), [](std::byte b) { return b != poison; }));
  }
  found.out_of_bounds = first_.count_out_of_bounds() + second_.count_out_of_bounds();
  return found;
}

}  // namespace hocket::bench
