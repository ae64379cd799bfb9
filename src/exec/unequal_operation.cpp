#include "src/exec/unequal_operation.hpp"

#include <utility>

namespace hocket {

UnequalOperation::UnequalOperation(const std::shared_ptr<Context>& context, WindowUse& use,
                                   std::shared_ptr<const Plan> plan)
    : Operation(context, use.window, true), over_window_(use, context), over_links_(std::move(plan), context) {}

Status UnequalOperation::start(const Tag& tag, Peers& peers) {
  tag_ = tag;
  peers_ = &peers;
  return begin(over_window_);
}

Status UnequalOperation::begin(Operation& part) {
  now_ = &part;
  Binding its = binding();
  its.staging.reset();  // its data has been brought there
  part.bind(its);
  return part.start(tag_, *peers_);
}

bool UnequalOperation::advance(Counters& counters) {
  bool happened = false;
  while (!complete()) {
    happened |= now_->advance(counters);
    if (!now_->complete()) break;
    happened = true;
    Status status = now_->failure();
    if (status.ok() && now_ == &over_window_) status = begin(over_links_);
    if (!status.ok()) fail(status);
  }
  return happened;
}

}  // namespace hocket
