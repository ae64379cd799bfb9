// Memory that is registered from birth.
#pragma once

#include "src/base/region_table.hpp"

namespace hocket::comm {

// Code::invalid_argument for 0 bytes; out_of_resources; unsupported where memfds are forbidden.
Result<void*> allocate_shared(RegionTable& table, std::size_t bytes);
// Null is allowed. Code::invalid_argument for what allocate_shared() did not return.
Status free_shared(RegionTable& table, void* memory);

}  // namespace hocket::comm
