// Collectives in which all ranks have the same: broadcast, allreduce, reduce, barrier.
#include <ATen/core/LegacyTypeDispatch.h>

#include "bindings/torch/src/call.hpp"
#include "bindings/torch/src/collectives.hpp"

namespace hocket_torch {
namespace {

using c10d::OpType;

// Several tensors of one process count as one: what a list of them has in common, element by element.
at::Tensor combined(const char* call, c10d::ReduceOp::RedOpType op, const Tensors& tensors) {
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  at::Tensor result = tensors.front().clone();
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    switch (op) {
      case c10d::ReduceOp::SUM: result.add_(tensors[i]); break;
      case c10d::ReduceOp::PRODUCT: result.mul_(tensors[i]); break;
      case c10d::ReduceOp::MIN: result = at::minimum(result, tensors[i]); break;
      case c10d::ReduceOp::MAX: result = at::maximum(result, tensors[i]); break;
      case c10d::ReduceOp::BAND: result.bitwise_and_(tensors[i]); break;
      case c10d::ReduceOp::BOR: result.bitwise_or_(tensors[i]); break;
      case c10d::ReduceOp::BXOR: result.bitwise_xor_(tensors[i]); break;
      default: refuse(call, "several tensors in one process: this reduction takes one");
    }
  }
  return result;
}

// Copies what is in one of the tensors to all others.
std::function<void()> spread(const at::Tensor& from, const Tensors& to) {
  return [from, to] {
    for (const at::Tensor& tensor : to) {
      if (!tensor.is_same(from)) tensor.copy_(from);
    }
  };
}

}  // namespace

Handle broadcast(Group& group, Tensors& tensors, const c10d::BroadcastOptions& options) {
  check_root("broadcast", options.rootRank, group.size());
  if (options.rootTensor < 0 || options.rootTensor >= static_cast<std::int64_t>(tensors.size())) {
    refuse("broadcast", "invalid root tensor: " + std::to_string(options.rootTensor));
  }
  const at::Tensor& tensor = tensors[static_cast<std::size_t>(options.rootTensor)];
  check_alike("broadcast", tensors, tensor);
  Call call(group, options.timeout);
  void* data = call.changes(tensor);
  if (tensors.size() > 1) call.then(spread(tensor, tensors));
  const auto [type, width] = moved_type_of(tensor);
  return call.start(
      OpType::BROADCAST, "hocket:broadcast", tensors, tensors, [&, type = type, width = width](hocket_work** work) {
        return hocket_broadcast(data, data, elements(tensor) * width, type, static_cast<std::int32_t>(options.rootRank),
                                call.comm(), call.options(), work);
      });
}

Handle allreduce(Group& group, Tensors& tensors, const c10d::AllreduceOptions& options) {
  if (tensors.size() == 1 && tensors.front().is_sparse()) return allreduce_sparse(group, tensors.front(), options);
  if (tensors.empty()) refuse("allreduce", "requires non-empty tensor list");
  check_alike("allreduce", tensors, tensors.front());
  const bool several = tensors.size() > 1;
  const at::Tensor tensor = several ? combined("allreduce", options.reduceOp, tensors) : tensors.front();
  const Reduction reduction("allreduce", options.reduceOp, tensor);
  Call call(group, options.timeout);
  call.reduces(reduction);
  void* data = call.changes(tensor);
  if (several) call.then(spread(tensor, tensors));
  return call.start(OpType::ALLREDUCE, "hocket:all_reduce", tensors, tensors, [&](hocket_work** work) {
    return hocket_allreduce(data, data, elements(tensor), reduction.type(), reduction.op(), call.comm(), call.options(),
                            work);
  });
}

Handle allreduce_coalesced(Group& group, Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) {
  check_tensors("allreduce_coalesced", tensors);
  const Reduction first("allreduce_coalesced", options.reduceOp, tensors.front());
  Call call(group, options.timeout);
  call.reduces(first);
  std::vector<hocket_tensor> list;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.scalar_type() != tensors.front().scalar_type()) {
      refuse("allreduce_coalesced", "tensors must all have the same type");
    }
    void* data = call.changes(tensor);
    list.push_back({data, data, elements(tensor), type_of("allreduce_coalesced", tensor)});
  }
  return call.start(OpType::ALLREDUCE_COALESCED, "hocket:all_reduce", tensors, tensors, [&](hocket_work** work) {
    return hocket_allreduce_list(list.data(), list.size(), first.op(), call.comm(), call.options(), work);
  });
}

Handle reduce(Group& group, Tensors& tensors, const c10d::ReduceOptions& options) {
  const at::Tensor& tensor = only("reduce", tensors);
  check_root("reduce", options.rootRank, group.size());
  if (options.rootTensor != 0) refuse("reduce", "invalid root tensor: " + std::to_string(options.rootTensor));
  const Reduction reduction("reduce", options.reduceOp, tensor);
  Call call(group, options.timeout);
  call.reduces(reduction);
  void* data = options.rootRank == group.rank() ? call.changes(tensor) : call.reads(tensor);
  return call.start(OpType::REDUCE, "hocket:reduce", tensors, tensors, [&](hocket_work** work) {
    return hocket_reduce(data, data, elements(tensor), reduction.type(), reduction.op(),
                         static_cast<std::int32_t>(options.rootRank), call.comm(), call.options(), work);
  });
}

Handle barrier(Group& group, const c10d::BarrierOptions& options) {
  Call call(group, options.timeout);
  return call.start(OpType::BARRIER, "hocket:barrier", Tensors(), Tensors(),
                    [&](hocket_work** work) { return hocket_barrier(call.comm(), call.options(), work); });
}

}  // namespace hocket_torch
