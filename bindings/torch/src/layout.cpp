#include "bindings/torch/src/layout.hpp"

#include <algorithm>
#include <numeric>

namespace hocket_torch {
namespace {

struct Range {
  std::byte *begin, *end;

  bool overlaps(const Range& other) const { return begin < other.end && other.begin < end; }
  friend bool operator==(const Range&, const Range&) = default;
};

Range range_of(const at::Tensor& tensor) {
  auto* const begin = static_cast<std::byte*>(tensor.data_ptr());
  return {begin, begin + tensor.nbytes()};
}

std::vector<Range> ranges_of(const Tensors& tensors) {
  std::vector<Range> ranges;
  for (const at::Tensor& tensor : tensors) ranges.push_back(range_of(tensor));
  return ranges;
}

bool overlap_each_other(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& left, const Range& right) { return left.begin < right.begin; });
  const auto follows_badly = [](const Range& left, const Range& right) { return left.overlaps(right); };
  return std::adjacent_find(ranges.begin(), ranges.end(), follows_badly) != ranges.end();
}

// Bytes of one element as it is moved.
std::size_t unit_of(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.element_size()) / moved_type_of(tensor).width;
}

}  // namespace

Layout consecutive(void* base, std::vector<std::size_t> counts) {
  Layout layout{.base = static_cast<std::byte*>(base), .counts = std::move(counts), .offsets = {}};
  layout.offsets.resize(layout.counts.size());
  std::exclusive_scan(layout.counts.begin(), layout.counts.end(), layout.offsets.begin(), std::size_t{0});
  return layout;
}

Layout consecutive(void* base, const Tensors& tensors) {
  std::vector<std::size_t> counts;
  for (const at::Tensor& tensor : tensors) counts.push_back(tensor.nbytes() / unit_of(tensor));
  return consecutive(base, std::move(counts));
}

std::optional<Layout> in_place(const Tensors& tensors, const Tensors& other, int rank) {
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.is_contiguous() || tensor.numel() == 0) return std::nullopt;
  }
  const std::vector<Range> blocks = ranges_of(tensors), others = ranges_of(other);
  if (overlap_each_other(blocks)) return std::nullopt;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    for (const Range& range : others) {
      const bool same = block == static_cast<std::size_t>(rank) && others.size() == 1 && blocks[block] == range;
      if (!same && blocks[block].overlaps(range)) return std::nullopt;
    }
  }
  const std::size_t unit = unit_of(tensors.front());
  Layout layout = consecutive(blocks.front().begin, tensors);
  for (const Range& block : blocks) layout.base = std::min(layout.base, block.begin);
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const auto distance = static_cast<std::size_t>(blocks[block].begin - layout.base);
    if (distance % unit != 0) return std::nullopt;
    layout.offsets[block] = distance / unit;
  }
  return layout;
}

}  // namespace hocket_torch
