// Layout: where the chunks of a schedule lie in memory. The only place that knows about remainders.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hocket/spi/schedule.hpp"

namespace hocket {

struct Extent {
  std::size_t offset = 0;  // bytes from the start of the space
  std::size_t bytes = 0;   // 0: nothing there, so nothing moves

  friend bool operator==(const Extent&, const Extent&) = default;
};

// Cuts the data of one collective into slices and each slice into chunks.
//  - Where chunks are parts of one vector (allreduce, reduce, broadcast, send, recv, barrier), slice s is the s-th run
//  of
//    slice_elements() elements of the vector, and chunk c the c-th of `chunks` equal parts of that run.
//  - Where chunks are the caller's blocks (the other collectives), slice s is the s-th run of slice_elements() elements
//  of
//    every block. A range of several chunks is then contiguous only if there is one slice; callers see to it.
// Parts are ceil(length / chunks) elements long and the last ones shorter or empty, so that neighbouring chunks always
// adjoin and every scratch cell has the same size. Where the call has a wire format of lower precision, parts and
// slices of blocks begin at multiples of wire_block_elements, so that what is encoded together does not depend on how
// the data is cut.
class Layout {
 public:
  // `count` as in the C API: elements of the vector, or of one block. slice_bytes: wanted size of a slice of one chunk;
  // 0 for one single slice.
  Layout(const Shape& shape, std::size_t count, std::size_t element_bytes, std::size_t slice_bytes,
         WireFormat wire = WireFormat::exact);

  std::size_t slices() const { return slices_; }  // 0 where count is 0
  std::size_t element_bytes() const { return element_bytes_; }
  std::size_t cell_bytes() const { return part_elements_ * element_bytes_; }  // of one scratch cell
  std::size_t encoded_cell_bytes() const;                                     // a multiple of 64

  Extent extent(const Range& range, std::size_t slice) const;

  // First chunk that the caller's input or output buffer holds on this rank (its offset 0).
  static std::uint32_t first_chunk(const Shape& shape, Space space);
  // Whether chunks are parts of one vector, not blocks.
  static bool is_vector(Collective collective);

 private:
  bool vector_;
  std::uint32_t chunks_;
  std::uint32_t first_input_, first_output_;
  std::size_t count_, element_bytes_;
  WireFormat wire_;
  std::size_t unit_;            // parts are multiples of it
  std::size_t slice_elements_;  // of the vector, or of each block
  std::size_t part_elements_;   // of the largest chunk in a slice
  std::size_t slices_;
};

}  // namespace hocket
