// What the sources of the C API's collectives share: how a call is checked, prepared, and run or started.
#pragma once

#include <functional>

#include "src/capi/handles.hpp"

namespace hocket::capi {

// Blocks where `work` is null. `options` may be null, `comm` is checked.
hocket_result call(hocket_comm* comm, const CallArguments& arguments, const hocket_call_options* options,
                   hocket_work** work) noexcept;

// The same for what is several operations: `add` adds them to the open group, or to one of their own.
using AddTogether = std::function<Status(CallGroup&, const CallArguments&)>;
hocket_result call_together(hocket_comm* comm, CallArguments arguments, const hocket_call_options* options,
                            hocket_work** work, const AddTogether& add) noexcept;

}  // namespace hocket::capi
