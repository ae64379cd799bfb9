#include "src/plan/plan.hpp"

#include "src/base/arithmetic.hpp"
#include "src/base/hash.hpp"
#include "src/plan/slicing.hpp"
#include "src/plan/wide_sums.hpp"
#include "src/spi/window.hpp"

namespace hocket {
namespace {

Layout layout_of(const Shape& shape, const PlanKey& key) {
  if (key.blocks) return Layout(shape, key.blocks.table, key.element_bytes, key.slice_bytes, key.wire);
  const std::size_t slice_bytes = key.algorithm->multi_block ? 0 : key.slice_bytes;
  return Layout(shape, key.count, key.element_bytes, slice_bytes, key.wire);
}

void add_to(hocket::Hash& hash, const UnequalBlocks& blocks) {
  hash.add(blocks.input.size());
  for (const auto* table : {&blocks.input, &blocks.output}) {
    for (const UnequalBlocks::Block& block : *table) hash.add(block.count).add(block.offset);
  }
}

// Links to ranks that have nothing else to move are then not made.
void leave_out_elsewhere(Schedule& schedule, const UnequalBlocks& blocks) {
  std::erase_if(schedule.steps, [&](const Step& step) {
    const Range& range = step.kind == StepKind::recv ? step.to : step.left;
    return (range.space == Space::output ? blocks.output : blocks.input)[range.chunk].elsewhere;
  });
}

}  // namespace

std::shared_ptr<const Plan> make_plan(const PlanKey& key) {
  Schedule schedule = key.algorithm->write(key.rank, key.size, key.root, key.topology);
  if (key.wide_sums) schedule = with_wide_sums(std::move(schedule));
  if (key.blocks) {
    schedule = in_single_chunks(schedule);
    leave_out_elsewhere(schedule, *key.blocks.table);
  }
  const Layout layout = layout_of(schedule.shape, key);

  const std::uint32_t interleave = slices_in_group(layout.slices());
  const std::size_t plain_bytes = round_up(schedule.scratch_cells * layout.cell_bytes(), cache_line_bytes);
  const std::size_t wide_offset = plain_bytes + schedule.encoded_cells * layout.encoded_cell_bytes();
  const std::size_t piece_bytes =
      wide_offset + round_up(schedule.wide_cells * layout.wide_cell_bytes(), cache_line_bytes);
  Plan plan{
      .key = key,
      .layout = layout,
      .program = compile(schedule, key.placement, interleave),
      .extents = {},
      .groups = divide_up(layout.slices(), interleave),
      .encoded_offset = plain_bytes,
      .wide_offset = wide_offset,
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
  hocket::Hash hash;
  hash.add(reinterpret_cast<std::uintptr_t>(key.algorithm));
  hash.add(static_cast<std::uint64_t>(key.rank)).add(static_cast<std::uint64_t>(key.size));
  hash.add(static_cast<std::uint64_t>(key.root));
  hash.add(key.count).add(key.element_bytes).add(key.slice_bytes);
  hash.add(static_cast<std::uint64_t>(key.placement)).add(static_cast<std::uint64_t>(key.wire));
  hash.add(static_cast<std::uint64_t>(key.wide_sums));
  if (key.blocks) add_to(hash, *key.blocks.table);
  return hash.value();
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
