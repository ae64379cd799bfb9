// AnySourceReceive: receives the first message that any peer sends, and tells from whom it came. The executor finds a
// peer whose message waits; from then on it is the receive from that peer, run by an operation as any other.
#pragma once

#include <functional>
#include <memory>

#include "src/exec/message_operation.hpp"

namespace hocket {

class AnySourceReceive final : public Operation {
 public:
  // An operation that receives from this rank, ready to be bound. Called by the thread that progresses; may not call
  // the executor.
  using ReceiveFrom = std::function<std::shared_ptr<MessageOperation>(Rank source)>;

  // `source`: where to put the rank that the message came from, before the operation is finished; may be null.
  AnySourceReceive(std::shared_ptr<Context> context, ReceiveFrom receive_from, std::int32_t* source,
                   std::string_view algorithm)
      : Operation(std::move(context)), receive_from_(std::move(receive_from)), source_(source), algorithm_(algorithm) {}

  bool needs_source() const override { return !receive_; }
  void take_from(Rank peer) override;

  Status start(const Tag& tag, Peers& peers) override { return receive_->start(tag, peers); }
  bool advance(Counters& counters) override;
  bool complete() const override { return receive_ && receive_->complete(); }
  std::span<const Direction> directions() const override;
  void tell_waiting(Rank missing, Rank witness) override {
    if (receive_) receive_->tell_waiting(missing, witness);
  }
  // Nobody in particular, as long as no message has been found.
  Missing missing() const override { return receive_ ? receive_->missing() : Missing(); }
  Rank awaited() const override { return receive_ ? receive_->awaited() : no_rank; }
  std::string_view algorithm() const override { return algorithm_; }

 private:
  const ReceiveFrom receive_from_;
  std::int32_t* const source_;
  const std::string_view algorithm_;
  Rank from_ = no_rank;
  std::shared_ptr<MessageOperation> receive_;  // null: no message has been found yet
};

}  // namespace hocket
