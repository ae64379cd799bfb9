// Who came last to calls.
#pragma once

#include <string>

#include "src/spi/types.hpp"
#include "tools/doctor/record.hpp"

namespace hocket::doctor {

// Of the ranks that have made a collective, which some have, the one that began it last.
const Record& last_to_begin(const Group& group, const Call& call);
// A rank that has not made a collective in which this one waits: one whose record says so, or else one without a
// record; no_rank: there is none.
Rank yet_to_come(const Group& group, const Record& waiter, const Call& call);
// The latest collective of a rank that has ended; null: none has.
const Call* last_ended(const Record& record);
// Whether that is a later one of the same communicator.
bool is_past(const Record& record, const Call& call);
// Who came last to the calls of all, and how late on average: the end of a sentence; empty: there were none.
std::string latecomer(const Group& group);

}  // namespace hocket::doctor
