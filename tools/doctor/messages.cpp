#include "tools/doctor/messages.hpp"

#include <compare>
#include <map>

namespace hocket::doctor {
namespace {

// The messages of one call from one rank to another have an order, which is the same at both ends.
struct Lane {
  Rank from = no_rank, to = no_rank;
  std::uint32_t communicator = 0, number = 0;
  bool of_messages = false;  // sends and receives have numbers of their own

  auto operator<=>(const Lane&) const = default;
};

struct Ends {
  std::vector<const Step*> sent, received;
};

}  // namespace

std::vector<Message> messages_of(const Group& group) {
  std::map<Lane, Ends> lanes;
  for (const auto& [rank, record] : group.records) {
    for (const Step& step : record.steps) {
      const bool of_messages = step.call == "send" || step.call == "receive";
      if (step.sends()) {
        lanes[{rank, step.peer, step.communicator, step.number, of_messages}].sent.push_back(&step);
      } else if (step.receives()) {
        lanes[{step.peer, rank, step.communicator, step.number, of_messages}].received.push_back(&step);
      }
    }
  }
  std::vector<Message> messages;
  for (const auto& [lane, ends] : lanes) {
    if (ends.sent.size() != ends.received.size()) continue;
    for (std::size_t i = 0; i < ends.sent.size(); ++i) {
      messages.push_back({group.of(lane.from), group.of(lane.to), ends.sent[i], ends.received[i]});
    }
  }
  return messages;
}

}  // namespace hocket::doctor
