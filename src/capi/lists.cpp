// The C API's collectives on lists of tensors: translation only.
#include <functional>

#include "src/capi/call.hpp"

using hocket::Collective;
using hocket::comm::CallArguments;
using hocket::comm::CallGroup;

namespace {

// `arguments`: what is the same for all tensors.
hocket_result call(const hocket_tensor* tensors, size_t number, hocket_comm* comm, const CallArguments& arguments,
                   const hocket_call_options* options, hocket_work** work) noexcept {
  const auto add = [&](CallGroup& group, const CallArguments& given) {
    return group.add_list(*comm->communicator, given, {tensors, number});
  };
  return hocket::capi::call_together(comm, arguments, options, work, std::ref(add));
}

}  // namespace

extern "C" {

hocket_result hocket_allreduce_list(const hocket_tensor* tensors, size_t number, hocket_op op, hocket_comm* comm,
                                    const hocket_call_options* options, hocket_work** work) {
  return call(tensors, number, comm, {.collective = Collective::allreduce, .op = op}, options, work);
}

hocket_result hocket_reduce_list(const hocket_tensor* tensors, size_t number, hocket_op op, int32_t root,
                                 hocket_comm* comm, const hocket_call_options* options, hocket_work** work) {
  return call(tensors, number, comm, {.collective = Collective::reduce, .op = op, .root = root}, options, work);
}

hocket_result hocket_reduce_scatter_list(const hocket_tensor* tensors, size_t number, hocket_op op, hocket_comm* comm,
                                         const hocket_call_options* options, hocket_work** work) {
  return call(tensors, number, comm, {.collective = Collective::reduce_scatter, .op = op}, options, work);
}

hocket_result hocket_allgather_list(const hocket_tensor* tensors, size_t number, hocket_comm* comm,
                                    const hocket_call_options* options, hocket_work** work) {
  return call(tensors, number, comm, {.collective = Collective::allgather}, options, work);
}

hocket_result hocket_broadcast_list(const hocket_tensor* tensors, size_t number, int32_t root, hocket_comm* comm,
                                    const hocket_call_options* options, hocket_work** work) {
  return call(tensors, number, comm, {.collective = Collective::broadcast, .root = root}, options, work);
}

}  // extern "C"
