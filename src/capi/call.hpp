// What the sources of the C API's collectives share: how a call is checked, prepared, and run or started.
#pragma once

#include <functional>

#include "src/capi/handles.hpp"

namespace hocket::capi {

// A call that is not like the one before, or has options or a handle; its options go into `arguments`.
hocket_result call_anew(hocket_comm* comm, CallArguments& arguments, const hocket_call_options* options,
                        hocket_work** work) noexcept;

using comm::another_call;

// Carries out a blocking call that is like the one before; how it ended is remembered. See Communicator.
[[gnu::always_inline]] inline Code run_again(Communicator& communicator, const CallArguments& arguments) {
  if (open_groups != 0 || !may_wait()) return another_call;
  return communicator.run_again(arguments, &remember_again);
}

// Starts a message that is like the one before; `arguments` are a message's. False: it is another one, or others are
// busy with that one, and nothing has happened.
bool start_again(Communicator& communicator, const CallArguments& arguments, hocket_work** work);

// Blocks where `work` is null. `options` may be null, `comm` is checked. Mostly a blocking call, and a message, is like
// the one before, and then this is all.
[[gnu::always_inline]] inline hocket_result call(hocket_comm* comm, CallArguments& arguments,
                                                 const hocket_call_options* options, hocket_work** work) noexcept try {
  if (options == nullptr && work == nullptr && comm != nullptr) {
    const Code ended = run_again(*comm->communicator, arguments);
    if (ended != another_call) return static_cast<hocket_result>(ended);
  } else if (comm::is_message(arguments) && comm != nullptr && work != nullptr && open_groups == 0 &&
             take_options(options, arguments)) {
    if (start_again(*comm->communicator, arguments, work)) return HOCKET_OK;
  }
  return call_anew(comm, arguments, options, work);
} catch (...) {
  if (work != nullptr) *work = nullptr;
  return report(caught.status());
}
[[gnu::always_inline]] inline hocket_result call(hocket_comm* comm, CallArguments&& arguments,
                                                 const hocket_call_options* options, hocket_work** work) noexcept {
  return call(comm, arguments, options, work);
}

// The same for what is several operations: `add` adds them to the open group, or to one of their own.
using AddTogether = std::function<Status(CallGroup&, const CallArguments&)>;
hocket_result call_together(hocket_comm* comm, CallArguments arguments, const hocket_call_options* options,
                            hocket_work** work, const AddTogether& add) noexcept;

}  // namespace hocket::capi
