// What an agent, which is hocket-run on another host, is told to run there.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/status.hpp"
#include "tools/launch_process.hpp"

namespace hocket::launch {

struct Job {
  Place place;
  std::vector<std::string> command;
  std::vector<std::string> variables;  // NAME=value
  std::string folder;                  // the working directory
  std::string binding = "none";
  bool shared_heap = false;
  bool labelled = true;
  std::chrono::milliseconds grace{5000};
};

// One message for the agent's standard input; arguments and variables may hold any bytes.
std::string encode(const Job& job);
// What encode() made. Errors: PROTOCOL_ERROR.
Result<Job> decode(std::string_view message);

}  // namespace hocket::launch
