#include "src/plan/layout.hpp"

#include <algorithm>

#include "src/base/arithmetic.hpp"
#include "src/spi/window.hpp"

namespace hocket {
namespace {

// Elements of one slice such that slices are of about equal length and no longer than `wanted`, which is a multiple of
// `unit`.
std::size_t even_slice(std::size_t count, std::size_t wanted, std::size_t unit) {
  const std::size_t slices = divide_up(count, wanted);
  return round_up(divide_up(count, slices), unit);
}

}  // namespace

Layout::Layout(const Shape& shape, std::size_t count, std::size_t element_bytes, std::size_t slice_bytes,
               WireFormat wire)
    : vector_(shape.collective->is_vector()),
      chunks_(shape.chunks),
      first_input_(shape.collective->input.first_chunk(shape.rank)),
      first_output_(shape.collective->output.first_chunk(shape.rank)),
      count_(shape.collective->chunks == Chunks::token ? 1 : count),
      element_bytes_(element_bytes),
      wire_(wire),
      unit_(wire == WireFormat::exact ? 1 : wire_block_elements),
      slice_elements_(count_) {
  const std::size_t parts = vector_ ? chunks_ : 1;
  if (slice_bytes != 0 && count_ != 0) {
    const std::size_t wanted_part = std::max(round_down(slice_bytes / element_bytes_, unit_), unit_);
    if (divide_up(count_, parts) > wanted_part) {
      slice_elements_ = even_slice(count_, wanted_part * parts, parts * unit_);
    }
  }
  point_to_point_ = shape.collective->is_message();
  slices_ = count_ == 0 ? std::size_t{point_to_point_} : divide_up(count_, slice_elements_);
  part_elements_ = vector_ ? round_up(divide_up(slice_elements_, parts), unit_) : slice_elements_;
}

Layout::Layout(const Shape& shape, std::shared_ptr<const UnequalBlocks> blocks, std::size_t element_bytes,
               std::size_t slice_bytes, WireFormat wire)
    : Layout(shape, 0, element_bytes, slice_bytes, wire) {
  blocks_ = std::move(blocks);
  for (const auto* table : {&blocks_->input, &blocks_->output}) {
    for (const UnequalBlocks::Block& block : *table) count_ = std::max(count_, block.count);
  }
  slice_elements_ = slice_bytes == 0 ? count_ : std::max(round_down(slice_bytes / element_bytes_, unit_), unit_);
  part_elements_ = std::min(slice_elements_, count_);
  sizes_travel_ = !shape.collective->all_know_blocks();
  slices_ = count_ == 0 ? std::size_t{sizes_travel_} : divide_up(count_, slice_elements_);
}

std::size_t Layout::encoded_cell_bytes() const {
  return round_up(encoded_bytes(wire_, part_elements_), cache_line_bytes);
}

Extent Layout::extent(const Range& range, std::size_t slice) const {
  if (slice >= slices_) return {};
  if (blocks_) return extent_in_block(range, slice);
  const std::size_t begin = slice * slice_elements_;
  const std::size_t length = std::min(slice_elements_, count_ - begin);
  const std::size_t part = vector_ ? round_up(divide_up(length, chunks_), unit_) : length;

  // Elements from the start of the slice; where chunks are blocks, a range of several is one run of a single slice.
  const std::size_t whole = vector_ ? length : part * chunks_;
  const std::size_t from = std::min(part * range.chunk, whole);
  const std::size_t to = std::min(part * (std::size_t{range.chunk} + range.count), whole);
  if (from == to) return {};

  if (range.space == Space::encoded) return {range.cell * encoded_cell_bytes(), encoded_bytes(wire_, to - from)};
  const std::size_t bytes = (to - from) * element_bytes_;
  if (range.space == Space::scratch) return {range.cell * cell_bytes(), bytes};
  if (range.space == Space::wide) return {range.cell * wide_cell_bytes(), bytes};
  if (vector_) return {(begin + from) * element_bytes_, bytes};
  const std::uint32_t first = range.space == Space::input ? first_input_ : first_output_;
  return {((range.chunk - first) * count_ + begin) * element_bytes_, bytes};
}

Extent Layout::extent_in_block(const Range& range, std::size_t slice) const {
  const std::size_t offset = block(range).offset, count = block(range).count;
  const std::size_t begin = slice * slice_elements_;
  if (begin >= count) return {};
  const std::size_t length = std::min(slice_elements_, count - begin);
  if (range.space == Space::encoded) return {range.cell * encoded_cell_bytes(), encoded_bytes(wire_, length)};
  const std::size_t bytes = length * element_bytes_;
  if (range.space == Space::scratch) return {range.cell * cell_bytes(), bytes};
  if (range.space == Space::wide) return {range.cell * wide_cell_bytes(), bytes};
  return {(offset + begin) * element_bytes_, bytes};
}

}  // namespace hocket
