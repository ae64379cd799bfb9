#pragma once

#include <array>
#include <cstddef>
#include <iterator>

#include "src/spi/byte_range.hpp"
#include "src/spi/collectives.hpp"
#include "src/spi/signature.hpp"

namespace hocket {

// Which messages may stay in the plain memory of their sender until the receiver has read them there: of a collective,
// by number, those of so many bytes, and of ranks that send and receive as of Collective::send.
struct PlainMessages {
  std::array<ByteRange, std::size(collective_table)> of{};

  bool include(const Signature& call, std::size_t bytes) const {
    const bool sends = call.kind == SignatureKind::send;
    if (!sends && (call.kind != SignatureKind::collective || !is_known(call.collective))) return false;
    return of[static_cast<std::size_t>(sends ? Collective::send : call.collective)].holds(bytes);
  }
  friend bool operator==(const PlainMessages&, const PlainMessages&) = default;
};

inline PlainMessages all_plain_messages() {
  PlainMessages all;
  all.of.fill(all_sizes);
  return all;
}

}  // namespace hocket
