#include "src/exec/message_operation.hpp"

#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <utility>

#include "src/base/arithmetic.hpp"
#include "src/exec/operation_queue.hpp"
#include "src/exec/recorder.hpp"
#include "src/plan/slicing.hpp"

namespace hocket {
namespace {

// Writes the whole first half: a link that copies or compares the tag next reads that at once, and would have to wait
// for a part that has only just been written.
void renumber(Tag& tag, std::uint32_t sequence) {
  static_assert(offsetof(Tag, sequence) == sizeof tag.communicator && offsetof(Tag, call) == sizeof(std::uint64_t));
  std::uint64_t second = 0;
  std::memcpy(&second, &tag.call, sizeof second);
  const std::uint64_t first = std::uint64_t{sequence} << 32 | tag.communicator;
  const __m128i half = _mm_set_epi64x(std::bit_cast<long long>(second), std::bit_cast<long long>(first));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(&tag), half);
}

}  // namespace

MessageOperation::MessageOperation(std::shared_ptr<Context> context, Rank rank, bool sends, std::string_view algorithm)
    : Operation(std::move(context)),
      rank_(rank),
      direction_{{{.peer = this->context().peer_of(rank), .outgoing = sends}}},
      with_rank_(this->context().with(rank)),
      algorithm_(algorithm),
      shared_(this->context().shared()),
      steps_(shared_.steps) {
  arrival_.on_done = on_done;
  arrival_.operation = this;
}

void MessageOperation::on_done(Completion& completion, const Status& status) {
  MessageOperation& self = *static_cast<Arrival&>(completion).operation;
  --self.outstanding_;
  if (self.outstanding_ == 0 || !status.ok()) ++self.shared_.ended;
  if (!status.ok()) return self.fail(status);
  if (self.outstanding_ == 0 && self.steps_ != nullptr) self.steps_->end(self.record_);
}

// As a run before has prepared it, if one has. Steps are recorded of messages that take longer, too.
RanNow MessageOperation::run_now(Recorder& recorder) noexcept {
  if (!runs_at_once_ || is_bound_anew()) return RanNow::nothing;
  const std::uint64_t number = *latest_ + 1;
  renumber(sent_tag_, static_cast<std::uint32_t>(number));
  Counters& counters = context().counters();
  if (sends()) {
    if (!link_->send_now(sent_tag_, {binding().input, bytes_})) return RanNow::nothing;
    ++counters.steps;
    count_sent(counters, bytes_);
  } else {
    if (!link_->recv_now(sent_tag_, {binding().output, bytes_})) return RanNow::nothing;
    count_received(counters, bytes_);
  }
  *latest_ = number;
  set_number(number);
  recorder.add_message(*this, sent_tag_);
  keep_links(true);
  return RanNow::over;
}

Status MessageOperation::start(const Tag& tag, Peers& peers) {
  keep_links(link_ != nullptr);
  if (link_ == nullptr) {
    const auto link = peers.link(direction_.front().peer, deadline().later(OperationQueue::link_grace));
    if (!link.ok()) return link.status();
    link_ = *link;
    latest_ = &context().latest_message(direction_.front());
    if (sends()) set_link_to_wake(*link_);
  }
  tag_ = sent_tag_ = tag;
  sent_tag_.call = as_sent(tag.call);
  const std::size_t element_bytes = size_of(tag.call);
  bytes_ = tag.call.count * element_bytes;
  runs_at_once_ = steps_ == nullptr && bytes_ <= message_bytes_max;
  may_follow_ = !sends() && runs_at_once_ && bytes_ <= link_->now_max();
  if (steps_ != nullptr) record_ = steps_->begin(tag, sends() ? StepKind::send : StepKind::recv, rank_, bytes_);
  if (sends()) ++context().counters().steps;
  if (bytes_ <= message_bytes_max) {
    outstanding_ = 1;
    hand_over(sent_tag_, 0, bytes_);
    return {};
  }
  // Both ends cut alike, between elements.
  const std::size_t longest = round_down(message_bytes_max, element_bytes);
  outstanding_ = static_cast<std::uint32_t>(divide_up(bytes_, longest));
  for (std::size_t offset = 0; offset < bytes_; offset += longest) {
    hand_over(sent_tag_, offset, std::min(longest, bytes_ - offset));
  }
  return {};
}

void MessageOperation::count_piece(std::size_t bytes) {
  Counters& counters = context().counters();
  sends() ? count_sent(counters, bytes) : count_received(counters, bytes);
}

// A message of no bytes travels, too: who receives from any rank must hear of it.
void MessageOperation::hand_over(const Tag& tag, std::size_t offset, std::size_t bytes) {
  count_piece(bytes);
  if (sends()) {
    link_->send(tag, ConstBuffer(binding().input + offset, bytes), arrival_);
  } else {
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
