#include "src/capi/call.hpp"

#include <memory>
#include <utility>

namespace hocket::capi {
namespace {

Status carry_out(hocket_comm* comm, const CallArguments& arguments, hocket_work** work) {
  if (open_groups > 0) return add_to_group(*comm->communicator, arguments, work);
  if (work == nullptr && !may_wait()) return wait_refused();
  if (arguments.persistent && work == nullptr) return persistent_without_work();
  auto operation = comm->communicator->prepare(arguments);
  if (!operation.ok()) return operation.status();
  if (work == nullptr) {
    Status status = comm->communicator->run({&*operation, 1});
    if (status.ok()) remember(**operation);
    comm::let_go(**operation);
    return status;
  }
  StartedCalls calls = comm->communicator->calls_of(std::move(*operation));
  if (arguments.persistent) return keep(*comm->communicator, std::move(calls), work);
  auto handle = std::make_unique<hocket_work>(std::move(calls));
  handle->calls.allow_callback();
  const auto& operations = handle->calls.parts.front().operations;
  if (Status status = comm->communicator->start(operations); !status.ok()) return status;
  *work = handle.release();
  return {};
}

Status carry_out_with(const hocket_call_options* options, hocket_comm* comm, CallArguments arguments,
                      hocket_work** work) {
  if (Status status = read_options(options, arguments); !status.ok()) return status;
  if (work == nullptr) {
    const Code ended = run_again(*comm->communicator, arguments);
    if (ended != another_call) return ended == Code::ok ? Status() : latest_status();
  }
  return carry_out(comm, arguments, work);
}

}  // namespace

hocket_result call_anew(hocket_comm* comm, const CallArguments& arguments, const hocket_call_options* options,
                        hocket_work** work) noexcept {
  const hocket_result result = guarded([&]() -> Status {
    if (work != nullptr) *work = nullptr;
    if (comm == nullptr) return null_argument("comm");
    return options == nullptr ? carry_out(comm, arguments, work) : carry_out_with(options, comm, arguments, work);
  });
  return result == HOCKET_OK || open_groups == 0 ? result : in_group(result);
}

}  // namespace hocket::capi
