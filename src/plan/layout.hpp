// Layout: where the chunks of a schedule lie in memory. The only place that knows about remainders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/spi/reduction.hpp"
#include "src/spi/schedule.hpp"

namespace hocket {

struct Extent {
  std::size_t offset = 0;  // bytes from the start of the space
  std::size_t bytes =
      0;  // of the elements, in wide cells too, where they take more room; 0: nothing there, so nothing moves

  friend bool operator==(const Extent&, const Extent&) = default;
};

// Where the caller's blocks lie and how large they are, for collectives whose blocks vary; in elements, by chunk. Of
// each chunk that this rank knows, both tables have the size, also where it holds only one of them: chunks that pass
// through it. What it does not know is 0. Alltoall: input chunk j goes to rank j, output chunk i comes from rank i.
struct UnequalBlocks {
  struct Block {
    std::size_t offset = 0;  // from the start of the buffer
    std::size_t count = 0;
    bool elsewhere = false;  // it moves in another way, so that a plan leaves it out; then it has no elements here

    friend bool operator==(const Block&, const Block&) = default;
  };
  std::vector<Block> input, output;

  friend bool operator==(const UnequalBlocks&, const UnequalBlocks&) = default;
};

// Cuts the data of one collective into slices and each slice into chunks.
//  - Where chunks are parts of one vector, slice s is the s-th run of slice_elements() elements of the vector, and
//    chunk c the c-th of `chunks` equal parts of that run.
//  - Where chunks are the caller's blocks, slice s is the s-th run of slice_elements() elements of every block. A range
//    of several chunks is then contiguous only if there is one slice; callers see to it.
//  - Where blocks vary, every block is cut for itself, into runs of one size and a shorter last one, which follows from
//    slice_bytes alone, since not all ranks know all blocks. Ranges are of one chunk (see in_single_chunks()), and
//    cells as large as the largest chunk that this rank knows.
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
  Layout(const Shape& shape, std::shared_ptr<const UnequalBlocks> blocks, std::size_t element_bytes,
         std::size_t slice_bytes, WireFormat wire = WireFormat::exact);

  std::size_t slices() const { return slices_; }  // 0 where nothing travels
  std::size_t element_bytes() const { return element_bytes_; }
  std::size_t cell_bytes() const { return part_elements_ * element_bytes_; }  // of one scratch cell
  std::size_t encoded_cell_bytes() const;                                     // a multiple of 64
  std::size_t wide_cell_bytes() const { return part_elements_ * wide_element_bytes; }

  Extent extent(const Range& range, std::size_t slice) const;

  // Whether only the two ends of a message know how large it is (scatter, gather and alltoall whose blocks vary): then
  // the message says so.
  bool sizes_travel() const { return sizes_travel_; }
  // Whether first slices travel even where they are empty: these, and what is sent and received by itself, since who
  // receives from any rank must hear of it.
  bool empty_travel() const { return sizes_travel_ || point_to_point_; }
  // Elements of the whole block. Requires sizes_travel() and a range of one chunk of input or output.
  std::size_t block_elements(const Range& range) const { return block(range).count; }

 private:
  const UnequalBlocks::Block& block(const Range& range) const {
    return (range.space == Space::output ? blocks_->output : blocks_->input)[range.chunk];
  }
  Extent extent_in_block(const Range& range, std::size_t slice) const;

  bool vector_;
  std::uint32_t chunks_;
  std::uint32_t first_input_, first_output_;
  std::size_t count_, element_bytes_;
  WireFormat wire_;
  std::size_t unit_;            // parts are multiples of it
  std::size_t slice_elements_;  // of the vector, or of each block
  std::size_t part_elements_;   // of the largest chunk in a slice
  std::size_t slices_;
  std::shared_ptr<const UnequalBlocks> blocks_;  // null where blocks are equal
  bool sizes_travel_ = false;
  bool point_to_point_ = false;
};

}  // namespace hocket
