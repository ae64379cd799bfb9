// What this host says of a rank's process.
#pragma once

#include <string>

#include "tools/doctor/record.hpp"

namespace hocket::doctor {

struct ProcessState {
  enum class Kind { unseen, runs, stopped, ended };  // unseen: it runs on another host, or nobody said which it is

  Kind kind = Kind::unseen;
  std::string process = {};  // "process 12 on host node0"; empty: not known

  // " (process 12 on host node0)", or nothing.
  std::string describe_process() const { return process.empty() ? "" : " (" + process + ")"; }
};

ProcessState state_of(const Group& group, Rank rank);

}  // namespace hocket::doctor
