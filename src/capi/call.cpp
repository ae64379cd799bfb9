#include "src/capi/call.hpp"

#include <memory>
#include <utility>

namespace hocket::capi {
namespace {

Status run(Communicator& communicator, const CallArguments& arguments) {
  if (!may_wait()) return wait_refused();
  if (arguments.persistent) return persistent_without_work();
  auto operation = communicator.prepare(arguments);
  if (!operation.ok()) return operation.status();
  Status status = communicator.run({&*operation, 1});
  if (status.ok()) remember(**operation);
  comm::let_go(**operation);
  return status;
}

Status prepare_persistent(Communicator& communicator, const CallArguments& arguments, hocket_work** work) {
  auto operation = communicator.prepare(arguments);
  if (!operation.ok()) return operation.status();
  return keep(communicator, communicator.calls_of(std::move(*operation)), work);
}

Status start(Communicator& communicator, const CallArguments& arguments, hocket_work** work) {
  auto operation = communicator.prepare(arguments);
  if (!operation.ok()) return operation.status();
  NewWork handle = new_work();
  handle->calls = communicator.calls_of(std::move(*operation));
  handle->calls.allow_callback();
  if (Status status = communicator.start(handle->calls.part(0).operations); !status.ok()) return status;
  *work = handle.release();
  return {};
}

Status carry_out(Communicator& communicator, const CallArguments& arguments, hocket_work** work) {
  if (open_groups > 0) return add_to_group(communicator, arguments, work);
  if (work == nullptr) return run(communicator, arguments);
  return arguments.persistent ? prepare_persistent(communicator, arguments, work)
                              : start(communicator, arguments, work);
}

// A call that is checked, planned and bound.
[[gnu::noinline]] hocket_result call_in_full(hocket_comm* comm, CallArguments& arguments,
                                             const hocket_call_options* options, hocket_work** work) noexcept {
  const hocket_result result = guarded([&]() -> Status {
    if (work != nullptr) *work = nullptr;
    if (comm == nullptr) return null_argument("comm");
    Status read = options == nullptr ? Status() : read_options(options, arguments);
    return read.ok() ? carry_out(*comm->communicator, arguments, work) : read;
  });
  return result == HOCKET_OK || open_groups == 0 ? result : in_group(result);
}

}  // namespace

// Mostly it is over at once, and nothing is left but how that was done.
bool start_again(Communicator& communicator, const CallArguments& arguments, hocket_work** work) {
  NewWork handle = new_work();
  const auto started = communicator.start_again(arguments, handle->calls, handle->run, handle->facts);
  if (started == Started::no) return false;
  handle->over = started == Started::over;
  *work = handle.release();
  return true;
}

hocket_result call_anew(hocket_comm* comm, CallArguments& arguments, const hocket_call_options* options,
                        hocket_work** work) noexcept try {
  if (comm != nullptr && open_groups == 0 && work == nullptr && options != nullptr &&
      take_options(options, arguments)) {
    const Code ended = run_again(*comm->communicator, arguments);
    if (ended != another_call) return static_cast<hocket_result>(ended);
  }
  return call_in_full(comm, arguments, options, work);
} catch (...) {
  if (work != nullptr) *work = nullptr;
  return report(caught.status());
}

}  // namespace hocket::capi
