// What a member tells the others at the start of a direct operation: one board line, and a second one where plain
// memory is to be read.
#pragma once

#include <cstring>

#include "src/plan/direct/staging.hpp"
#include "src/spi/transport.hpp"
#include "src/spi/window.hpp"

namespace hocket {

struct Announcement {
  enum Flag : std::uint32_t {
    inlined = 1,  // the input stands in the line itself, from word 3 on
    staged = 2,   // the input lies in the member's payload slot
    mapped = 4,   // both buffers are registered; words 3 to 5 say where
    plain = 8,    // this member can read all others' plain memory; the next line says where its own buffers are
  };
  static constexpr std::size_t inline_bytes_max = direct::inline_bytes_max;
  static constexpr std::uint32_t communicator_max = (1U << 24) - 1;

  Signature call;
  std::uint32_t communicator = 0;  // its number, modulo communicator_max + 1
  std::uint32_t digest = 0;        // of all calls on this window up to this one: equal calls, equal digests
  std::uint32_t flags = 0;
  RegionRef input, output;
  std::byte payload[inline_bytes_max] = {};
  std::uintptr_t input_at = 0, output_at = 0;

  // The digest of calls that `before` stands for, and then `call`.
  static std::uint32_t digest_after(std::uint32_t before, const Signature& call, std::uint32_t communicator) {
    std::uint64_t bits = (before ^ pack(call)) * 0x9E3779B97F4A7C15;  // Steele et al., SplitMix (OOPSLA 2014)
    bits = (bits ^ (bits >> 32) ^ pack_count(call) ^ std::uint64_t{communicator} << 40) * 0xBF58476D1CE4E5B9;
    return static_cast<std::uint32_t>(bits >> 32);
  }

  // `lines`: two of them.
  void write(ControlLine* lines, std::uint64_t turn) const {
    constexpr auto relaxed = std::memory_order_relaxed;
    ControlLine& line = lines[0];
    if ((flags & plain) != 0) {
      lines[1].words[0].store(input_at, relaxed);
      lines[1].words[1].store(output_at, relaxed);
    }
    std::uint64_t words[4] = {input.region | (std::uint64_t{output.region} << 32), input.offset, output.offset, 0};
    if ((flags & inlined) != 0) std::memcpy(words, payload, inline_bytes_max);
    line.words[1].store(pack(call), relaxed);
    line.words[2].store(pack_count(call), relaxed);
    for (std::size_t i = 0; i < 4; ++i) line.words[3 + i].store(words[i], relaxed);
    line.words[7].store(flags | communicator << flag_bits | std::uint64_t{digest} << 32, relaxed);
    line.words[0].store(turn, std::memory_order_release);
  }

  // Requires that the first line's turn has been acquired.
  void read(const ControlLine* lines) {
    constexpr auto relaxed = std::memory_order_relaxed;
    const ControlLine& line = lines[0];
    call = unpack(line.words[1].load(relaxed));
    unpack_count(line.words[2].load(relaxed), call);
    std::uint64_t words[4];
    for (std::size_t i = 0; i < 4; ++i) words[i] = line.words[3 + i].load(relaxed);
    const std::uint64_t last = line.words[7].load(relaxed);
    flags = last & ((1U << flag_bits) - 1);
    communicator = static_cast<std::uint32_t>(last) >> flag_bits;
    digest = static_cast<std::uint32_t>(last >> 32);
    if ((flags & plain) != 0) {
      input_at = lines[1].words[0].load(relaxed);
      output_at = lines[1].words[1].load(relaxed);
    }
    if ((flags & inlined) != 0) std::memcpy(payload, words, inline_bytes_max);
    input = {.region = static_cast<std::uint32_t>(words[0]), .offset = words[1]};
    output = {.region = static_cast<std::uint32_t>(words[0] >> 32), .offset = words[2]};
  }

 private:
  static constexpr unsigned flag_bits = 8;

  static std::uint64_t pack(const Signature& call) {
    return static_cast<std::uint64_t>(call.collective) | static_cast<std::uint64_t>(call.dtype) << 8 |
           static_cast<std::uint64_t>(call.op) << 16 | std::uint64_t{call.algorithm} << 24 |
           std::uint64_t{static_cast<std::uint32_t>(call.root)} << 32;
  }
  // No memory holds 2^48 elements.
  static constexpr unsigned count_bits = 48;
  static std::uint64_t pack_count(const Signature& call) {
    return call.count | std::uint64_t{call.element_bytes} << count_bits;
  }
  static void unpack_count(std::uint64_t word, Signature& call) {
    call.count = word & ((std::uint64_t{1} << count_bits) - 1);
    call.element_bytes = static_cast<std::uint16_t>(word >> count_bits);
  }
  static Signature unpack(std::uint64_t word) {
    return {.collective = static_cast<Collective>(word & 0xff),
            .dtype = static_cast<DataType>(word >> 8 & 0xff),
            .op = static_cast<ReduceOp>(word >> 16 & 0xff),
            .algorithm = static_cast<std::uint8_t>(word >> 24 & 0xff),
            .root = static_cast<Rank>(static_cast<std::uint32_t>(word >> 32)),
            .count = 0};
  }
};

}  // namespace hocket
