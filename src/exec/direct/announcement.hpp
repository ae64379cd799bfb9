// What a member tells the others at the start of a direct operation: one control line, and a second one where plain
// memory is to be read or a call has a digest.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/exec/direct/announced_call.hpp"
#include "src/exec/direct/control_lines.hpp"
#include "src/plan/direct/staging.hpp"
#include "src/spi/window.hpp"

namespace hocket {

// Where the data is. What lies in the line is read there: nobody writes into it before all have left the operation.
struct Announcement {
  enum Flag : std::uint32_t {
    inlined = 1,  // the payload stands in the line itself, from word 3 on
    staged = 2,   // the payload lies in the member's staging area; word 4 says where
    mapped = 4,   // both buffers are registered; words 3 to 5 say where
    plain = 8,    // this member can read all others' plain memory; the second line says where its own buffers are
    device = 16,  // both buffers lie on a GPU; the lines of exports say where, and word 3 on which
    by_descriptor = 32,  // some of this memory of a GPU is opened by descriptors, which the others must fetch
    fetches = 64,        // this member can fetch those of all others
  };
  static constexpr std::size_t inline_bytes_max = direct::inline_bytes_max;
  static constexpr std::uint32_t communicator_max = (1U << 24) - 1;

  std::uint32_t flags = 0;
  RegionRef input, output;
  std::size_t payload_at = 0;
  std::uintptr_t input_at = 0, output_at = 0;
  std::uint64_t gpu = 0;  // a hash of its identity

  bool has_payload() const { return (flags & (inlined | staged)) != 0; }

  // Where it is written.
  struct Written {
    ControlLine* lines;  // all lines of a member
    std::uint64_t turn;

    ControlLine& line() const { return lines[direct::announcement_line(turn)]; }
    ControlLine& second() const { return lines[direct::second_line(turn)]; }
  };

  // Where a payload stands, of no more than inline_bytes_max. It is data as any other, no numbers that are looked at
  // before the turn is acquired; so whoever announces puts it there directly, and then writes the rest around it.
  static std::byte* payload_in(const Written& to) {
    return reinterpret_cast<std::byte*>(&to.line().words[first_word_of_data]);
  }
  [[gnu::always_inline]] static void write_around_payload(const Written& to, const ComparedCall& call,
                                                          std::uint32_t digest) {
    write_call(to, call, digest, inlined);
  }
  void write(const Written& to, const ComparedCall& call, std::uint32_t digest) const {
    if ((flags & plain) != 0) {
      to.second().words[0].store(input_at, relaxed);
      to.second().words[1].store(output_at, relaxed);
    }
    const std::uint64_t regions = input.region | (std::uint64_t{output.region} << 32);
    to.line().words[3].store((flags & device) != 0 ? gpu : regions, relaxed);
    to.line().words[4].store((flags & staged) != 0 ? payload_at : input.offset, relaxed);
    to.line().words[5].store(output.offset, relaxed);
    write_call(to, call, digest, flags);
  }

  // What follows requires that the turn has been acquired.

  // Whether two members have announced the same, and all calls before it were the same.
  static bool tell_the_same(const Written& one, const Written& other) {
    return ((one.line().words[1].load(relaxed) ^ other.line().words[1].load(relaxed)) |
            (one.line().words[2].load(relaxed) ^ other.line().words[2].load(relaxed)) |
            (digest_in(one) ^ digest_in(other))) == 0;
  }
  // Whether a member has announced this call, and all calls before it were those that `digest` is of.
  [[gnu::always_inline]] static bool tells(const Written& from, const ComparedCall& call, std::uint32_t digest) {
    return ((from.line().words[1].load(relaxed) ^ call.announced.what()) |
            (from.line().words[2].load(relaxed) ^ call.announced.how_much()) | (digest_in(from) ^ digest)) == 0;
  }
  static std::uint32_t digest_in(const Written& from) {
    return static_cast<std::uint32_t>(from.line().words[7].load(relaxed) >> 32);
  }
  static ComparedCall call_in(const Written& from) {
    const AnnouncedCall announced{from.line().words[1].load(relaxed), from.line().words[2].load(relaxed)};
    const std::uint64_t own_digest = announced.has_digest() ? from.second().words[2].load(relaxed) : 0;
    return {announced.signature(own_digest),
            static_cast<std::uint32_t>(from.line().words[7].load(relaxed)) >> flag_bits};
  }
  static const std::byte* data_in(const Written& from) {
    return reinterpret_cast<const std::byte*>(&from.line().words[first_word_of_data]);
  }
  // Mostly no more than `inlined`.
  static std::uint32_t flags_in(const Written& from) {
    return from.line().words[7].load(relaxed) & ((1U << flag_bits) - 1);
  }
  void read(const Written& from) {
    flags = flags_in(from);
    const ControlLine& line = from.line();
    const std::uint64_t words[3] = {line.words[3].load(relaxed), line.words[4].load(relaxed),
                                    line.words[5].load(relaxed)};
    if ((flags & plain) != 0) {
      input_at = from.second().words[0].load(relaxed);
      output_at = from.second().words[1].load(relaxed);
    }
    gpu = (flags & device) != 0 ? words[0] : 0;
    payload_at = (flags & staged) != 0 ? words[1] : 0;
    input = {.region = static_cast<std::uint32_t>(words[0]), .offset = words[1]};
    output = {.region = static_cast<std::uint32_t>(words[0] >> 32), .offset = words[2]};
  }

 private:
  static constexpr std::size_t first_word_of_data = 3;
  static constexpr unsigned flag_bits = 8;
  static constexpr auto relaxed = std::memory_order_relaxed;

  [[gnu::always_inline]] static void write_call(const Written& to, const ComparedCall& call, std::uint32_t digest,
                                                std::uint32_t flags) {
    if (call.has_digest) to.second().words[2].store(call.own_digest, relaxed);
    to.line().words[1].store(call.announced.what(), relaxed);
    to.line().words[2].store(call.announced.how_much(), relaxed);
    to.line().words[7].store(flags | call.communicator << flag_bits | std::uint64_t{digest} << 32, relaxed);
    to.line().words[0].store(to.turn, std::memory_order_release);
  }
};

}  // namespace hocket
