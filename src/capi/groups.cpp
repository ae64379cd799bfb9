// The C API's calls that start together: groups, sendrecv, and what lists share with them.
#include <functional>
#include <memory>
#include <utility>

#include "src/capi/call.hpp"

namespace hocket::capi {
namespace {

// What the calling thread's open group holds; a thread that ends takes it along.
thread_local CallGroup group;

Status run_or_start(CallGroup& calls, hocket_work** work) {
  if (work == nullptr && !may_wait()) {
    calls.drop();
    return wait_refused();
  }
  NewWork handle = new_work();
  if (work == nullptr) return remember(calls.run(handle->calls), *handle);
  if (Status status = calls.start(handle->calls); !status.ok()) return status;
  *work = handle.release();
  return {};
}

Status keep_persistent(CallGroup& calls, Communicator& communicator, hocket_work** work) {
  StartedCalls kept;
  Status status = calls.keep(kept);
  return status.ok() ? keep(communicator, std::move(kept), work) : status;
}

// Whether a call may be in a group.
Status check_member(const CallArguments& arguments, hocket_work** work) {
  if (arguments.persistent) {
    return {
        Code::invalid_argument,
        "options.persistent has no meaning inside a group: make persistent calls before it, and start them there or "
        "anywhere"};
  }
  if (work == nullptr) return {};
  return {Code::invalid_argument, "work must be null inside a group: hocket_group_end() gives one handle for all"};
}

// Carries out a blocking one that is like the one before; its result, see Communicator.
Code run_sendrecv_again(hocket_comm* comm, CallArguments& sent, CallArguments& received,
                        const hocket_call_options* options, hocket_work** work) noexcept try {
  if (comm == nullptr || work != nullptr || open_groups > 0 || !may_wait()) return another_call;
  if (!take_options(options, sent) || !take_options(options, received)) return another_call;
  return CallGroup::run_again(*comm->communicator, sent, received, &remember_again);
} catch (...) {
  return static_cast<Code>(report(caught.status()));
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
  Status fits = check_member(arguments, work);
  return fits.ok() ? group.add(communicator, arguments) : fits;
}

hocket_result call_together(hocket_comm* comm, CallArguments arguments, const hocket_call_options* options,
                            hocket_work** work, const AddTogether& add) noexcept {
  const hocket_result result = guarded([&]() -> Status {
    if (work != nullptr) *work = nullptr;
    if (comm == nullptr) return null_argument("comm");
    if (options != nullptr) {
      if (Status status = read_options(options, arguments); !status.ok()) return status;
    }
    if (open_groups > 0) {
      Status fits = check_member(arguments, work);
      return fits.ok() ? add(group, arguments) : fits;
    }
    if (arguments.persistent && work == nullptr) return persistent_without_work();
    CallGroup own;
    if (Status status = add(own, arguments); !status.ok()) return status;
    return arguments.persistent ? keep_persistent(own, *comm->communicator, work) : run_or_start(own, work);
  });
  return result == HOCKET_OK || open_groups == 0 ? result : in_group(result);
}

hocket_result in_group(hocket_result result) {
  if (result != HOCKET_OK) group.fail(latest_status());
  return result;
}

void forget_in_group(const Communicator& communicator) {
  group.forget(communicator);
}

WithoutGroups::WithoutGroups() : open_(std::exchange(open_groups, 0)) {
  if (open_ > 0) kept_.swap(group);
}

WithoutGroups::~WithoutGroups() {
  if (open_groups > 0) group.drop();
  if (open_ > 0) group.swap(kept_);
  open_groups = open_;
}

}  // namespace hocket::capi

using namespace hocket::capi;  // the functions of the API stand outside all namespaces
using hocket::Code;
using hocket::Collective;
using hocket::Status;
using hocket::comm::CallArguments;
using hocket::comm::CallGroup;

extern "C" {

hocket_result hocket_sendrecv(const void* send, size_t sendcount, int32_t to, void* recv, size_t recvcount,
                              int32_t from, hocket_dtype dtype, hocket_comm* comm, const hocket_call_options* options,
                              hocket_work** work) {
  CallArguments sent{Collective::send, send, nullptr, sendcount, dtype, HOCKET_SUM, to};
  CallArguments received{Collective::recv, nullptr, recv, recvcount, dtype, HOCKET_SUM, from};
  sent.in_group = received.in_group = true;
  const Code ended = run_sendrecv_again(comm, sent, received, options, work);
  if (ended != another_call) return static_cast<hocket_result>(ended);
  const auto add = [&](CallGroup& calls, const CallArguments&) {
    for (CallArguments* const half : {&sent, &received}) {
      if (Status wrong = read_options(options, *half); !wrong.ok()) return wrong;
    }
    return calls.add_sendrecv(*comm->communicator, sent, received);
  };
  return call_together(comm, {.dtype = dtype}, options, work, std::ref(add));
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
