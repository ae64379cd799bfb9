// Where libhocket_heap.so is, which hocket-run --shared-heap preloads into the ranks.
#pragma once

#include <string>

#include "src/spi/status.hpp"

namespace hocket::launch {

// Its path. Errors: NOT_FOUND, where this build has none, or where it does not lie beside this program as it was built
// or installed.
Result<std::string> shared_heap_library();

}  // namespace hocket::launch
