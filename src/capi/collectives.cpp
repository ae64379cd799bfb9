// The C API's collectives, messages and work handles: translation only.
#include <algorithm>
#include <chrono>
#include <memory>

#include "src/base/sized_struct.hpp"
#include "src/capi/call.hpp"

using namespace hocket::capi;  // the functions of the API stand outside all namespaces
using hocket::Code;
using hocket::Collective;
using hocket::Status;

namespace hocket::capi {

hocket_result call(hocket_comm* comm, CallArguments arguments, const hocket_call_options* options,
                   hocket_work** work) noexcept {
  const hocket_result result = guarded([&]() -> Status {
    if (work != nullptr) *work = nullptr;
    if (comm == nullptr) return null_argument("comm");
    if (options != nullptr) {
      const auto given = read_sized(options);
      if (!given) {
        return {Code::invalid_argument, "options.struct_size is wrong: begin with HOCKET_CALL_OPTIONS_INIT"};
      }
      arguments.timeout_ms = given->timeout_ms;
      arguments.scalar = given->scalar;
      arguments.function = given->function;
      arguments.context = given->context;
      arguments.commutative = given->commutative != 0;
      arguments.wire = static_cast<int>(given->wire);
    }
    if (open_groups > 0) return add_to_group(*comm->communicator, arguments, work);
    auto operation = comm->communicator->prepare(arguments);
    if (!operation.ok()) return operation.status();
    if (work == nullptr) return remember(comm->communicator->run({&*operation, 1}), **operation);
    auto handle = std::make_unique<hocket_work>(hocket_work{{{{&comm->communicator->executor(), {*operation}}}}});
    if (Status status = comm->communicator->start({&*operation, 1}); !status.ok()) return status;
    *work = handle.release();
    return {};
  });
  return result == HOCKET_OK || open_groups == 0 ? result : in_group(result);
}

Result<Deadline> deadline_of_wait(int64_t timeout_ms) {
  if (timeout_ms < 0) {
    return Status(Code::invalid_argument, "timeout_ms is negative; use 0 for the operation's own deadline");
  }
  constexpr int64_t long_enough_ms = int64_t{1000} * 3600 * 24 * 365;
  const int64_t wait_ms = timeout_ms == 0 ? long_enough_ms : std::min(timeout_ms, long_enough_ms);
  return Deadline::after(std::chrono::milliseconds(wait_ms));
}

}  // namespace hocket::capi

extern "C" {

hocket_result hocket_allreduce(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op,
                               hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::allreduce, send, recv, count, dtype, op}, options, work);
}

hocket_result hocket_reduce(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op, int32_t root,
                            hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::reduce, send, recv, count, dtype, op, root}, options, work);
}

hocket_result hocket_reduce_scatter(const void* send, void* recv, size_t recvcount, hocket_dtype dtype, hocket_op op,
                                    hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::reduce_scatter, send, recv, recvcount, dtype, op}, options, work);
}

hocket_result hocket_allgather(const void* send, void* recv, size_t sendcount, hocket_dtype dtype, hocket_comm* comm,
                               const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::allgather, send, recv, sendcount, dtype}, options, work);
}

hocket_result hocket_broadcast(const void* send, void* recv, size_t count, hocket_dtype dtype, int32_t root,
                               hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::broadcast, send, recv, count, dtype, HOCKET_SUM, root}, options, work);
}

hocket_result hocket_scatter(const void* send, void* recv, size_t recvcount, hocket_dtype dtype, int32_t root,
                             hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::scatter, send, recv, recvcount, dtype, HOCKET_SUM, root}, options, work);
}

hocket_result hocket_gather(const void* send, void* recv, size_t sendcount, hocket_dtype dtype, int32_t root,
                            hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::gather, send, recv, sendcount, dtype, HOCKET_SUM, root}, options, work);
}

hocket_result hocket_alltoall(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_comm* comm,
                              const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::alltoall, send, recv, count, dtype}, options, work);
}

hocket_result hocket_scan(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op,
                          hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::scan, send, recv, count, dtype, op}, options, work);
}

hocket_result hocket_exscan(const void* send, void* recv, size_t count, hocket_dtype dtype, hocket_op op,
                            hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::exscan, send, recv, count, dtype, op}, options, work);
}

hocket_result hocket_barrier(hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(comm, {}, options, work);
}

hocket_result hocket_send(const void* send, size_t count, hocket_dtype dtype, int32_t peer, hocket_comm* comm,
                          const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::send, send, nullptr, count, dtype, HOCKET_SUM, peer}, options, work);
}

hocket_result hocket_recv(void* recv, size_t count, hocket_dtype dtype, int32_t peer, hocket_comm* comm,
                          const hocket_call_options* options, hocket_work** work) {
  return call(comm, {Collective::recv, nullptr, recv, count, dtype, HOCKET_SUM, peer}, options, work);
}

hocket_result hocket_work_test(hocket_work* work) {
  if (work != nullptr && !work->calls.finished()) return HOCKET_IN_PROGRESS;
  return guarded([&] { return work == nullptr ? null_argument("work") : remember(work->calls.status(), work->calls); });
}

hocket_result hocket_work_wait(hocket_work* work, int64_t timeout_ms) {
  return guarded([&]() -> Status {
    if (work == nullptr) return null_argument("work");
    const auto deadline = deadline_of_wait(timeout_ms);
    return deadline.ok() ? remember(work->calls.wait(*deadline), work->calls) : deadline.status();
  });
}

hocket_result hocket_work_release(hocket_work* work) {
  return guarded([&]() -> Status {
    delete work;
    return {};
  });
}

}  // extern "C"
