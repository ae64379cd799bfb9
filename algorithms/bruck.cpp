// Alltoall in few rounds. J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal and D. Weathersby, "Efficient algorithms for
// all-to-all communications in multiport message-passing systems", IEEE Transactions on Parallel and Distributed
// Systems 8 (1997), section 3, with radix 2.
#include <vector>

#include "src/spi/schedule.hpp"

namespace hocket::algorithms {

// ceil(log2 N) rounds of one message; sends and receives about log2(N)/2 · S. In the round of bit b, each rank packs
// those blocks whose way (how many ranks to the right their receiver is) has that bit, and sends them b ranks to the
// right. Blocks stay where they arrived until they travel on, so nothing is rotated before or after; scratch for
// about log2(N)/2 + 1/2 times N blocks. The chunk numbers of what lies in scratch only count its cells.
void bruck_alltoall(const Shape& shape, ScheduleBuilder& builder) {
  const Rank size = shape.size;
  std::vector<Range> block(static_cast<std::size_t>(size));  // by way
  for (Rank way = 0; way < size; ++way) block[way] = builder.input(shape.rank + way);
  builder.copy(block[0], builder.output(shape.rank));
  if (size == 1) return;

  const Range packed = builder.scratch(builder.input(0, static_cast<std::uint32_t>(size / 2)));
  for (Rank bit = 1; bit < size; bit *= 2) {
    std::uint32_t count = 0;
    for (Rank way = bit; way < size; way = (way + 1) | bit) {
      builder.copy(block[way], ScheduleBuilder::part(packed, count, 1));
      ++count;
    }
    const Range arrived = builder.scratch(ScheduleBuilder::part(packed, 0, count));
    builder.send((shape.rank + bit) % size, ScheduleBuilder::part(packed, 0, count));
    builder.recv((shape.rank - bit + size) % size, arrived);

    count = 0;
    for (Rank way = bit; way < size; way = (way + 1) | bit) {
      block[way] = ScheduleBuilder::part(arrived, count, 1);
      if (way < 2 * bit) builder.copy(block[way], builder.output(shape.rank - way));  // it has come all its way
      ++count;
    }
  }
}

}  // namespace hocket::algorithms
