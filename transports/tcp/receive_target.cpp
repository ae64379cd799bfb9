#include "transports/tcp/receive_target.hpp"

#include <algorithm>
#include <cstring>

#include "src/base/arithmetic.hpp"

namespace hocket::tcp {

std::span<std::byte> ReceiveTarget::area(const PostedReceive& receive, std::span<std::byte> staging) const {
  if (!receive.reduction.combines()) return {receive.to.data + got_, missing(receive)};
  const auto room = staging.subspan(leftover_.size());
  return room.first(std::min(room.size(), missing(receive)));
}

void ReceiveTarget::absorb(const PostedReceive& receive, std::size_t bytes, std::span<std::byte> staging) {
  if (!receive.reduction.combines()) {
    got_ += bytes;
    return;
  }
  if (!leftover_.empty()) std::memcpy(staging.data(), leftover_.data(), leftover_.size());
  const std::size_t total = leftover_.size() + bytes;
  const std::size_t whole = round_down(total, receive.reduction.element_bytes);
  if (whole > 0) receive.reduction.combine_part(receive.to.data, receive.mine, got_, staging.data(), whole);
  got_ += whole;
  const auto rest = staging.subspan(whole, total - whole);
  leftover_.assign(rest.begin(), rest.end());
}

void ReceiveTarget::absorb_whole(const PostedReceive& receive, const std::byte* payload) {
  if (receive.reduction.combines()) {
    receive.reduction.combine_part(receive.to.data, receive.mine, 0, payload, receive.to.bytes);
  } else {
    std::copy_n(payload, receive.to.bytes, receive.to.data);
  }
  got_ = receive.to.bytes;
}

}  // namespace hocket::tcp
