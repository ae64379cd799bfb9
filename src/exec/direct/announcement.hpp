// What a member tells the others at the start of a direct operation: one control line, and a second one where plain
// memory is to be read or a list of tensors is called.
#pragma once

#include <cstring>

#include "src/base/hash.hpp"
#include "src/plan/algorithm_id.hpp"
#include "src/plan/direct/staging.hpp"
#include "src/spi/signature.hpp"
#include "src/spi/window.hpp"

namespace hocket {

// A signature in the two words that a control line has for it, in clear but for the digest of a list, which has its
// place in the second line: the digest of all calls has it in, so that two words tell calls apart.
class AnnouncedCall {
 public:
  AnnouncedCall() = default;
  explicit AnnouncedCall(const Signature& call)
      : words_{std::uint64_t{static_cast<std::uint8_t>(call.kind)} |
                   std::uint64_t{static_cast<std::uint8_t>(call.wire)} << 4 |
                   std::uint64_t{static_cast<std::uint8_t>(call.collective)} << 8 |
                   std::uint64_t{static_cast<std::uint8_t>(call.dtype)} << 16 |
                   std::uint64_t{static_cast<std::uint8_t>(call.op)} << 24 |
                   std::uint64_t{static_cast<std::uint32_t>(call.root)} << 32,
               call.count | std::uint64_t{call.opaque_bytes} << count_bits} {}
  AnnouncedCall(std::uint64_t what, std::uint64_t how_much) : words_{what, how_much} {}

  std::uint64_t what() const { return words_[0]; }
  std::uint64_t how_much() const { return words_[1]; }
  bool is_list() const { return static_cast<SignatureKind>(words_[0] & 0xf) == SignatureKind::list; }

  Signature signature(std::uint64_t digest) const {
    return {.kind = static_cast<SignatureKind>(words_[0] & 0xf),
            .collective = static_cast<Collective>(words_[0] >> 8 & 0xff),
            .dtype = static_cast<DataType>(words_[0] >> 16 & 0xff),
            .op = static_cast<ReduceOp>(words_[0] >> 24 & 0xff),
            .wire = static_cast<WireFormat>(words_[0] >> 4 & 0xf),
            .opaque_bytes = static_cast<std::uint16_t>(words_[1] >> count_bits),
            .algorithm = direct_paths_id,
            .root = static_cast<Rank>(static_cast<std::uint32_t>(words_[0] >> 32)),
            .count = words_[1] & ((std::uint64_t{1} << count_bits) - 1),
            .digest = digest};
  }

  friend bool operator==(const AnnouncedCall&, const AnnouncedCall&) = default;

 private:
  static constexpr unsigned count_bits = 48;  // no memory holds 2^48 elements

  std::uint64_t words_[2] = {};
};

struct Announcement {
  enum Flag : std::uint32_t {
    inlined = 1,         // the input stands in the line itself, from word 3 on
    staged = 2,          // the input lies in the member's payload slot
    mapped = 4,          // both buffers are registered; words 3 to 5 say where
    plain = 8,           // this member can read all others' plain memory; the next line says where its own buffers are
    device = 16,         // both buffers lie on a GPU; the lines of exports say where, and word 3 on which
    by_descriptor = 32,  // some of this memory of a GPU is opened by descriptors, which the others must fetch
    fetches = 64,        // this member can fetch those of all others
  };
  static constexpr std::size_t inline_bytes_max = direct::inline_bytes_max;
  static constexpr std::uint32_t communicator_max = (1U << 24) - 1;

  AnnouncedCall call;
  std::uint64_t list_digest = 0;   // of the list of tensors, if the call is on one
  std::uint32_t communicator = 0;  // its number, modulo communicator_max + 1
  std::uint32_t digest = 0;        // of all calls on this window up to this one: equal calls, equal digests
  std::uint32_t flags = 0;
  RegionRef input, output;
  std::byte payload[inline_bytes_max] = {};
  std::uintptr_t input_at = 0, output_at = 0;
  std::uint64_t gpu = 0;  // a hash of its identity

  // `lines`: two of them. Into the first goes `bytes` of input, too, no more than inline_bytes_max.
  void write_with_input(ControlLine* lines, std::uint64_t turn, const std::byte* data, std::size_t bytes) const {
    constexpr std::size_t word_bytes = sizeof(std::uint64_t);
    std::size_t at = 0, word = 3;
    for (; at + word_bytes <= bytes; at += word_bytes) lines[0].words[word++].store(word_at(data + at), relaxed);
    if (at < bytes) {
      std::uint64_t rest = 0;
      std::memcpy(&rest, data + at, bytes - at);
      lines[0].words[word].store(rest, relaxed);
    }
    write_call(lines, turn);
  }
  void write(ControlLine* lines, std::uint64_t turn) const {
    ControlLine& line = lines[0];
    if ((flags & plain) != 0) {
      lines[1].words[0].store(input_at, relaxed);
      lines[1].words[1].store(output_at, relaxed);
    }
    const std::uint64_t regions = input.region | (std::uint64_t{output.region} << 32);
    line.words[3].store((flags & device) != 0 ? gpu : regions, relaxed);
    line.words[4].store(input.offset, relaxed);
    line.words[5].store(output.offset, relaxed);
    write_call(lines, turn);
  }

  // Requires that the first line's turn has been acquired.
  void read(const ControlLine* lines) {
    const ControlLine& line = lines[0];
    call = {line.words[1].load(relaxed), line.words[2].load(relaxed)};
    list_digest = call.is_list() ? lines[1].words[2].load(relaxed) : 0;
    const std::uint64_t words[4] = {line.words[3].load(relaxed), line.words[4].load(relaxed),
                                    line.words[5].load(relaxed), line.words[6].load(relaxed)};
    const std::uint64_t last = line.words[7].load(relaxed);
    flags = last & ((1U << flag_bits) - 1);
    communicator = static_cast<std::uint32_t>(last) >> flag_bits;
    digest = static_cast<std::uint32_t>(last >> 32);
    if (flags == inlined) {  // mostly; then nothing else is told
      std::memcpy(payload, words, inline_bytes_max);
      return;
    }
    if ((flags & plain) != 0) {
      input_at = lines[1].words[0].load(relaxed);
      output_at = lines[1].words[1].load(relaxed);
    }
    gpu = (flags & device) != 0 ? words[0] : 0;
    input = {.region = static_cast<std::uint32_t>(words[0]), .offset = words[1]};
    output = {.region = static_cast<std::uint32_t>(words[0] >> 32), .offset = words[2]};
  }

 private:
  static constexpr unsigned flag_bits = 8;
  static constexpr auto relaxed = std::memory_order_relaxed;

  static std::uint64_t word_at(const std::byte* data) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, sizeof word);
    return word;
  }
  void write_call(ControlLine* lines, std::uint64_t turn) const {
    if (call.is_list()) lines[1].words[2].store(list_digest, relaxed);
    lines[0].words[1].store(call.what(), relaxed);
    lines[0].words[2].store(call.how_much(), relaxed);
    lines[0].words[7].store(flags | communicator << flag_bits | std::uint64_t{digest} << 32, relaxed);
    lines[0].words[0].store(turn, std::memory_order_release);
  }
};

}  // namespace hocket
