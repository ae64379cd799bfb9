// hocket-plan for the tests that run it.
#pragma once

#include <string>

#include "tests/process/program.hpp"

namespace hocket {

inline Ran hocket_plan(const std::string& arguments) {
  return run_command("\"$PLAN\" " + arguments);
}
// With standard error in `out`, too.
inline Ran plan_says(const std::string& arguments) {
  return hocket_plan(arguments + " 2>&1");
}

}  // namespace hocket
