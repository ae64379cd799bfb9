// What an operation does here, without a link: it copies, combines, and divides what an average ends with; and it runs
// on memory that is copied in and out meanwhile.
#include <algorithm>
#include <initializer_list>
#include <utility>

#include "src/base/copy_bytes.hpp"

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

void ScheduleOperation::run_local(std::uint32_t slot) {
  const Step& step = instruction_of(slot).step;
  const std::size_t group = group_at_[half_of(slot)];
  const auto at = [&](Operand operand) {
    const Extent extent = plan_->extent(slots_[slot].instruction, operand, group);
    return Buffer{address(range_of(step, operand), extent, group), extent.bytes};
  };
  const Buffer to = at(Operand::to);
  if (to.bytes != 0) {
    const auto record = steps_ != nullptr ? steps_->begin(tag_, step.kind, no_rank, to.bytes) : 0;
    if (step.kind == StepKind::copy) {
      copy(step, to, at(Operand::left));
    } else {
      const std::size_t elements = to.bytes / plan_->key.element_bytes;
      const std::byte* left = at(Operand::left).data;
      const std::byte* right = at(Operand::right).data;
      if (step.right.space == Space::encoded) {
        codec_.decode_add(to.data, left, right, elements);
      } else {
        reduction_of(step).combine(to.data, left, right, elements);
      }
    }
    if (steps_ != nullptr) steps_->end(record);
  }
  complete_slot(slot);
}

// Between a plain and an encoded range: encodes or decodes.
void ScheduleOperation::copy(const Step& step, const Buffer& to, const Buffer& from) const {
  const bool encoded = step.to.space == Space::encoded;
  if (encoded == (step.left.space == Space::encoded)) {
    copy_bytes(to.data, from.data, to.bytes);
  } else if (encoded) {
    codec_.encode(to.data, from.data, from.bytes / plan_->key.element_bytes);
  } else {
    codec_.decode(to.data, from.data, to.bytes / plan_->key.element_bytes);
  }
}

// What an average ends with, on what the group has combined here.
void ScheduleOperation::divide_output(std::size_t group) {
  const Reduction& reduction = binding().reduction;
  const PlanKey& key = plan_->key;
  const BufferShape& held = key.algorithm->collective->output;
  if (reduction.divide == nullptr || !held.is_on(key.rank, key.root)) return;
  const bool own_block = held.held == Held::own_chunk;
  const Range output{.space = Space::output,
                     .chunk = held.first_chunk(key.rank),
                     .count = own_block ? 1 : chunks_of(*key.algorithm, key.size, key.topology)};
  for (std::uint32_t piece = 0; piece < plan_->program.interleave; ++piece) {
    const Extent extent = plan_->extent(output, piece, group);
    reduction.divide(binding().output + extent.offset, extent.bytes / reduction.element_bytes, reduction.divisor);
  }
}

// ---- memory that is copied meanwhile --------------------------------------------------------------------------------

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
