// The mapped path of direct operations: every part is read from all inputs and written to all outputs by one member.
#include <fmt/format.h>

#include <algorithm>

#include "src/exec/direct/board.hpp"
#include "src/exec/direct/combine.hpp"
#include "src/exec/direct/direct_operation.hpp"

namespace hocket {
namespace {

constexpr std::uint64_t streaming_bytes_min = std::uint64_t{4} << 20;  // measured: from here on, out of place

// The count of a stamp; 0 if it is of an earlier operation.
std::uint64_t count_of(std::uint64_t stamp, std::uint64_t operation, unsigned count_bits) {
  return stamp >> count_bits == operation ? stamp & ((std::uint64_t{1} << count_bits) - 1) : 0;
}

}  // namespace

void DirectOperation::begin_mapped() {
  stamped_ = ++use_.stamped;
  buffers_mapped_ = false;
  phase_ = Phase::mapped;
}

// Not before this member has a part to do: once the others have done them all, their memory may be gone.
bool DirectOperation::map_buffers() {
  for (std::uint32_t member = 0; member < members_; ++member) {
    const Announcement& theirs = announcements_[member];
    const std::size_t in = exchange_.input_bytes(member), out = exchange_.output_bytes(member);
    if (member == self_) {
      mapped_inputs_[member] = binding().input;
      mapped_outputs_[member] = binding().output;
      continue;
    }
    mapped_inputs_[member] = in == 0 ? nullptr : use_.window->map(member, theirs.input, in);
    mapped_outputs_[member] = out == 0 ? nullptr : use_.window->map(member, theirs.output, out);
    if ((in != 0 && mapped_inputs_[member] == nullptr) || (out != 0 && mapped_outputs_[member] == nullptr)) {
      const Rank rank = use_.window->rank_of(member);
      fail(Status(Cause{.code = Code::invalid_argument,
                        .message = fmt::format("the registered memory that rank {} passed to {} is gone: free or "
                                               "unregister a buffer only when no call uses it any more",
                                               rank, describe(binding().signature)),
                        .peer = rank,
                        .operation = {}}));
      return false;
    }
  }
  return buffers_mapped_ = true;
}

// One part, so that the executor can look at other things between parts. None where someone has given up: a rank that was
// stopped must not go on writing into others' memory.
bool DirectOperation::advance_mapped(Counters& counters) {
  if (someone_has_withdrawn()) return false;
  const std::size_t task = claim_task();
  if (task == no_task) {
    if (!use_.shares_work) {
      publish(board::own_parts_done, 1);
      use_.window->wake_others();
    }
    phase_ = Phase::mapped_end;
    return true;
  }
  if (!buffers_mapped_ && !map_buffers()) return true;
  const Part part = exchange_.part(task / exchange_.parts(), static_cast<std::uint32_t>(task % exchange_.parts()));
  if (part.bytes != 0) {
    sources_.clear();
    targets_.clear();
    for (std::uint32_t member = 0; member < members_; ++member) {
      if (part.comes_from(member)) sources_.push_back(mapped_inputs_[member] + part.source_offset);
      if (!part.goes_to(member)) continue;
      targets_.push_back(mapped_outputs_[member] + part.target_offset);
      if (member != self_) counters.bytes_sent += part.bytes;
    }
    const bool in_place = std::any_of(targets_.begin(), targets_.end(), [&](const std::byte* target) {
      return std::find(sources_.begin(), sources_.end(), target) != sources_.end();
    });
    const bool stream = !in_place && exchange_.output_bytes(exchange_.root()) >= streaming_bytes_min;
    combine(binding().reduction, sources_, targets_, part.bytes, stream ? Stores::streaming : Stores::ordinary);
    counters.steps += 1;
  }
  if (someone_has_withdrawn()) return false;  // its memory may have been used for something else meanwhile
  if (use_.shares_work) finish_task();
  return true;
}

std::size_t DirectOperation::claim_task() {
  const std::size_t tasks = exchange_.rounds() * exchange_.parts();
  if (!use_.shares_work) {  // part p of every round is member p's
    const std::size_t task = own_next_++ * members_ + self_;
    return task < tasks ? task : no_task;
  }
  auto& claimed = word(0, board::claim_line, 0);
  std::uint64_t seen = claimed.load(std::memory_order_relaxed);
  for (;;) {
    if (seen >> count_bits > stamped_) return no_task;
    const std::uint64_t next = count_of(seen, stamped_, count_bits);
    if (next >= tasks) return no_task;
    if (claimed.compare_exchange_weak(seen, stamp(next + 1), std::memory_order_relaxed)) return next;
  }
}

void DirectOperation::finish_task() {
  auto& finished = word(0, board::finished_line, 0);
  std::uint64_t seen = finished.load(std::memory_order_relaxed);
  std::uint64_t next;
  do {
    next = count_of(seen, stamped_, count_bits) + 1;
  } while (!finished.compare_exchange_weak(seen, stamp(next), std::memory_order_acq_rel, std::memory_order_relaxed));
  if (next == exchange_.rounds() * exchange_.parts()) use_.window->wake_others();
}

bool DirectOperation::mapped_finished() {
  if (!use_.shares_work) return everyone_reached(board::own_parts_done, 1);
  return word(0, board::finished_line, 0).load(std::memory_order_acquire) >=
         stamp(exchange_.rounds() * exchange_.parts());
}

}  // namespace hocket
