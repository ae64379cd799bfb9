// hocket-run as an agent: it looks after the ranks of one host for a launch elsewhere, to which standard input and
// output lead, by way of ssh for instance.
//
// It says on its output, a line each, of which the first character tells what it is:
//   hocket-agent VERSION CLIENT SERVER PORT   the launch's address and its own, as ssh sees them ("-": unknown), and a
//                                             port that is free here
//   oTEXT, eTEXT                              what a rank said on its output or error
//   dRANK STATUS                              a rank has ended, with this status of waitpid(2)
//   xSTATUS SENTENCE                          the ranks cannot be started; the exit status that this means
// It hears on its input "job BYTES" with a job behind it, then orders (launch_agent_input.hpp) and, so that both know
// of each other, "beat". When its input ends or stays silent, it ends its ranks.
#pragma once

#include <chrono>
#include <string>

namespace hocket::launch {

inline constexpr const char* agent_greeting = "hocket-agent ";

// The exit status.
int run_agent(std::chrono::milliseconds silence);

}  // namespace hocket::launch
