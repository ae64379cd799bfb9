// Where a member's data lies on its GPU, in its control lines: a line for each handle, and one for all numbers.
#pragma once

#include "src/exec/direct/direct_run.hpp"
#include "src/spi/gpu.hpp"

namespace hocket {

// Of this member, before its announcement.
void write_export(const DirectRun& run, bool output, const MemoryExport& memory);
// Of one that has announced the run.
MemoryExport read_export(const DirectRun& run, std::uint32_t member, bool output);

}  // namespace hocket
