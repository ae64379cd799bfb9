// Running on memory that is copied in and out meanwhile: steps are held back until what they use has arrived, and what
// a group of slices has written leaves when the group is done.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "src/exec/schedule_operation.hpp"

namespace hocket {
namespace {

// What is written counts, too: what arrives later would overwrite it.
std::initializer_list<Operand> operands_of(StepKind kind) {
  static constexpr std::initializer_list<Operand> read = {Operand::left};
  static constexpr std::initializer_list<Operand> written = {Operand::to};
  static constexpr std::initializer_list<Operand> one_and_result = {Operand::left, Operand::to};
  static constexpr std::initializer_list<Operand> two_and_result = {Operand::left, Operand::right, Operand::to};
  switch (kind) {
    case StepKind::send: return read;
    case StepKind::recv: return written;
    case StepKind::recv_reduce:
    case StepKind::copy: return one_and_result;
    case StepKind::reduce: break;
  }
  return two_and_result;
}

}  // namespace

// A run that packs its input reads all of it before its first step.
bool ScheduleOperation::run_on(CopiedMemory* memory) {
  copied_ = binding().staging ? nullptr : memory;
  held_back_.clear();
  return copied_ != nullptr;
}

bool ScheduleOperation::holds_back(std::uint32_t slot) {
  const Step& step = instruction_of(slot).step;
  const std::size_t group = group_at_[half_of(slot)];
  const bool arrived = std::ranges::all_of(operands_of(step.kind), [&](Operand operand) {
    const Range& range = range_of(step, operand);
    if (range.space != Space::input && range.space != Space::output) return true;
    const Extent extent = plan_->extent(slots_[slot].instruction, operand, group);
    return extent.bytes == 0 || copied_->has_arrived(address(range, extent, group), extent.bytes);
  });
  if (!arrived) held_back_.push_back(slot);
  return !arrived;
}

void ScheduleOperation::more_has_arrived() {
  for (const std::uint32_t slot : std::exchange(held_back_, {})) make_ready(slot);
}

// Other groups touch other slices.
void ScheduleOperation::let_output_leave(std::size_t group) {
  const PlanKey& key = plan_->key;
  const BufferShape& held = key.algorithm->collective->output;
  for (std::uint32_t chunk = 0; chunk < plan_->program.shape.chunks; ++chunk) {
    if (!held.has(chunk, key.rank, key.root)) continue;
    for (std::uint32_t piece = 0; piece < plan_->program.interleave; ++piece) {
      const Extent extent = plan_->extent({.space = Space::output, .chunk = chunk}, piece, group);
      if (extent.bytes != 0) copied_->may_leave(binding().output + extent.offset, extent.bytes);
    }
  }
}

}  // namespace hocket
