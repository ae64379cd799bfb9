// What an operation does here, without a link: it copies, combines, and divides what an average ends with.
#include <cstring>

#include "src/exec/schedule_operation.hpp"

namespace hocket {

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
        binding().reduction.combine(to.data, left, right, elements);
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
    std::memcpy(to.data, from.data, to.bytes);
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

}  // namespace hocket
