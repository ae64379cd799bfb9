// Copies that go past the caches.
#pragma once

#include <cstddef>

namespace hocket {

// From memory or caches to memory: for what this core does not read soon. What is there lies before anything that the
// caller stores later. The places do not overlap.
void copy_streaming(std::byte* to, const std::byte* from, std::size_t bytes);

}  // namespace hocket
