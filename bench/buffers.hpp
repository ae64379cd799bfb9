// The buffers of one case on one rank: filled, poisoned and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bench/collectives.hpp"
#include "bench/data.hpp"
#include "bench/memory.hpp"

namespace hocket::bench {

// Bytes with a guard zone before and after, in which nobody may write.
class GuardedBytes {
 public:
  static constexpr std::size_t guard = 64;

  GuardedBytes(std::size_t bytes, Memory& memory);  // throws as Memory::allocate() does
  ~GuardedBytes() { memory_.free(room_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  std::byte* data() const { return begin_ + guard; }
  std::size_t size() const { return bytes_; }
  // Changed guard bytes.
  std::uint64_t count_out_of_bounds() const;

 private:
  Memory& memory_;
  std::size_t bytes_;
  std::byte* room_;
  std::byte* begin_;  // in it
};

// What a check found on this rank.
struct Findings {
  std::uint64_t wrong = 0;          // elements
  std::uint64_t out_of_bounds = 0;  // bytes written outside the buffers

  Findings& operator+=(const Findings& other) {
    wrong += other.wrong;
    out_of_bounds += other.out_of_bounds;
    return *this;
  }
};

// The send and recv buffers of one case on one rank. In place they share memory.
class Buffers {
 public:
  // `memory` must outlive them.
  Buffers(const Case& what, Place place, Memory& memory);

  // Null where the collective ignores the argument and the buffers are in place.
  const void* send() const { return send_; }
  void* recv() const { return recv_; }

  void write_input(const Pattern& pattern);
  // Makes sure that what is found in the output later was written later. Not in place: the output is the input there.
  void poison_output();
  // Compares the output with what the pattern says, an output that the call ignores with poison, and an input that
  // must not change with itself.
  Findings check(const Pattern& pattern) const;

 private:
  Case what_;
  Place place_;
  Memory& memory_;
  GuardedBytes first_;   // out of place: send; in place: both
  GuardedBytes second_;  // out of place: recv
  std::byte* send_ = nullptr;
  std::byte* recv_ = nullptr;
};

}  // namespace hocket::bench
