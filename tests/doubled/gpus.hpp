// The one GPU of a program that is linked with the double, tests/doubled/gpus.cpp.
#pragma once

#include "tests/support/host_gpu.hpp"

namespace hocket::testing_support {

// Made when it is asked for first, and never destroyed.
HostGpu& the_gpu();

}  // namespace hocket::testing_support
