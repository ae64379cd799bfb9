#include "src/comm/idle_operations.hpp"

#include <algorithm>

#include "src/exec/any_source_receive.hpp"

namespace hocket::comm {

std::shared_ptr<ScheduleOperation> IdleOperations::over_links(const PlanKey& key, bool persistent) {
  for (auto at = over_links_.rbegin(); at != over_links_.rend() && !persistent; ++at) {
    if (at->use_count() == 1 && (*at)->finished() && (*at)->plan().key == key) {
      std::rotate(at.base() - 1, at.base(), over_links_.end());
      return over_links_.back();
    }
  }
  auto made = std::make_shared<ScheduleOperation>(plans_.get(key), parts_.context);
  made->set_transports(TransportNames(parts_.link_set->mesh().routes().transports_of(made->directions())));
  if (persistent) return made;
  if (over_links_.size() ==
      operations_kept) {  // what somebody uses stays: it is theirs and this list's, see LatestCall
    const auto idle = std::ranges::find_if(over_links_, [](const auto& kept) { return kept.use_count() == 1; });
    if (idle == over_links_.end()) return made;
    over_links_.erase(idle);
  }
  over_links_.push_back(made);
  return made;
}

std::shared_ptr<DirectOperation> IdleOperations::over_window(bool persistent) {
  for (auto& operation : over_window_) {
    if (!persistent && operation.use_count() == 1 && operation->finished()) return operation;
  }
  auto made = std::make_shared<DirectOperation>(*parts_.window_use, parts_.context);
  made->set_transports(TransportNames(parts_.link_set->window_transport()));
  if (!persistent && over_window_.size() < operations_kept) over_window_.push_back(made);
  return made;
}

// The plans are those of receives from a named rank; but the operation may outlive the communicator, where that shares
// links, so the progressing thread has a cache of its own.
std::shared_ptr<Operation> IdleOperations::from_any(const PlanKey& key, std::int32_t* source) {
  constexpr std::size_t any_source_plans_kept = 64;
  if (!any_source_plans_) any_source_plans_ = std::make_shared<PlanCache>(any_source_plans_kept);
  const auto receive_from = [key, plans = any_source_plans_, context = parts_.context,
                             routes = &parts_.link_set->mesh().routes()](Rank rank) {
    PlanKey named = key;
    named.root = rank;
    auto receive = std::make_shared<ScheduleOperation>(plans->get(named), context);
    receive->set_transports(TransportNames(routes->transports_of(receive->directions())));
    return receive;
  };
  return std::make_shared<AnySourceReceive>(parts_.context, receive_from, source, key.algorithm->name);
}

}  // namespace hocket::comm
