// Who came last to calls.
#pragma once

#include <string>

#include "tools/doctor/record.hpp"

namespace hocket::doctor {

// Of the ranks that have made a collective, which some have, the one that began it last.
const Record& last_to_begin(const Group& group, const Call& call);
// Who came last to the calls of all, and how late on average: the end of a sentence; empty: there were none.
std::string latecomer(const Group& group);

}  // namespace hocket::doctor
