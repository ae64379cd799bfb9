// How the rest of the library comes to a GPU.
#pragma once

#include <memory>

#include "src/spi/gpu.hpp"

namespace hocket::cuda {

// GPU `index` of those that this process sees. Code::unsupported where this build has no CUDA, or this machine no
// driver or no GPU, or not that many; the message says which.
Result<std::unique_ptr<Gpu>> open_gpu(int index);

}  // namespace hocket::cuda
