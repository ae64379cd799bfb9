#include "tools/doctor/process.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "src/base/process_identity.hpp"

namespace hocket::doctor {
namespace {

// Behind the name in parentheses stands the state: T where a signal stopped it, t where a debugger did.
bool is_stopped(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto name_ends = text.rfind(") ");
  return name_ends != text.npos && name_ends + 2 < text.size() && (text[name_ends + 2] | 0x20) == 't';
}

}  // namespace

ProcessState state_of(const Group& group, Rank rank) {
  for (const auto& [other, record] : group.records) {
    if (static_cast<std::size_t>(rank) >= record.processes.size()) continue;
    const auto identity = ProcessIdentity::parse(record.processes[static_cast<std::size_t>(rank)]);
    if (!identity) continue;
    ProcessState state{.process = fmt::format("process {} on host {}", identity->process, identity->host)};
    if (const auto alive = identity->is_alive()) {
      state.kind = !*alive                         ? ProcessState::Kind::ended
                   : is_stopped(identity->process) ? ProcessState::Kind::stopped
                                                   : ProcessState::Kind::runs;
    }
    return state;
  }
  return {};
}

}  // namespace hocket::doctor
