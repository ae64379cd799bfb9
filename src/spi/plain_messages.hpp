#pragma once

#include <array>
#include <cstddef>
#include <iterator>

#include "src/spi/byte_range.hpp"
#include "src/spi/collectives.hpp"
#include "src/spi/plain_reads.hpp"
#include "src/spi/signature.hpp"

namespace hocket {

// What is shorter passes through a ring, where its sender need not wait for the receiver.
inline constexpr std::size_t in_place_bytes_min = std::size_t{64} << 10;
// The same between two ranks with a core each.
inline constexpr std::size_t in_place_bytes_min_of_two = std::size_t{32} << 10;

// Which messages may stay in the plain memory of their sender until the receiver has read them there: of a collective,
// by number, those of so many bytes, or of blocks of so many, where only two ranks know a block, which may travel as
// several messages; and of ranks that send and receive as of Collective::send.
struct PlainMessages {
  std::array<ByteRange, std::size(collective_table)> of{};
  PlainReads reads = {};
  double read_ratio_max = 0;                   // where a read takes at most so many times as long as a copy
  bool weigh_copies = false;                   // which is the one that the sender would make, else that of `reads`
  std::size_t bytes_min = in_place_bytes_min;  // of any message, from registered memory as well
  bool always = false;                         // whatever a read takes, and whichever way the data goes

  bool include(const Signature& call, std::size_t bytes) const {
    if (call.kind == SignatureKind::send) return of[static_cast<std::size_t>(Collective::send)].holds(bytes);
    if (call.kind != SignatureKind::collective || !is_known(call.collective)) return false;
    const CollectiveInfo& info = info_of(call.collective);
    const bool is_of_block = info.has_unequal_blocks() && !info.all_know_blocks();
    return of[static_cast<std::size_t>(call.collective)].holds(is_of_block ? call.count * size_of(call) : bytes);
  }
  // Whether staying pays a sender; `copy_now`: see PlainReads.
  bool pay(double copy_now) const { return always || reads.pay(read_ratio_max, weigh_copies ? copy_now : 0); }
};

// Whether the receive of a sendrecv begins before the send: a link leaves a send in its place only while its rank waits
// for long data, too.
inline bool receive_begins_first(const Signature& receive) {
  return receive.count * size_of(receive) >= in_place_bytes_min;
}

inline PlainMessages all_plain_messages() {
  PlainMessages all;
  all.of.fill(all_sizes);
  all.always = true;
  return all;
}

}  // namespace hocket
