#include "src/comm/idle_operations.hpp"

#include <algorithm>

#include "src/exec/any_source_receive.hpp"

namespace hocket::comm {
namespace {

// One of `kept` that fits and that nobody uses any more; null: there is none.
template <class Kind, class Fits>
std::shared_ptr<Kind> idle_one(std::vector<std::shared_ptr<Kind>>& kept, const Fits& fits) {
  for (auto at = kept.rbegin(); at != kept.rend(); ++at) {
    if (at->use_count() == 1 && (*at)->finished() && fits(**at)) {
      std::rotate(at.base() - 1, at.base(), kept.end());
      return kept.back();
    }
  }
  return nullptr;
}

// In place of the one that was used longest ago. What somebody uses stays: it is theirs and this list's, see
// LatestCall.
template <class Kind>
void keep(std::vector<std::shared_ptr<Kind>>& kept, const std::shared_ptr<Kind>& made, std::size_t most) {
  if (kept.size() == most) {
    const auto idle = std::ranges::find_if(kept, [](const auto& one) { return one.use_count() == 1; });
    if (idle == kept.end()) return;
    kept.erase(idle);
  }
  kept.push_back(made);
}

}  // namespace

std::shared_ptr<ScheduleOperation> IdleOperations::over_links(const PlanKey& key, bool persistent) {
  const auto runs_it = [&](const ScheduleOperation& operation) { return operation.plan().key == key; };
  if (auto idle = persistent ? nullptr : idle_one(over_links_, runs_it)) return idle;
  auto made = std::make_shared<ScheduleOperation>(plans_.get(key), parts_.context);
  made->set_transports(TransportNames(parts_.link_set->mesh().routes().transports_of(made->directions())));
  if (!persistent) keep(over_links_, made, operations_kept);
  return made;
}

std::shared_ptr<MessageOperation> IdleOperations::message(Rank rank, bool sends, std::string_view algorithm,
                                                          bool persistent) {
  const auto goes_there = [&](const MessageOperation& operation) {
    return operation.rank() == rank && operation.sends() == sends;
  };
  if (auto idle = persistent ? nullptr : idle_one(messages_, goes_there)) return idle;
  auto made = std::make_shared<MessageOperation>(parts_.context, rank, sends, algorithm);
  const auto other = std::ranges::find_if(
      messages_, [&](const auto& kept) { return goes_there(*kept) && kept->algorithm() == algorithm; });
  if (other != messages_.end()) {
    made->set_manner((*other)->manner());
  } else {
    made->set_transports(TransportNames(parts_.link_set->mesh().routes().transports_of(made->directions())));
  }
  if (!persistent) keep(messages_, made, messages_kept);
  return made;
}

std::shared_ptr<DirectOperation> IdleOperations::over_window(bool persistent, const SharedBlocks& blocks) {
  const auto runs_all = [](const DirectOperation&) { return true; };
  auto operation = persistent ? nullptr : idle_one(over_window_, runs_all);
  if (!operation) {
    operation = std::make_shared<DirectOperation>(*parts_.window_use, parts_.context);
    operation->set_transports(TransportNames(parts_.window_use->transport));
    if (!persistent && over_window_.size() < operations_kept) over_window_.push_back(operation);
  }
  operation->set_blocks(blocks.table);
  return operation;
}

std::shared_ptr<UnequalOperation> IdleOperations::over_window_and_links(const PlanKey& key, const SharedBlocks& blocks,
                                                                        bool persistent) {
  const auto runs_it = [&](const UnequalOperation& operation) { return operation.plan().key == key; };
  auto operation = persistent ? nullptr : idle_one(over_window_and_links_, runs_it);
  if (!operation) {
    operation = std::make_shared<UnequalOperation>(parts_.context, *parts_.window_use, plans_.get(key));
    const auto& routes = parts_.link_set->mesh().routes();
    operation->set_transports(TransportNames(routes.transports_of(operation->directions())));
    if (!persistent) keep(over_window_and_links_, operation, operations_kept);
  }
  operation->set_blocks(blocks.table);
  return operation;
}

std::shared_ptr<TwoLevelOperation> IdleOperations::over_host_windows(const TwoLevelOperation::Key& key,
                                                                     const std::shared_ptr<Context>& leaders,
                                                                     bool persistent) {
  const auto runs_it = [&](const TwoLevelOperation& operation) { return operation.key() == key; };
  if (auto idle = persistent ? nullptr : idle_one(over_host_windows_, runs_it)) return idle;
  const HostLevels& levels = *parts_.levels;
  const TwoLevelOperation::Place place{levels.window_use(), levels.on_host(), leaders};
  auto made = std::make_shared<TwoLevelOperation>(parts_.context, key, place,
                                                  leaders != nullptr ? plans_.get(key.between) : nullptr);
  std::string transports(levels.window_use() != nullptr ? levels.window_use()->transport : std::string_view());
  if (leaders != nullptr) {
    if (!transports.empty()) transports += '+';
    transports += parts_.link_set->mesh().routes().transports_of(made->directions());
  }
  made->set_transports(TransportNames(transports));
  if (!persistent) keep(over_host_windows_, made, operations_kept);
  return made;
}

std::shared_ptr<Operation> IdleOperations::from_any(std::int32_t* source, std::string_view algorithm) {
  const auto receive_from = [algorithm, context = parts_.context,
                             routes = &parts_.link_set->mesh().routes()](Rank rank) {
    auto receive = std::make_shared<MessageOperation>(context, rank, false, algorithm);
    receive->set_transports(TransportNames(routes->transports_of(receive->directions())));
    return receive;
  };
  return std::make_shared<AnySourceReceive>(parts_.context, receive_from, source, algorithm);
}

}  // namespace hocket::comm
