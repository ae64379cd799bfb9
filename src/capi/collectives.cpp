// The C API's collectives and messages: translation only.
#include <fmt/format.h>

#include <cstdint>
#include <memory>

#include "src/base/sized_struct.hpp"
#include "src/capi/call.hpp"
#include "src/comm/operations.hpp"

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
      if (Status status = read_options(options, arguments); !status.ok()) return status;
    }
    if (open_groups > 0) return add_to_group(*comm->communicator, arguments, work);
    if (work == nullptr && !may_wait()) return wait_refused();
    if (arguments.persistent && work == nullptr) return persistent_without_work();
    auto operation = comm->communicator->prepare(arguments);
    if (!operation.ok()) return operation.status();
    if (work == nullptr) return remember(comm->communicator->run({&*operation, 1}), **operation);
    StartedCalls calls{{{&comm->communicator->executor(), {*operation}}}};
    if (arguments.persistent) return keep(*comm->communicator, std::move(calls), work);
    (*operation)->allow_callback();
    auto handle = std::make_unique<hocket_work>(std::move(calls));
    if (Status status = comm->communicator->start({&*operation, 1}); !status.ok()) return status;
    *work = handle.release();
    return {};
  });
  return result == HOCKET_OK || open_groups == 0 ? result : in_group(result);
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

hocket_result hocket_call(hocket_collective collective, const void* send, void* recv, size_t count, hocket_dtype dtype,
                          hocket_op op, int32_t root, hocket_comm* comm, const hocket_call_options* options,
                          hocket_work** work) {
  const int number = collective;
  const bool in_table = number >= 0 && number <= UINT8_MAX && is_known(static_cast<Collective>(number));
  const hocket::CollectiveInfo& info = in_table ? info_of(static_cast<Collective>(number)) : hocket::unknown_collective;
  if (!in_table || info.has_unequal_blocks()) {
    const hocket_result refused = guarded([&]() -> Status {
      if (!in_table)
        return {Code::invalid_argument, fmt::format("collective is {}, which is no hocket_collective", number)};
      return {Code::invalid_argument, fmt::format("{0} needs counts: call hocket_{0}", info.name)};
    });
    return open_groups == 0 ? refused : in_group(refused);
  }
  hocket::comm::CallArguments arguments{info.collective, send, recv};
  if (info.chunks != hocket::Chunks::token) arguments.count = count, arguments.dtype = dtype;
  if (info.reduces()) arguments.op = op;
  if (info.takes_root()) arguments.root = root;
  return call(comm, arguments, options, work);
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

hocket_result hocket_recv_any(void* recv, size_t count, hocket_dtype dtype, int32_t* source, hocket_comm* comm,
                              const hocket_call_options* options, hocket_work** work) {
  hocket::comm::CallArguments arguments{Collective::recv, nullptr, recv, count, dtype, HOCKET_SUM, hocket::no_rank};
  arguments.from_any = true;
  arguments.source = source;
  return call(comm, arguments, options, work);
}

}  // extern "C"
