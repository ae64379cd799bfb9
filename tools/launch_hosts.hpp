// On which hosts a launch starts its ranks.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/status.hpp"

namespace hocket::launch {

struct Host {
  std::string name;  // as ssh takes it
  int slots = 0;     // ranks that it may run; 0: not said
};

// A host and the ranks that run there: `count` from `first` on.
struct Share {
  std::string name;
  int first = 0;
  int count = 0;
};

struct Hosts {
  std::vector<Share> shares;
  std::vector<std::string> ssh{"ssh"};        // the command, and its options
  std::string remote_program = {};            // hocket-run there; empty: where it is here
  std::string address = {};                   // of this host, or an interface of it; empty: what the hosts see
  std::vector<std::string> variables = {};    // names of variables that ranks get besides HOCKET_*
  std::chrono::milliseconds timeout{15'000};  // without a word, a host counts as lost after this
};

// "a,b:4,user@c,[fd77::1]:2". Errors: INVALID_ARGUMENT.
Result<std::vector<Host>> parse_hosts(std::string_view list);
// A host on each line: "a", "a:4" or "a slots=4", and comments after "#". Errors: INVALID_ARGUMENT, NOT_FOUND.
Result<std::vector<Host>> read_hosts(const std::string& file);
// Fills hosts in their order. Those that name no slots share evenly what the others leave. `ranks` 0: a rank for each
// slot. Hosts that get none are left out. Errors: INVALID_ARGUMENT.
Result<std::vector<Share>> share_out(const std::vector<Host>& hosts, int ranks);
// Splits a command as the shell does, with quotes, "~" and variables. Errors: INVALID_ARGUMENT.
Result<std::vector<std::string>> split_command(const std::string& text);

}  // namespace hocket::launch
