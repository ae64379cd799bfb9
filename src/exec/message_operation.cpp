#include "src/exec/message_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/arithmetic.hpp"
#include "src/exec/operation_queue.hpp"
#include "src/plan/slicing.hpp"

namespace hocket {

MessageOperation::MessageOperation(std::shared_ptr<Context> context, Rank rank, bool sends, std::string_view algorithm)
    : Operation(std::move(context)),
      rank_(rank),
      algorithm_(algorithm),
      direction_{{{.peer = this->context().peer_of(rank), .outgoing = sends}}},
      with_rank_(this->context().with(rank)),
      steps_(this->context().steps()) {
  arrival_.on_done = on_done;
  arrival_.operation = this;
}

void MessageOperation::on_done(Completion& completion, const Status& status) {
  MessageOperation& self = *static_cast<Arrival&>(completion).operation;
  --self.outstanding_;
  if (!status.ok()) return self.fail(status);
  if (self.outstanding_ == 0 && self.steps_ != nullptr) self.steps_->end(self.record_);
}

Status MessageOperation::start(const Tag& tag, Peers& peers) {
  keep_links(link_ != nullptr);
  if (link_ == nullptr) {
    const auto link = peers.link(direction_.front().peer, deadline().later(OperationQueue::link_grace));
    if (!link.ok()) return link.status();
    link_ = *link;
  }
  tag_ = tag;
  Tag as_named = tag;
  as_named.call = as_sent(tag.call);
  const std::size_t element_bytes = size_of(tag.call), bytes = tag.call.count * element_bytes;
  if (steps_ != nullptr) record_ = steps_->begin(tag, sends() ? StepKind::send : StepKind::recv, rank_, bytes);
  if (bytes <= message_bytes_max) {
    outstanding_ = 1;
    hand_over(as_named, 0, bytes);
    return {};
  }
  // Both ends cut alike, between elements.
  const std::size_t longest = round_down(message_bytes_max, element_bytes);
  outstanding_ = static_cast<std::uint32_t>(divide_up(bytes, longest));
  for (std::size_t offset = 0; offset < bytes; offset += longest) {
    hand_over(as_named, offset, std::min(longest, bytes - offset));
  }
  return {};
}

// A message of no bytes travels, too: who receives from any rank must hear of it.
void MessageOperation::hand_over(const Tag& tag, std::size_t offset, std::size_t bytes) {
  Counters& counters = context().counters();
  if (sends()) {
    if (offset == 0) ++counters.steps;
    ++counters.messages_sent;
    counters.bytes_sent += bytes;
    with_rank_.sent(1, bytes);
    link_->send(tag, ConstBuffer(binding().input + offset, bytes), arrival_);
  } else {
    counters.bytes_received += bytes;
    with_rank_.received(1, bytes);
    link_->recv(tag, Buffer{binding().output + offset, bytes}, arrival_);
  }
}

void MessageOperation::tell_waiting(Rank missing, Rank witness) {
  link_->tell_waiting({.tag = tag_, .missing = missing, .witness = witness});
}

Operation::Missing MessageOperation::missing() const {
  if (outstanding_ == 0) return {};
  const Rank peer = direction_.front().peer;
  return {.peers = {peer}, .text = fmt::format("{} rank {}", sends() ? "sending to" : "receiving from", peer)};
}

}  // namespace hocket
