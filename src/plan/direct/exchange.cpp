#include "src/plan/direct/exchange.hpp"

#include <algorithm>

namespace hocket {
namespace {

// Cache lines are not shared between parts, and every element size divides a line.
constexpr std::size_t line = 64;

std::size_t divide_up(std::size_t a, std::size_t b) {
  return (a + b - 1) / b;
}

// Whether the buffers hold one vector that is cut into as many parts as there are members, not blocks.
bool is_vector(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::reduce || collective == Collective::broadcast;
}

}  // namespace

Exchange::Exchange(const Signature& call, std::uint32_t root, std::uint32_t members, std::size_t grain)
    : collective_(call.collective),
      root_(root),
      members_(members),
      parts_(call.collective == Collective::alltoall ? members * members : members),
      combines_(reduces(call.collective)),
      block_bytes_(call.collective == Collective::barrier ? 0 : call.count * size_of(call.dtype)) {
  const std::size_t cut = is_vector(collective_) ? divide_up(block_bytes_, members_) : block_bytes_;
  rounds_ = divide_up(cut, std::max(grain, line));
  // Equal rounds: a short last one would leave most members idle.
  grain_ = rounds_ == 0 ? 0 : divide_up(divide_up(cut, rounds_), line) * line;
  if (rounds_ != 0) rounds_ = divide_up(cut, grain_);
}

Part Exchange::part(std::size_t round, std::uint32_t index) const {
  Part part;
  const auto take = [&](std::size_t begin) {
    part.bytes = begin < block_bytes_ ? std::min(grain_, block_bytes_ - begin) : 0;
  };
  if (is_vector(collective_)) {
    const std::size_t begin = (round * members_ + index) * grain_;
    take(begin);
    part.source_offset = part.target_offset = begin;
    if (collective_ == Collective::reduce) part.target = root_;
    if (collective_ == Collective::broadcast) part.source = root_;
    return part;
  }
  const std::size_t begin = round * grain_;
  take(begin);
  const std::size_t in_block = index * block_bytes_ + begin;
  part.source_offset = part.target_offset = begin;
  switch (collective_) {
    case Collective::reduce_scatter:
      part.target = index;
      part.source_offset = in_block;
      break;
    case Collective::allgather:
      part.source = index;
      part.target_offset = in_block;
      break;
    case Collective::scatter:
      part.source = root_;
      part.target = index;
      part.source_offset = in_block;
      break;
    case Collective::gather:
      part.source = index;
      part.target = root_;
      part.target_offset = in_block;
      break;
    default:  // alltoall
      part.source = index / members_;
      part.target = index % members_;
      part.source_offset = part.target * block_bytes_ + begin;
      part.target_offset = part.source * block_bytes_ + begin;
  }
  return part;
}

std::uint32_t Exchange::parts_per_source() const {
  return collective_ == Collective::allgather || collective_ == Collective::gather ? 1 : members_;
}

std::uint32_t Exchange::place_at_source(std::uint32_t index) const {
  return index % parts_per_source();
}

std::size_t Exchange::input_bytes(std::uint32_t member) const {
  switch (collective_) {
    case Collective::broadcast: return member == root_ ? block_bytes_ : 0;
    case Collective::scatter: return member == root_ ? block_bytes_ * members_ : 0;
    case Collective::reduce_scatter:
    case Collective::alltoall: return block_bytes_ * members_;
    default: return block_bytes_;
  }
}

std::size_t Exchange::buffer_bytes_max() const {
  const bool blocks_at_somebody = !is_vector(collective_);
  return blocks_at_somebody ? block_bytes_ * members_ : block_bytes_;
}

std::size_t Exchange::output_bytes(std::uint32_t member) const {
  switch (collective_) {
    case Collective::reduce: return member == root_ ? block_bytes_ : 0;
    case Collective::gather: return member == root_ ? block_bytes_ * members_ : 0;
    case Collective::allgather:
    case Collective::alltoall: return block_bytes_ * members_;
    default: return block_bytes_;
  }
}

}  // namespace hocket
