// IdleOperations: a communicator's operations that may run again, and the plans that they run: a call like an earlier
// one finds its plan made and its memory set aside.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/comm/communicator_parts.hpp"
#include "src/exec/direct/direct_operation.hpp"
#include "src/exec/schedule_operation.hpp"
#include "src/plan/plan.hpp"

namespace hocket::comm {

// Thread rule: one thread at a time.
class IdleOperations {
 public:
  // `parts` outlive it.
  explicit IdleOperations(const CommunicatorParts& parts) : parts_(parts), plans_(plans_kept) {}

  // One that runs this plan and that nobody uses any more, or a new one; a persistent one is its caller's alone.
  std::shared_ptr<ScheduleOperation> over_links(const PlanKey& key, bool persistent = false);
  // The same for what runs over the window, which must be there.
  std::shared_ptr<DirectOperation> over_window(bool persistent = false);
  // A receive from any rank: `key` names that of one rank, and `source`, which may be null, is where to put the rank.
  std::shared_ptr<Operation> from_any(const PlanKey& key, std::int32_t* source);

 private:
  static constexpr std::size_t plans_kept = 256;
  static constexpr std::size_t operations_kept = 16;

  const CommunicatorParts& parts_;
  PlanCache plans_;
  std::shared_ptr<PlanCache> any_source_plans_;  // the progressing thread's; null: not needed yet
  // Latest used last; those that only this vector holds may run again.
  std::vector<std::shared_ptr<ScheduleOperation>> over_links_;
  std::vector<std::shared_ptr<DirectOperation>> over_window_;
};

}  // namespace hocket::comm
