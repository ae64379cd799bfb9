#include "bench/buffers.hpp"

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

constexpr std::size_t page = 4096;

// The first place from `room` on from which `before` bytes on data begins as the memory wants it.
std::byte* begin_in(std::byte* room, std::size_t before, const Memory& memory) {
  const auto data = reinterpret_cast<std::uintptr_t>(room) + before;
  return room + (memory.offset() ? (*memory.offset() + page - data % page) % page : 0);
}

}  // namespace

GuardedBytes::GuardedBytes(std::size_t bytes, Memory& memory)
    : memory_(memory),
      bytes_(bytes),
      room_(memory.allocate(bytes + 2 * guard + (memory.offset() ? page : 0))),
      begin_(begin_in(room_, guard, memory)) {
  memory_.set(begin_, guard_value, guard);
  memory_.set(data() + bytes_, guard_value, guard);
}

std::uint64_t GuardedBytes::count_out_of_bounds() const {
  return memory_.count_other(begin_, guard_value, guard) + memory_.count_other(data() + bytes_, guard_value, guard);
}

Buffers::Buffers(const Case& what, Place place, Memory& memory)
    : what_(what),
      place_(place),
      memory_(memory),
      first_(first_bytes(what, place), memory),
      second_(second_bytes(what, place), memory) {
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
    memory_.fill(pattern, part.source, part.first, send_ + part.offset * size_of(what_.dtype), part.count);
  }
}

void Buffers::poison_output() {
  if (!what_.in_place) {
    memory_.set(second_.data(), poison, second_.size());
  } else if (send_ == nullptr) {
    memory_.set(first_.data(), poison, first_.size());
  }
}

Findings Buffers::check(const Pattern& pattern) const {
  Findings found;
  const bool exact = what_.wire == WireFormat::exact;
  const double allowed = exact ? -1 : tolerance(what_, place_.size, pattern.largest());
  for (const Segment& segment : expected_output(what_, place_)) {
    const std::byte* at = recv_ + segment.offset * size_of(what_.dtype);
    found.wrong += memory_.count_wrong(pattern, segment.source, segment.first, at, segment.count, allowed);
  }
  const bool input_stays = !what_.in_place || recv_ == nullptr;
  if (input_stays) found.wrong += memory_.count_wrong(pattern, place_.rank, 0, send_, send_elements(what_, place_));
  if (!what_.in_place && ignores_recv(what_, place_)) {
    found.wrong += memory_.count_other(recv_, poison, second_.size());
  }
  found.out_of_bounds = first_.count_out_of_bounds() + second_.count_out_of_bounds();
  return found;
}

}  // namespace hocket::bench
