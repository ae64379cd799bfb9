// Who waits for whom.
#pragma once

#include <optional>
#include <vector>

#include "tools/doctor/record.hpp"

namespace hocket::doctor {

// A rank that waits, in what, and for whom in the end.
struct Blocked {
  const Record* waiter = nullptr;
  const Wait* wait = nullptr;
  Rank culprit = no_rank;
};

// Ranks that wait for each other in a circle, in its order; empty: there is none.
std::vector<Rank> circle_of_waits(const Group& group);
// The wait at whose end is `culprit`; no_rank: any rank that does not wait itself, the one for which most wait.
std::optional<Blocked> find_blocked(const Group& group, Rank culprit);
// The call in which a rank waits for that one, or else its first.
const Wait* wait_for(const Record& record, Rank awaited);

}  // namespace hocket::doctor
