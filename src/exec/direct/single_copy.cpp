// What the staged path does where members can read each other's plain memory.
#include <algorithm>

#include "src/exec/direct/board.hpp"
#include "src/exec/direct/combine.hpp"
#include "src/exec/direct/direct_operation.hpp"

namespace hocket {
// Own staging memory, which nobody else reads.
std::byte* DirectOperation::fetch_slot(std::uint32_t member) const {
  return use_.window->staging(self_) + board::payload_bytes +
         member * fetch_block_bytes(use_.window->staging_bytes(), members_);
}

// False: it failed, and so does the operation.
bool DirectOperation::fetch(std::uint32_t member, std::uintptr_t from, std::byte* to, std::size_t bytes) {
  const Status status = use_.window->read(member, from, to, bytes);
  if (!status.ok()) fail(status);
  return status.ok();
}

// Block by block, so that what is fetched is combined while it is in the cache.
bool DirectOperation::combine_single_copy(const Part& part) {
  std::byte* const result =
      part.goes_to(self_) ? binding().output + part.target_offset : staged_result(self_, combined_);
  const std::size_t block = fetch_block_bytes(use_.window->staging_bytes(), members_);
  for (std::size_t at = 0; at < part.bytes; at += block) {
    const std::size_t bytes = std::min(block, part.bytes - at);
    const std::size_t offset = part.source_offset + at;
    // Each begins with its right neighbour: the kernel lets only so many read one process's memory at a time.
    for (std::uint32_t step = 1; step < members_; ++step) {
      const std::uint32_t member = (self_ + step) % members_;
      if (!fetch(member, announcements_[member].input_at + offset, fetch_slot(member), bytes)) return false;
    }
    sources_.clear();
    for (std::uint32_t member = 0; member < members_; ++member) {
      sources_.push_back(member == self_ ? binding().input + offset : fetch_slot(member));
    }
    std::byte* const target = result + at;
    combine(binding().reduction, sources_, {&target, 1}, bytes);
  }
  return true;
}

}  // namespace hocket
