// The double of a GPU as the test's device of torch sees it. It lies in a libhocket that is linked with it.
#pragma once

#include <functional>

#include "src/spi/gpu.hpp"

// Of the process; made when it is asked for first, and never destroyed.
extern "C" hocket::Gpu& hocket_double_gpu();
// Work of a program's own, and where the threads of streams find what lies at this address; see HostGpu.
extern "C" void hocket_double_put(hocket::GpuStream stream, std::function<void()> work);
extern "C" void* hocket_double_touched(const void* data);
