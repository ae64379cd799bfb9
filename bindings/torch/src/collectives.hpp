// The calls of a process group, as functions on a Group. Each checks what torch passes, and starts one work.
#pragma once

#include "bindings/torch/src/group.hpp"
#include "bindings/torch/src/work.hpp"

namespace hocket_torch {

using TensorLists = std::vector<Tensors>;
using Splits = std::vector<std::int64_t>;

// All ranks have the same.
Handle broadcast(Group& group, Tensors& tensors, const c10d::BroadcastOptions& options);
Handle allreduce(Group& group, Tensors& tensors, const c10d::AllreduceOptions& options);
Handle allreduce_sparse(Group& group, const at::Tensor& tensor, const c10d::AllreduceOptions& options);
Handle allreduce_coalesced(Group& group, Tensors& tensors, const c10d::AllreduceCoalescedOptions& options);
Handle reduce(Group& group, Tensors& tensors, const c10d::ReduceOptions& options);
Handle barrier(Group& group, const c10d::BarrierOptions& options);
// Through the store; returns when all ranks have come.
void monitored_barrier(Group& group, const c10d::BarrierOptions& options, bool wait_all_ranks);

// Every rank has a block.
Handle allgather(Group& group, TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options);
Handle allgather_coalesced(Group& group, TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options);
Handle gather(Group& group, TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& options);
Handle scatter(Group& group, Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& options);
Handle reduce_scatter(Group& group, Tensors& outputs, TensorLists& inputs, const c10d::ReduceScatterOptions& options);

// The same, where the blocks of all ranks are one tensor; and on several such pairs of tensors as one call.
Handle allgather_base(Group& group, at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options);
Handle allgather_base_list(Group& group, Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& options);
Handle gather_base(Group& group, at::Tensor& output, at::Tensor& input, const c10d::GatherOptions& options);
Handle reduce_scatter_base(Group& group, at::Tensor& output, at::Tensor& input,
                           const c10d::ReduceScatterOptions& options);
Handle reduce_scatter_base_list(Group& group, Tensors& outputs, Tensors& inputs,
                                const c10d::ReduceScatterOptions& options);

// Every rank has something for every rank.
Handle alltoall_base(Group& group, at::Tensor& output, at::Tensor& input, Splits& output_splits, Splits& input_splits,
                     const c10d::AllToAllOptions& options);
Handle alltoall(Group& group, Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options);

// Messages.
Handle send(Group& group, Tensors& tensors, int to, int tag);
Handle receive(Group& group, Tensors& tensors, int from, int tag);
Handle receive_from_anybody(Group& group, Tensors& tensors, int tag);

}  // namespace hocket_torch
