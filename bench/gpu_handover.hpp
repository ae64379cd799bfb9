// What it takes to hand over from a stream of one process to a stream of another one, bare: by words that both see.
#pragma once

namespace hocket::bench {

// Microseconds for one hand-over, over `turns` there and back between two processes, which this starts. Call it before
// anything else that uses CUDA. Throws hocket::Error.
double handover_us(int device, int turns);

}  // namespace hocket::bench
