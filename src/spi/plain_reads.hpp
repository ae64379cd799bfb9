// What reading plain memory of another rank costs, beside a copy that another rank reads.
#pragma once

#include <limits>

namespace hocket {

// In seconds per byte.
struct PlainReads {
  double read = std::numeric_limits<double>::infinity();  // of a process's own memory, by the kernel
  double copy = 0;  // of as many bytes that stay in the caches, for as long as nothing better is known

  // Whether a read takes at most `ratio_max` times as long as a copy for its reader, which took `copy_now` when this
  // was last measured; 0: it has not been.
  bool pay(double ratio_max, double copy_now) const { return read <= ratio_max * (copy_now > 0 ? copy_now : copy); }
};

}  // namespace hocket
