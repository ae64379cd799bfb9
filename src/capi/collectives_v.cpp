// The C API's collectives whose blocks vary: translation only.
#include "src/capi/call.hpp"

using hocket::Collective;
using hocket::capi::call;  // the functions of the API stand outside all namespaces

extern "C" {

hocket_result hocket_allgather_v(const void* send, size_t sendcount, void* recv, const size_t* recvcounts,
                                 const size_t* displacements, hocket_dtype dtype, hocket_comm* comm,
                                 const hocket_call_options* options, hocket_work** work) {
  hocket::comm::CallArguments arguments{Collective::allgather_v, send, recv, sendcount, dtype};
  arguments.blocks = {.recv_counts = recvcounts, .recv_displacements = displacements};
  return call(comm, arguments, options, work);
}

hocket_result hocket_reduce_scatter_v(const void* send, void* recv, const size_t* recvcounts, hocket_dtype dtype,
                                      hocket_op op, hocket_comm* comm, const hocket_call_options* options,
                                      hocket_work** work) {
  hocket::comm::CallArguments arguments{Collective::reduce_scatter_v, send, recv, 0, dtype, op};
  arguments.blocks = {.recv_counts = recvcounts};
  return call(comm, arguments, options, work);
}

hocket_result hocket_scatter_v(const void* send, const size_t* sendcounts, const size_t* displacements, void* recv,
                               size_t recvcount, hocket_dtype dtype, int32_t root, hocket_comm* comm,
                               const hocket_call_options* options, hocket_work** work) {
  hocket::comm::CallArguments arguments{Collective::scatter_v, send, recv, recvcount, dtype, HOCKET_SUM, root};
  arguments.blocks = {.send_counts = sendcounts, .send_displacements = displacements};
  return call(comm, arguments, options, work);
}

hocket_result hocket_gather_v(const void* send, size_t sendcount, void* recv, const size_t* recvcounts,
                              const size_t* displacements, hocket_dtype dtype, int32_t root, hocket_comm* comm,
                              const hocket_call_options* options, hocket_work** work) {
  hocket::comm::CallArguments arguments{Collective::gather_v, send, recv, sendcount, dtype, HOCKET_SUM, root};
  arguments.blocks = {.recv_counts = recvcounts, .recv_displacements = displacements};
  return call(comm, arguments, options, work);
}

hocket_result hocket_alltoall_v(const void* send, const size_t* sendcounts, const size_t* senddispls, void* recv,
                                const size_t* recvcounts, const size_t* recvdispls, hocket_dtype dtype,
                                hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  hocket::comm::CallArguments arguments{Collective::alltoall_v, send, recv, 0, dtype};
  arguments.blocks = {.send_counts = sendcounts,
                      .send_displacements = senddispls,
                      .recv_counts = recvcounts,
                      .recv_displacements = recvdispls};
  return call(comm, arguments, options, work);
}

}  // extern "C"
