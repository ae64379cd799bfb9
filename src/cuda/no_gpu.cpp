// In place of cuda_gpu.cpp in builds without a CUDA toolkit.
#include "src/cuda/open_gpu.hpp"

namespace hocket::cuda {

Result<std::unique_ptr<Gpu>> open_gpu(int) {
  return Status(Code::unsupported,
                "this build of Hocket was made without CUDA; build it where the toolkit is, with HOCKET_CUDA=ON");
}

}  // namespace hocket::cuda
