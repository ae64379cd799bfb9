#include "bench/lists.hpp"

#include <vector>

namespace hocket::bench {

bool has_list(Kind kind) {
  return kind == Kind::allreduce || kind == Kind::reduce || kind == Kind::broadcast;
}

hocket_result call_list(const Case& what, hocket_comm* comm, const void* send, void* recv,
                        const hocket_call_options& options, hocket_work** work) {
  const auto dtype = static_cast<hocket_dtype>(what.dtype);
  const auto op = static_cast<hocket_op>(what.op);
  const std::size_t tensors = what.tensors, element_bytes = size_of(what.dtype);
  std::vector<hocket_tensor> list;
  list.reserve(tensors);
  std::size_t begin = 0;
  for (std::size_t tensor = 0; tensor < tensors; ++tensor) {
    const std::size_t count = what.count / tensors + (tensor < what.count % tensors ? 1 : 0);
    const auto* from = static_cast<const std::byte*>(send);
    auto* to = static_cast<std::byte*>(recv);
    list.push_back({from == nullptr ? nullptr : from + begin * element_bytes,
                    to == nullptr ? nullptr : to + begin * element_bytes, count, dtype});
    begin += count;
  }
  switch (what.collective->kind) {
    case Kind::allreduce: return hocket_allreduce_list(list.data(), tensors, op, comm, &options, work);
    case Kind::reduce: return hocket_reduce_list(list.data(), tensors, op, what.root, comm, &options, work);
    default: return hocket_broadcast_list(list.data(), tensors, what.root, comm, &options, work);
  }
}

}  // namespace hocket::bench
