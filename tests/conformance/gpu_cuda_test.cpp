// The GPU of this machine; without one these tests are skipped. tools/gpu-check runs them where they must not be.
#include "src/cuda/open_gpu.hpp"
#include "tests/conformance/gpu_suite.hpp"

namespace hocket::testing_support {

struct CudaMaker {
  static Result<std::unique_ptr<Gpu>> make() { return cuda::open_gpu(0); }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Cuda, GpuSuite, CudaMaker);

}  // namespace hocket::testing_support
