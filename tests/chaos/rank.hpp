// What each rank of a run does: it calls what the seed says, checks every element, and goes on after every break.
#pragma once

#include "tests/chaos/plan.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::chaos {

// Says to the parent, each with the nanoseconds of the steady clock:
//   "broke NANOSECONDS RESULT PEER ASKED"  a call failed that began at the nanoseconds ASKED; PEER counts the ranks of
//                                       the first communicator
//   "works NANOSECONDS MEMBERS"         the first collective on a communicator has passed on this rank; a bit for each
//   "chose LOCAL REMOTE" or "none"      the ports of a TCP connection
//   "excluded", "ended", "failed TEXT"  that is the end
// and hears: "choose NUMBER", "cut" (what was chosen), "end" (when all have heard it, all end), "leave" (nobody needs
// this rank any more).
void be_rank(const Plan& plan, process_testing::Child& child);

// Creates a communicator and calls until that fails. Says "broke …" once; 1 as PEER's first letter says nothing then.
void be_rank_of_creation(const Plan& plan, process_testing::Child& child);

}  // namespace hocket::chaos
