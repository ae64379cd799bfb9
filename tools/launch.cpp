#include "tools/launch.hpp"

#include <filesystem>
#include <string_view>

#include "tools/launch_local.hpp"
#include "tools/launch_loop.hpp"
#include "tools/launch_remote.hpp"

namespace hocket::launch {

std::vector<std::string> own_command(int argc, const char* const* argv) {
  std::vector<std::string> command = {std::filesystem::read_symlink("/proc/self/exe")};
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--ranks") {
      ++i;  // its value
    } else if (!argument.starts_with("--ranks=")) {
      command.emplace_back(argument);
    }
  }
  return command;
}

int run(const Options& options) {
  const Signals signals;
  Relays relays;
  if (options.hosts) {
    RemoteRanks ranks(options, relays);
    return Launch(options, signals, relays, ranks).run();
  }
  LocalRanks ranks(options, relays);
  return Launch(options, signals, relays, ranks).run();
}

}  // namespace hocket::launch
