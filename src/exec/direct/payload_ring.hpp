// Where a member's payloads lie in its staging area until all have left their operations.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "src/base/arithmetic.hpp"
#include "src/plan/direct/staging.hpp"
#include "src/spi/window.hpp"

namespace hocket {

// A ring of bytes: one payload behind the other. While at most one is in use, the next ones take turns on two places.
class PayloadRing {
 public:
  PayloadRing(std::size_t begin, std::size_t end) : begin_(begin), end_(end) {}

  // Room for `bytes` of the operation `turn`, where everyone has left all operations before `left_until`. Nothing:
  // there is none.
  std::optional<std::size_t> take(std::uint64_t turn, std::size_t bytes, std::uint64_t left_until) {
    while (first_ != behind_ && place(first_).turn < left_until) ++first_;
    const std::size_t length = round_up(bytes, cache_line_bytes);
    const auto found = behind_ - first_ < places_.size() ? find(length) : std::nullopt;
    if (found) {
      place(behind_++) = {turn, static_cast<std::uint32_t>(*found), static_cast<std::uint32_t>(*found + length)};
    }
    return found;
  }
  // The first operation whose payload lies here; UINT64_MAX: there is none.
  std::uint64_t oldest() const { return first_ == behind_ ? UINT64_MAX : places_[first_ % places_.size()].turn; }

 private:
  struct Place {
    std::uint64_t turn = 0;
    std::uint32_t begin = 0, end = 0;
  };

  Place& place(std::size_t number) { return places_[number % places_.size()]; }

  std::optional<std::size_t> find(std::size_t length) {
    if (first_ == behind_) return length <= end_ - begin_ ? std::optional(begin_) : std::nullopt;
    const Place &oldest = place(first_), &latest = place(behind_ - 1);
    const bool is_wrapped = latest.begin < oldest.begin;
    const bool fits_behind = latest.end + length <= (is_wrapped ? oldest.begin : end_);
    const bool fits_before = !is_wrapped && begin_ + length <= oldest.begin;
    if (fits_before && (behind_ - first_ == 1 || !fits_behind)) return begin_;
    return fits_behind ? std::optional<std::size_t>(latest.end) : std::nullopt;
  }

  std::size_t begin_, end_;
  std::array<Place, direct::run_ahead_max> places_ = {};
  std::size_t first_ = 0, behind_ = 0;  // numbers of those in use
};

// A small ring, which stays in the caches, and the rest for a member that is far ahead: how far is bounded by bytes.
class Payloads {
 public:
  std::optional<std::size_t> take_near(std::uint64_t turn, std::size_t bytes, std::uint64_t left_until) {
    return near_.take(turn, bytes, left_until);
  }
  std::optional<std::size_t> take_far(std::uint64_t turn, std::size_t bytes, std::uint64_t left_until) {
    return far_.take(turn, bytes, left_until);
  }
  // The first operation whose payload others may still read.
  std::uint64_t oldest() const { return std::min(near_.oldest(), far_.oldest()); }

 private:
  PayloadRing near_{0, direct::near_payload_bytes};
  PayloadRing far_{direct::near_payload_bytes, direct::payload_bytes};
};

}  // namespace hocket
