#pragma once

#include <array>
#include <cstddef>
#include <iterator>

#include "src/spi/byte_range.hpp"
#include "src/spi/collectives.hpp"
#include "src/spi/plain_reads.hpp"
#include "src/spi/signature.hpp"

namespace hocket {

// Which messages may stay in the plain memory of their sender until the receiver has read them there: of a collective,
// by number, those of so many bytes, and of ranks that send and receive as of Collective::send.
struct PlainMessages {
  std::array<ByteRange, std::size(collective_table)> of{};
  PlainReads reads = {};
  double read_ratio_max = 0;  // they do where a read takes at most so many times as long as a copy
  bool always = false;        // or whatever it takes

  bool include(const Signature& call, std::size_t bytes) const {
    const bool sends = call.kind == SignatureKind::send;
    if (!sends && (call.kind != SignatureKind::collective || !is_known(call.collective))) return false;
    return of[static_cast<std::size_t>(sends ? Collective::send : call.collective)].holds(bytes);
  }
  // `copy_now`: see PlainReads.
  bool pay(double copy_now) const { return always || reads.pay(read_ratio_max, copy_now); }
};

inline PlainMessages all_plain_messages() {
  PlainMessages all;
  all.of.fill(all_sizes);
  all.always = true;
  return all;
}

}  // namespace hocket
