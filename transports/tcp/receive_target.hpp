// ReceiveTarget: where the payload of a posted receive goes. What is not combined lands where it belongs; what is to be
// reduced passes through a small staging buffer that stays in cache, and an element may come in two parts.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "src/spi/transport.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::tcp {

struct PostedReceive {
  Frame expected{};                 // the header that must come
  Buffer to{};                      // for this stream's share of the message
  const std::byte* mine = nullptr;  // for a reduction
  Reduction reduction{};            // no kernel: the bytes just land in `to`
  Completion* completion = nullptr;
};

class ReceiveTarget {
 public:
  std::size_t missing(const PostedReceive& receive) const { return receive.to.bytes - got_ - leftover_.size(); }
  // Memory for the bytes that come next, up to all that are missing. `staging` is the caller's scratch memory, and the
  // same until absorb().
  std::span<std::byte> area(const PostedReceive& receive, std::span<std::byte> staging) const;
  // `bytes` have come into the area.
  void absorb(const PostedReceive& receive, std::size_t bytes, std::span<std::byte> staging);
  // All of it is here, at `payload`.
  void absorb_whole(const PostedReceive& receive, const std::byte* payload);
  // For the next receive.
  void reset() {
    got_ = 0;
    leftover_.clear();
  }

 private:
  std::size_t got_ = 0;              // bytes that are in place
  std::vector<std::byte> leftover_;  // of an element that came in part
};

}  // namespace hocket::tcp
