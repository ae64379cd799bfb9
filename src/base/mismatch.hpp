// What every transport says when a message does not fit its receive.
#pragma once

#include <cstddef>

#include "hocket/spi/transport.hpp"

namespace hocket {

struct MessageIdentity {
  Tag tag;
  std::size_t bytes = 0;

  friend bool operator==(const MessageIdentity&, const MessageIdentity&) = default;
};

// Code::mismatch: names what `peer` called (`got`) and what `rank`, who found out, called (`expected`).
Status mismatch(Rank rank, Rank peer, const MessageIdentity& got, const MessageIdentity& expected);

}  // namespace hocket
