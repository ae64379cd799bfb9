// The messages of schedules, whose two ends two ranks have recorded.
#pragma once

#include <vector>

#include "tools/doctor/record.hpp"

namespace hocket::doctor {

struct Message {
  const Record* sender = nullptr;
  const Record* receiver = nullptr;
  const Step* sent = nullptr;
  const Step* received = nullptr;
};

// Of all ranks of a group. A call of which one side has recorded another number of messages than the other, because it
// goes on or lies too far back, is left out.
std::vector<Message> messages_of(const Group& group);

}  // namespace hocket::doctor
