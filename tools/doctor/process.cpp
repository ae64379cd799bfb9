#include "tools/doctor/process.hpp"

#include <fmt/format.h>

#include "src/base/process_identity.hpp"

namespace hocket::doctor {

ProcessState state_of(const Group& group, Rank rank) {
  for (const auto& [other, record] : group.records) {
    if (static_cast<std::size_t>(rank) >= record.processes.size()) continue;
    const auto identity = ProcessIdentity::parse(record.processes[static_cast<std::size_t>(rank)]);
    if (!identity) continue;
    ProcessState state{.process = fmt::format("process {} on host {}", identity->process, identity->host)};
    if (const auto alive = identity->is_alive()) {
      state.kind = !*alive                  ? ProcessState::Kind::ended
                   : identity->is_stopped() ? ProcessState::Kind::stopped
                                            : ProcessState::Kind::runs;
    }
    return state;
  }
  return {};
}

}  // namespace hocket::doctor
