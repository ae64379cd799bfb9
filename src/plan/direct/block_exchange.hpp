// BlockExchange: what scatter_v, gather_v and alltoall_v do over a window, as one member sees it. Only the two ends of
// a block know how large it is. (Of allgather_v and reduce_scatter_v all members know all sizes; an Exchange has
// these.)
//
// Each member announces what the others need of its input, its payload, and takes what it needs of theirs, so all of it
// is small. A payload begins with the sizes of the blocks that its member gives, by which the other end finds its own
// block and finds out whether both mean the same size; then come these blocks, one behind the other. A block that is
// too large travels over links. Both its ends know that, and a payload has its size nevertheless.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "src/base/copy_small.hpp"
#include "src/plan/direct/exchange.hpp"
#include "src/plan/direct/path.hpp"
#include "src/plan/direct/staging.hpp"
#include "src/plan/layout.hpp"

namespace hocket {

class BlockExchange {
 public:
  using Size = std::uint64_t;  // of a block, in elements, as payloads have it

  // Whose view it is.
  struct Place {
    std::uint32_t self = 0, root = 0, members = 1;
  };
  // Bytes with another member.
  struct Traffic {
    std::size_t given = 0, taken = 0;
  };
  // What this member takes out of another one's payload.
  struct Taken {
    std::uint32_t source = 0;
    Size size = 0;           // that it must have
    std::size_t offset = 0;  // bytes into the output
    std::size_t bytes = 0;   // 0: it travels over links, or is empty
  };

  // The largest block that goes with an announcement: so many fit into one payload.
  static constexpr std::size_t block_bytes_max(std::uint32_t members) {
    return std::min(direct::one_way_bytes_max, direct::payload_bytes_max / members - sizeof(Size));
  }

  BlockExchange() = default;
  BlockExchange(const Signature& call, const UnequalBlocks& blocks, const Place& place);

  // False: there is no such call.
  bool packs() const { return packs_; }
  std::size_t payload_bytes() const { return sizes_bytes_ + block_bytes_; }
  std::size_t block_bytes() const { return block_bytes_; }  // of the blocks in it
  // `copy` takes to where, the offset in the input and how many bytes. Requires packs().
  template <class Copy>
  [[gnu::always_inline]] void pack(std::byte* payload, const Copy& copy) const {
    copy_small(payload, reinterpret_cast<const std::byte*>(sizes_.data()), sizes_bytes_);
    payload += sizes_bytes_;
    for (const Stretch& stretch : packed_) {
      copy(payload, stretch.offset, stretch.bytes);
      payload += stretch.bytes;
    }
  }

  // What this member takes of its own input.
  std::span<const Part> parts() const { return parts_; }
  std::span<const Taken> taken() const { return taken_; }
  // The size that another one's payload has for this member's block, and where that lies.
  Size size_in(const std::byte* payload) const { return size_at(payload + own_size_in_payloads_); }
  const std::byte* block_in(const std::byte* payload) const {
    const std::byte* block = payload + blocks_in_payloads_;
    for (const std::byte* size = payload; size != payload + own_size_in_payloads_; size += sizeof(Size)) {
      block += packed_bytes(size_at(size));
    }
    return block;
  }

  std::span<const Traffic> traffic() const { return traffic_; }  // by member

  // The same call for links: without the blocks that go with announcements. Nothing: all do.
  static std::optional<UnequalBlocks> over_links(const Signature& call, const UnequalBlocks& blocks,
                                                 const Place& place);

 private:
  struct Stretch {
    std::size_t offset = 0, bytes = 0;
  };

  void list_packed(const CollectiveInfo& collective, const UnequalBlocks& blocks);
  void give(std::uint32_t target, const UnequalBlocks::Block& block);
  void take(std::uint32_t source, const UnequalBlocks::Block& block);
  static Size size_at(const std::byte* place) {
    Size size;
    std::memcpy(&size, place, sizeof size);
    return size;
  }
  std::size_t packed_bytes(Size size) const { return size <= size_max_ ? size * element_bytes_ : 0; }

  Place place_;
  std::size_t element_bytes_ = 1;
  Size size_max_ = 0;  // of a block that does not travel over links
  bool packs_ = false;
  // Where another one's payload has the size of this member's block, and where its blocks begin; in bytes.
  std::size_t own_size_in_payloads_ = 0, blocks_in_payloads_ = 0;
  std::size_t block_bytes_ = 0;
  std::vector<Size> sizes_;      // with which the payload begins
  std::size_t sizes_bytes_ = 0;  // of these
  std::vector<Stretch> packed_;  // of the input, then
  std::vector<Part> parts_;
  std::vector<Taken> taken_;
  std::vector<Traffic> traffic_;
};

}  // namespace hocket
