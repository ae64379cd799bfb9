#include "src/plan/plan.hpp"

#include "src/plan/slicing.hpp"

namespace hocket {
namespace {

std::size_t round_up_64(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

Layout layout_of(const Shape& shape, const PlanKey& key) {
  if (key.blocks) return Layout(shape, key.blocks.table, key.element_bytes, key.slice_bytes, key.wire);
  const std::size_t slice_bytes = key.algorithm->multi_block ? 0 : key.slice_bytes;
  return Layout(shape, key.count, key.element_bytes, slice_bytes, key.wire);
}

std::size_t hash_of(const UnevenBlocks& blocks) {
  std::size_t hash = blocks.input.size();
  for (const auto* table : {&blocks.input, &blocks.output}) {
    for (const UnevenBlocks::Block& block : *table) hash = hash * 31 + block.count * 7 + block.offset;
  }
  return hash;
}

}  // namespace

std::shared_ptr<const Plan> make_plan(const PlanKey& key) {
  Schedule schedule = key.algorithm->write(key.rank, key.size, key.root, key.topology);
  if (key.blocks) schedule = in_single_chunks(schedule);
  const Layout layout = layout_of(schedule.shape, key);

  const std::uint32_t interleave = slices_in_group(layout.slices());
  const std::size_t plain_bytes = round_up_64(schedule.scratch_cells * layout.cell_bytes());
  const std::size_t piece_bytes = plain_bytes + schedule.encoded_cells * layout.encoded_cell_bytes();
  Plan plan{
      .key = key,
      .layout = layout,
      .program = compile(schedule, key.placement, interleave),
      .extents = {},
      .groups = (layout.slices() + interleave - 1) / interleave,
      .encoded_offset = plain_bytes,
      .piece_bytes = piece_bytes,
      .scratch_bytes = interleave * piece_bytes,
  };
  if (plan.groups == 1) {
    for (const Instruction& instruction : plan.program.instructions) {
      for (const Operand operand : {Operand::left, Operand::right, Operand::to}) {
        plan.extents.push_back(plan.extent(range_of(instruction.step, operand), instruction.piece, 0));
      }
    }
  }
  return std::make_shared<const Plan>(std::move(plan));
}

// Without the topology: it is the same for all plans of a communicator.
std::size_t PlanCache::Hash::operator()(const PlanKey& key) const {
  std::size_t hash = std::hash<const void*>()(key.algorithm);
  const auto mix = [&hash](std::size_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29); };
  mix(static_cast<std::size_t>(key.rank));
  mix(static_cast<std::size_t>(key.size));
  mix(static_cast<std::size_t>(key.root));
  mix(key.count);
  mix(key.element_bytes);
  mix(key.slice_bytes);
  mix(static_cast<std::size_t>(key.placement));
  mix(static_cast<std::size_t>(key.wire));
  if (key.blocks) mix(hash_of(*key.blocks.table));
  return hash;
}

std::shared_ptr<const Plan> PlanCache::get(const PlanKey& key) {
  if (const auto found = index_.find(key); found != index_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return entries_.front();
  }
  entries_.push_front(make_plan(key));
  index_.emplace(key, entries_.begin());
  if (entries_.size() > capacity_) {
    index_.erase(entries_.back()->key);
    entries_.pop_back();
  }
  return entries_.front();
}

}  // namespace hocket
