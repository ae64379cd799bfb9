// The pooled path of direct operations: the inputs lie in the staging areas, and whoever is awake combines the next
// part, for everybody; then each member copies out what it needs. A member that sleeps through the work finds it done.
#include <cstring>

#include "src/exec/direct/board.hpp"
#include "src/exec/direct/combine.hpp"
#include "src/exec/direct/direct_operation.hpp"

namespace hocket {
void DirectOperation::begin_pooled() {
  stamped_ = ++use_.stamped;
  exchange_ = Exchange(binding().signature, exchange_.root(), members_,
                       grain_of(DirectPath::pooled, exchange_, use_.window->staging_bytes()));
  phase_ = Phase::pooled;
}

bool DirectOperation::advance_pooled() {
  // Results lie at member 0, where their operands lie in the inputs. All have left the operation that used this before.
  std::byte* const pool = use_.window->staging(0) + board::payload_bytes;
  const std::size_t task = claim_task();
  if (task != no_task) {
    const Part part = exchange_.part(task / exchange_.parts(), static_cast<std::uint32_t>(task % exchange_.parts()));
    if (part.bytes != 0) {
      sources_.clear();
      for (std::uint32_t member = 0; member < members_; ++member) {
        sources_.push_back(payload_of(member) + part.source_offset);
      }
      std::byte* const target = pool + part.source_offset;
      combine(binding().reduction, sources_, {&target, 1}, part.bytes);
    }
    finish_task();
    return true;
  }
  if (exchange_.output_bytes(self_) != 0) {
    if (!mapped_finished()) return false;
    for (std::size_t round = 0; round < exchange_.rounds(); ++round) {
      for (std::uint32_t index = 0; index < exchange_.parts(); ++index) {
        const Part part = exchange_.part(round, index);
        if (!part.goes_to(self_)) continue;
        std::memcpy(binding().output + part.target_offset, pool + part.source_offset, part.bytes);
      }
    }
  } else {
    publish(board::own_parts_done, 1);  // leaves before all is done: so nobody blames it
  }
  phase_ = Phase::done;
  return true;
}

}  // namespace hocket
