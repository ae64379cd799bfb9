// IdleOperations: a communicator's operations that may run again, and the plans that they run: a call like an earlier
// one finds its plan made and its memory set aside.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "src/comm/communicator_parts.hpp"
#include "src/exec/direct/direct_operation.hpp"
#include "src/exec/message_operation.hpp"
#include "src/exec/schedule_operation.hpp"
#include "src/exec/two_level_operation.hpp"
#include "src/exec/unequal_operation.hpp"
#include "src/plan/plan.hpp"

namespace hocket::comm {

// Thread rule: one thread at a time.
class IdleOperations {
 public:
  // `parts` outlive it.
  explicit IdleOperations(const CommunicatorParts& parts) : parts_(parts), plans_(plans_kept) {}

  // One that runs this plan and that nobody uses any more, or a new one; a persistent one is its caller's alone.
  std::shared_ptr<ScheduleOperation> over_links(const PlanKey& key, bool persistent = false);
  // The same for what runs over the window, which must be there. `blocks`: as for DirectOperation::set_blocks().
  std::shared_ptr<DirectOperation> over_window(bool persistent = false, const SharedBlocks& blocks = {});
  // The same where some of these run this plan over links.
  std::shared_ptr<UnequalOperation> over_window_and_links(const PlanKey& key, const SharedBlocks& blocks,
                                                          bool persistent = false);
  // The same for what runs over the windows of several hosts, which must be there. `leaders`: null where it is none.
  std::shared_ptr<TwoLevelOperation> over_host_windows(const TwoLevelOperation::Key& key,
                                                       const std::shared_ptr<Context>& leaders,
                                                       bool persistent = false);
  // The same for a message to a rank, or from one. `algorithm`: what people call this way; static.
  std::shared_ptr<MessageOperation> message(Rank rank, bool sends, std::string_view algorithm, bool persistent = false);
  // A receive from any rank. `source`, which may be null: where to put the rank.
  std::shared_ptr<Operation> from_any(std::int32_t* source, std::string_view algorithm);

 private:
  static constexpr std::size_t plans_kept = 256;
  static constexpr std::size_t operations_kept = 64;  // more than the latest calls of two threads hold
  static constexpr std::size_t messages_kept = 512;   // of which many are under way at once

  const CommunicatorParts& parts_;
  PlanCache plans_;
  // Latest used last; those that only this vector holds may run again.
  std::vector<std::shared_ptr<ScheduleOperation>> over_links_;
  std::vector<std::shared_ptr<MessageOperation>> messages_;
  std::vector<std::shared_ptr<DirectOperation>> over_window_;
  std::vector<std::shared_ptr<UnequalOperation>> over_window_and_links_;
  std::vector<std::shared_ptr<TwoLevelOperation>> over_host_windows_;
};

}  // namespace hocket::comm
