#include "tests/support/host_kernels.hpp"

#include <map>
#include <string>

#include "src/cuda/kernel_image.hpp"
#include "src/cuda/kernels/list.hpp"

namespace hocket::testing_support {

HostKernel host_kernel(DataType dtype, ReduceOp op) {
#define HOCKET_HOST_KERNEL(type, family, reduction) \
  {"hocket_reduce_" #type "_" #reduction, &cuda::reduce_share<cuda::families::family, cuda::Combine::reduction>},
  static const std::map<std::string, HostKernel> kernels = {HOCKET_CUDA_KERNELS(HOCKET_HOST_KERNEL)};
  const auto found = kernels.find(cuda::kernel_name(dtype, op));
  return found == kernels.end() ? nullptr : found->second;
}

}  // namespace hocket::testing_support
