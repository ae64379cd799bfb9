// A call as the members of a window tell it each other and compare it.
#pragma once

#include <cstdint>
#include <optional>

#include "src/base/hash.hpp"
#include "src/plan/algorithm_id.hpp"
#include "src/spi/signature.hpp"

namespace hocket {

// A signature in the two words that a control line has for it, in clear but for a digest of its own (of a list, or of
// counts), which has its place in the second line: the digest of all calls has it in, so that two words tell calls
// apart.
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
               (call.count & count_mask) | std::uint64_t{call.opaque_bytes} << count_bits} {}
  AnnouncedCall(std::uint64_t what, std::uint64_t how_much) : words_{what, how_much} {}

  std::uint64_t what() const { return words_[0]; }
  std::uint64_t how_much() const { return words_[1]; }
  // Whether it has a digest.
  bool has_digest() const {
    if (static_cast<SignatureKind>(words_[0] & 0xf) == SignatureKind::list) return true;
    const CollectiveInfo& collective = info_of(static_cast<Collective>(words_[0] >> 8 & 0xff));
    return collective.has_unequal_blocks() && collective.all_know_blocks();
  }

  Signature signature(std::uint64_t digest) const {
    return {.kind = static_cast<SignatureKind>(words_[0] & 0xf),
            .collective = static_cast<Collective>(words_[0] >> 8 & 0xff),
            .dtype = static_cast<DataType>(words_[0] >> 16 & 0xff),
            .op = static_cast<ReduceOp>(words_[0] >> 24 & 0xff),
            .wire = static_cast<WireFormat>(words_[0] >> 4 & 0xf),
            .opaque_bytes = static_cast<std::uint16_t>(words_[1] >> count_bits),
            .algorithm = direct_paths_id,
            .root = static_cast<Rank>(static_cast<std::uint32_t>(words_[0] >> 32)),
            .count = count(),
            .digest = digest};
  }

  friend bool operator==(const AnnouncedCall&, const AnnouncedCall&) = default;

 private:
  static constexpr unsigned count_bits = 48;  // no memory holds 2^48 elements, but a count may be unknown
  static constexpr std::uint64_t count_mask = (std::uint64_t{1} << count_bits) - 1;

  std::uint64_t count() const {
    const std::uint64_t count = words_[1] & count_mask;
    return count == count_mask ? Signature::unknown_count : count;
  }

  std::uint64_t words_[2] = {};
};

// What is compared of a call and is the same whenever it is made again.
struct ComparedCall {
  ComparedCall() = default;
  ComparedCall(const Signature& call, std::uint32_t its_communicator)
      : announced(call),
        own_digest(call.digest),
        has_digest(announced.has_digest()),
        communicator(its_communicator),
        hash(Hash().add(announced.what()).add(announced.how_much()).add(own_digest).add(communicator).value()) {}

  Signature signature() const { return announced.signature(own_digest); }
  // Of all calls on a window up to this one, and their numbers in their communicators, where calls over links are
  // counted too. `before`: of those before it; `number`: of this one. The upper half of a product depends on all bits
  // of both factors, and every small call waits for it.
  std::uint32_t digest_after(std::uint32_t before, std::uint32_t number) const {
    constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;
    return static_cast<std::uint32_t>((((before ^ hash) + number) * golden_ratio) >> 32);
  }
  // Of this call under another number, of which only the digest is known: that number; nothing where none near `number`
  // makes such a digest.
  std::optional<std::uint32_t> number_behind(std::uint32_t digest, std::uint32_t before, std::uint32_t number) const;

  friend bool operator==(const ComparedCall&, const ComparedCall&) = default;

  AnnouncedCall announced{Signature{}};
  std::uint64_t own_digest = 0;  // of this call alone, see Signature
  bool has_digest = false;
  std::uint32_t communicator = 0;
  std::uint64_t hash = 0;  // of all these
};

}  // namespace hocket
