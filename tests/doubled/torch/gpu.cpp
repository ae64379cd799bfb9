#include "tests/doubled/torch/gpu.hpp"

#include "tests/doubled/gpus.hpp"

using hocket::testing_support::the_gpu;

extern "C" {

[[gnu::visibility("default")]] hocket::Gpu& hocket_double_gpu() {
  return the_gpu();
}

[[gnu::visibility("default")]] void hocket_double_put(hocket::GpuStream stream, std::function<void()> work) {
  the_gpu().put(stream, std::move(work));
}

[[gnu::visibility("default")]] void* hocket_double_touched(const void* data) {
  return the_gpu().touched(data);
}

}  // extern "C"
