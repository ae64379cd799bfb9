// What every transport says when a message does not fit its receive.
#pragma once

#include <cstddef>

#include "src/spi/transport.hpp"

namespace hocket {

struct MessageIdentity {
  Tag tag;
  std::size_t bytes = 0;

  friend bool operator==(const MessageIdentity&, const MessageIdentity&) = default;
};

// Code::mismatch: says what `peer` called (`got`) and what `rank`, which found out, called (`expected`), and on which
// communicators, as `names` describes them, where these differ.
Status mismatch(Rank rank, Rank peer, const MessageIdentity& got, const MessageIdentity& expected,
                const TransportListener& names);

}  // namespace hocket
