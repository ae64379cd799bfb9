// Memory that is fetched before it is needed. A hint: nothing happens where the memory cannot be had.
#pragma once

namespace hocket {

// The cache line at `place`, which this core will write: another core that has read it loses it now.
inline void prefetch_to_write(const void* place) {
  asm volatile("prefetchw (%0)" : : "r"(place));  // the builtin asks for a line to read unless the target is newer
}

// The cache line at `place`, which this core will read: another core that has written it must wait when it writes
// again.
inline void prefetch_to_read(const void* place) {
  __builtin_prefetch(place);
}

}  // namespace hocket
