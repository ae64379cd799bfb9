// The C API's calls that start together: groups and sendrecv.
#include <memory>

#include "src/base/sized_struct.hpp"
#include "src/capi/handles.hpp"

namespace hocket::capi {
namespace {

// What the calling thread's open group holds; a thread that ends takes it along.
thread_local CallGroup group;

Status run_or_start(CallGroup& calls, hocket_work** work) {
  auto handle = std::make_unique<hocket_work>();
  if (work == nullptr) return remember(calls.run(handle->calls), handle->calls);
  if (Status status = calls.start(handle->calls); !status.ok()) return status;
  *work = handle.release();
  return {};
}

// Before anything else is done with `work`.
Status check_group_is_open(hocket_work** work) {
  if (work != nullptr) *work = nullptr;
  if (open_groups > 0) return {};
  return {Code::invalid_argument, "this thread has no open group: hocket_group_start() begins one"};
}

}  // namespace

constinit thread_local int open_groups = 0;

Status add_to_group(Communicator& communicator, const CallArguments& arguments, hocket_work** work) {
  if (work == nullptr) return group.add(communicator, arguments);
  return {Code::invalid_argument, "work must be null inside a group: hocket_group_end() gives one handle for all"};
}

hocket_result in_group(hocket_result result) {
  if (result != HOCKET_OK) group.fail(latest_status());
  return result;
}

void forget_in_group(const Communicator& communicator) {
  group.forget(communicator);
}

}  // namespace hocket::capi

using namespace hocket::capi;  // the functions of the API stand outside all namespaces
using hocket::CallArguments;
using hocket::CallGroup;
using hocket::Code;
using hocket::Collective;
using hocket::Status;

extern "C" {

hocket_result hocket_sendrecv(const void* send, size_t sendcount, int32_t to, void* recv, size_t recvcount,
                              int32_t from, hocket_dtype dtype, hocket_comm* comm, const hocket_call_options* options,
                              hocket_work** work) {
  const hocket_result result = guarded([&]() -> Status {
    if (work != nullptr) *work = nullptr;
    if (comm == nullptr) return null_argument("comm");
    const auto given = hocket::read_sized(options);
    if (!given) return {Code::invalid_argument, "options.struct_size is wrong: begin with HOCKET_CALL_OPTIONS_INIT"};
    CallArguments sent{Collective::send, send, nullptr, sendcount, dtype, HOCKET_SUM, to, given->timeout_ms};
    CallArguments received{Collective::recv, nullptr, recv, recvcount, dtype, HOCKET_SUM, from, given->timeout_ms};
    sent.wire = received.wire = static_cast<int>(given->wire);
    const bool joins = open_groups > 0;
    if (joins && work != nullptr) return add_to_group(*comm->communicator, sent, work);
    CallGroup own;
    CallGroup& calls = joins ? group : own;
    if (Status status = calls.add_sendrecv(*comm->communicator, sent, received); !status.ok() || joins) return status;
    return run_or_start(own, work);
  });
  return result == HOCKET_OK || open_groups == 0 ? result : in_group(result);
}

hocket_result hocket_group_start(void) {
  if (open_groups++ == 0) group.drop();
  return HOCKET_OK;
}

hocket_result hocket_group_end(hocket_work** work) {
  return guarded([&]() -> Status {
    if (Status open = check_group_is_open(work); !open.ok()) return open;
    return --open_groups > 0 ? Status() : run_or_start(group, work);
  });
}

hocket_result hocket_group_cancel(void) {
  return guarded([]() -> Status {
    if (Status open = check_group_is_open(nullptr); !open.ok()) return open;
    group.fail({Code::aborted, "a part of the group was cancelled"});
    if (--open_groups == 0) group.drop();
    return {};
  });
}

}  // extern "C"
