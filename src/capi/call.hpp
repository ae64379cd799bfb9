// What the sources of the C API's collectives share: how a call is checked, prepared, and run or started.
#pragma once

#include "src/capi/handles.hpp"

namespace hocket::capi {

// Blocks where `work` is null. `options` may be null, `comm` is checked.
hocket_result call(hocket_comm* comm, CallArguments arguments, const hocket_call_options* options,
                   hocket_work** work) noexcept;

}  // namespace hocket::capi
