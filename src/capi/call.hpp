// What the sources of the C API's collectives share: how a call is checked, prepared, and run or started.
#pragma once

#include <functional>

#include "src/capi/handles.hpp"

namespace hocket::capi {

// A call that is not like the one before.
hocket_result call_anew(hocket_comm* comm, const CallArguments& arguments, const hocket_call_options* options,
                        hocket_work** work) noexcept;

// Carries out a blocking call that is like the one before; `status` is its end. False: it is another one.
[[gnu::always_inline]] inline bool runs_again(Communicator& communicator, const CallArguments& arguments,
                                              Status& status) {
  return open_groups == 0 && may_wait() && communicator.run_again(arguments, status, &remember_again);
}

// Blocks where `work` is null. `options` may be null, `comm` is checked. Mostly a blocking call is like the one before,
// and then this is all.
[[gnu::always_inline]] inline hocket_result call(hocket_comm* comm, const CallArguments& arguments,
                                                 const hocket_call_options* options, hocket_work** work) noexcept try {
  if (options == nullptr && work == nullptr && comm != nullptr) {
    Status status;
    if (runs_again(*comm->communicator, arguments, status)) return status.ok() ? HOCKET_OK : report(status);
  }
  return call_anew(comm, arguments, options, work);
} catch (...) {
  return report(caught.status());
}

// The same for what is several operations: `add` adds them to the open group, or to one of their own.
using AddTogether = std::function<Status(CallGroup&, const CallArguments&)>;
hocket_result call_together(hocket_comm* comm, CallArguments arguments, const hocket_call_options* options,
                            hocket_work** work, const AddTogether& add) noexcept;

}  // namespace hocket::capi
