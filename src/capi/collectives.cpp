// The C API's collectives and messages: translation only.
#include <fmt/format.h>

#include <cstdint>

#include "src/capi/call.hpp"

using namespace hocket::capi;  // the functions of the API stand outside all namespaces
using hocket::Code;
using hocket::Collective;
using hocket::Status;

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
        return {Code::invalid_argument, fmt::format("collective is {}, which is not a hocket_collective", number)};
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
  return call(comm, {Collective::barrier}, options, work);
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
