// Moves one part: from one or several sources to one or several targets, in one pass over memory.
#pragma once

#include <cstddef>
#include <span>

#include "src/spi/transport.hpp"

namespace hocket {

enum class Stores { ordinary, streaming };

// targets[k] = sources[0] ∘ sources[1] ∘ …, in this order, block by block, so that between the passes everything stays
// in the first-level cache. With one source: a copy. A target may be one of the sources, byte for byte. Streaming
// stores go past the caches: for large targets that nobody reads soon, and only where no target is a source.
void combine(const Reduction& reduction, std::span<const std::byte* const> sources, std::span<std::byte* const> targets,
             std::size_t bytes, Stores stores = Stores::ordinary);

}  // namespace hocket
