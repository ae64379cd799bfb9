// Dissemination barrier. D. Hensgen, R. Finkel and U. Manber, "Two algorithms for barrier synchronization",
// International Journal of Parallel Programming 17 (1988).
#include "src/spi/schedule.hpp"

namespace hocket::algorithms {

// ceil(log2 N) rounds of one byte, any N. In round k a rank tells the one 2^k further on all it has heard. Each
// message depends on all that came before it only because the sum is read on: a plain recv would let a rank answer for
// ranks that it has not heard of yet. Two cells alternate, so that no round receives where it still sends from.
void dissemination_barrier(const Shape& shape, ScheduleBuilder& builder) {
  if (shape.size == 1) return;
  const Range token = builder.output(0);
  Range heard = builder.scratch(token), next = builder.scratch(token);
  for (Rank distance = 1; distance < shape.size; distance *= 2) {
    builder.send((shape.rank + distance) % shape.size, heard);
    builder.recv_reduce((shape.rank - distance + shape.size) % shape.size, heard, next);
    std::swap(heard, next);
  }
}

}  // namespace hocket::algorithms
