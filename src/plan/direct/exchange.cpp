#include "src/plan/direct/exchange.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "src/base/arithmetic.hpp"

namespace hocket {
namespace {

constexpr std::size_t line = cache_line_bytes;

// Parts are multiples of this many bytes: whole elements, and whole cache lines where these fit into `grain`, so that
// parts do not share them. Every element size but an opaque one divides a line.
std::size_t unit_of(std::size_t element_bytes, std::size_t grain) {
  if (std::has_single_bit(element_bytes) && element_bytes <= line) return line;
  const std::size_t whole_lines = std::lcm(line, element_bytes);
  return whole_lines <= std::max(grain, line) ? whole_lines : element_bytes;
}

}  // namespace

Exchange::Exchange(const Signature& call, std::uint32_t root, std::uint32_t members, std::size_t grain,
                   std::shared_ptr<const UnequalBlocks> blocks)
    : collective_(&info_of(info_of(call.collective).equal_blocks)),
      root_(collective_->has_root() ? root : 0),
      members_(members),
      parts_(collective_->transposes() ? members * members : members),
      element_bytes_(std::max<std::size_t>(size_of(call), 1)),
      block_bytes_(collective_->chunks == Chunks::token ? 0 : call.count * size_of(call)) {
  root_bytes_ = bytes_of(root_);
  other_bytes_ = bytes_of(root_ + 1);
  if (blocks) take_blocks(std::move(blocks));
  cut(cuts_vector() ? divide_up(block_bytes_, members_) : block_bytes_, grain);
}

void Exchange::take_blocks(std::shared_ptr<const UnequalBlocks> blocks) {
  blocks_ = std::move(blocks);
  std::size_t sum = 0;
  block_bytes_ = 0;
  for (std::uint32_t block = 0; block < members_; ++block) {
    sum += block_bytes(block);
    block_bytes_ = std::max(block_bytes_, block_bytes(block));
    some_block_is_empty_ |= block_bytes(block) == 0;
  }
  if (sum == 0) some_block_is_empty_ = false;
  const auto most = [&](const BufferShape& buffer) { return buffer.held == Held::own_chunk ? block_bytes_ : sum; };
  root_bytes_ = other_bytes_ = {.in = most(collective_->input), .out = most(collective_->output)};
}

void Exchange::cut(std::size_t bytes, std::size_t grain) {
  if (bytes == 0) return;
  const std::size_t unit = unit_ = unit_of(element_bytes_, grain);
  const std::size_t most = unit == line ? std::max(grain, line) : std::max(grain / unit, std::size_t{1}) * unit;
  rounds_ = bytes <= most ? 1 : divide_up(bytes, most);
  // Equal rounds: a short last one would leave most members idle.
  const std::size_t each = rounds_ == 1 ? bytes : divide_up(bytes, rounds_);
  grain_ = unit == line ? round_up(each, line) : round_up(each, unit);
  if (rounds_ > 1) rounds_ = divide_up(bytes, grain_);
}

// A side that only the root has is the root's; else it is everyone's.
Part Exchange::whole() const {
  return {.source = collective_->input.holders == Holders::root ? root_ : everyone,
          .target = collective_->output.holders == Holders::root ? root_ : everyone,
          .bytes = block_bytes_};
}

Part Exchange::share(std::size_t index, std::size_t of) const {
  Part part = whole();
  const std::size_t each = round_up(divide_up(block_bytes_, of), unit_);
  const std::size_t begin = std::min(index * each, block_bytes_);
  part.source_offset = part.target_offset = begin;
  part.bytes = std::min(each, block_bytes_ - begin);
  return part;
}

Part Exchange::part(std::size_t round, std::uint32_t index) const {
  Part part = whole();
  const auto take = [&](std::size_t begin, std::size_t of) {
    part.bytes = begin < of ? std::min(grain_, of - begin) : 0;
  };
  if (cuts_vector()) {
    const std::size_t begin = (round * members_ + index) * grain_;
    take(begin, block_bytes_);
    part.source_offset = part.target_offset = begin;
    return part;
  }
  const BufferShape &input = collective_->input, &output = collective_->output;
  const std::size_t begin = round * grain_;
  take(begin, block_bytes(index % members_));
  if (collective_->is_prefix()) {
    part.target = index;
    part.operands = operands_of(index);
    if (part.operands == 0) part.bytes = 0;
    part.source_offset = part.target_offset = begin;
    return part;
  }
  if (collective_->transposes()) {
    part.source = index / members_;
    part.target = index % members_;
  } else {  // a side that holds own chunks is their owners'
    if (input.held == Held::own_chunk) part.source = index;
    if (output.held == Held::own_chunk) part.target = index;
  }
  const std::uint32_t source_block = collective_->transposes() ? part.target : index;
  const std::uint32_t target_block = collective_->transposes() ? part.source : index;
  part.source_offset = begin + (input.held == Held::own_chunk ? 0 : input_offset(source_block));
  part.target_offset = begin + (output.held == Held::own_chunk ? 0 : output_offset(target_block));
  return part;
}

std::uint32_t Exchange::operands_of(std::uint32_t member) const {
  if (!collective_->is_prefix()) return members_;
  return collective_->combines == Combines::ranks_up_to_own ? member + 1 : member;
}

Members Exchange::needed_by(std::uint32_t member) const {
  if (collective_->is_prefix()) return {0, member};
  if (only_root_gives()) return {root_, member == root_ ? root_ : root_ + 1};
  if (only_root_takes() && member != root_) return {};
  return some_block_is_empty_ ? needed_by_blocks(member) : Members{0, members_};
}

Members Exchange::needed_by_blocks(std::uint32_t member) const {
  if (combines()) return {0, block_bytes(member) == 0 ? 0 : members_};
  Members givers{0, members_};
  while (block_bytes(givers.from) == 0) ++givers.from;
  while (block_bytes(givers.until - 1) == 0) --givers.until;
  return givers;
}

std::uint32_t Exchange::parts_per_source() const {
  return collective_->input.held == Held::own_chunk ? 1 : members_;
}

std::uint32_t Exchange::place_at_source(std::uint32_t index) const {
  return index % parts_per_source();
}

Exchange::Bytes Exchange::bytes_of(std::uint32_t member) const {
  const auto rank = static_cast<Rank>(member), root = static_cast<Rank>(root_), size = static_cast<Rank>(members_);
  return {.in = block_bytes_ * collective_->blocks_in(collective_->input, rank, root, size),
          .out = block_bytes_ * collective_->blocks_in(collective_->output, rank, root, size)};
}

std::size_t Exchange::buffer_bytes_max() const {
  return std::max(input_bytes_max(), output_bytes_max());
}

bool Exchange::blocks_adjoin() const {
  std::size_t at = 0;
  for (std::uint32_t block = 0; blocks_ != nullptr && block < members_; ++block) {
    const bool has_place = collective_->output.held == Held::all_chunks && block_bytes(block) != 0;
    if (has_place && output_offset(block) != at) return false;
    at += block_bytes(block);
  }
  return true;
}

// Of a prefix, the former of the two gives; else a block is the taker's where each has one alone, or the giver's.
std::size_t Exchange::bytes_given(std::uint32_t source, std::uint32_t target) const {
  if (collective_->is_prefix()) return source < target ? block_bytes_ : 0;
  const bool gives = collective_->input.is_on(static_cast<Rank>(source), static_cast<Rank>(root_));
  const bool takes = collective_->output.is_on(static_cast<Rank>(target), static_cast<Rank>(root_));
  if (!gives || !takes) return 0;
  return block_bytes(collective_->input.held == Held::own_chunk ? source : target);
}

}  // namespace hocket
