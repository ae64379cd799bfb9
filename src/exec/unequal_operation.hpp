// UnequalOperation: a collective whose blocks vary and of which some are too large for announcements. The others move
// over the window; then these do over links. Both ends of a block know which way it takes, so ranks whose blocks are
// all small run a DirectOperation alone.
#pragma once

#include "src/exec/direct/direct_operation.hpp"
#include "src/exec/schedule_operation.hpp"

namespace hocket {

class UnequalOperation final : public Operation {
 public:
  // `plan`: of what goes over links. `use` outlives the operation, and the context's ranks are the window's.
  UnequalOperation(const std::shared_ptr<Context>& context, WindowUse& use, std::shared_ptr<const Plan> plan);

  const Plan& plan() const { return over_links_.plan(); }
  // As those of a DirectOperation: all of the call.
  void set_blocks(std::shared_ptr<const UnequalBlocks> blocks) { over_window_.set_blocks(std::move(blocks)); }
  Status start(const Tag& tag, Peers& peers) override;
  bool advance(Counters& counters) override;
  bool complete() const override { return (now_ == &over_links_ && now_->complete()) || !failure().ok(); }
  std::span<const Direction> directions() const override { return over_links_.directions(); }
  bool can_do_without(Rank peer) const override { return now_->can_do_without(peer); }
  void before_sleep() override { now_->before_sleep(); }
  void tell_waiting(Rank missing, Rank witness) override { now_->tell_waiting(missing, witness); }
  Missing missing() const override { return now_->missing(); }
  Rank awaited() const override { return now_->awaited(); }
  void withdraw() override { now_->withdraw(); }
  // Of what is large.
  std::string_view algorithm() const override { return over_links_.algorithm(); }

 private:
  Status begin(Operation& part);

  DirectOperation over_window_;
  ScheduleOperation over_links_;
  Operation* now_ = &over_window_;
  Tag tag_;
  Peers* peers_ = nullptr;
};

}  // namespace hocket
