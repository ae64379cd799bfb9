// Receives from any rank, as a communicator makes them.
#include "src/comm/communicator.hpp"
#include "src/exec/any_source_receive.hpp"

namespace hocket {
namespace {

constexpr std::size_t plans_kept = 64;

}  // namespace

// Requires plans_mutex_. The plans are those of receives from a named rank; but the operation may outlive the
// communicator, where that shares links, so the thread that progresses has a cache of its own.
std::shared_ptr<Operation> Communicator::any_source_receive(const PlanKey& key, std::int32_t* source) {
  if (!any_source_plans_) any_source_plans_ = std::make_shared<PlanCache>(plans_kept);
  const auto receive_from = [key, plans = any_source_plans_, context = parts_.context,
                             link_set = parts_.link_set.get()](Rank rank) {
    PlanKey named = key;
    named.root = rank;
    auto receive = std::make_shared<ScheduleOperation>(plans->get(named), context);
    receive->set_transports(link_set->mesh().routes().transports_of(receive->directions()));
    return receive;
  };
  return std::make_shared<AnySourceReceive>(parts_.context, receive_from, source, key.algorithm->name);
}

}  // namespace hocket
