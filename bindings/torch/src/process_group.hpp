// ProcessGroupHocket: a group of torch.distributed whose ranks speak through Hocket.
#pragma once

#include <algorithm>

#include "bindings/torch/src/collectives.hpp"

namespace hocket_torch {

// Says in torch's words what the functions of collectives.hpp do.
class ProcessGroupHocket : public Base {
 public:
  explicit ProcessGroupHocket(const GroupOptions& options) : Base(options.rank, options.size), group_(options) {}

  const std::string getBackendName() const override { return "hocket"; }

  Handle broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override {
    return hocket_torch::broadcast(group_, tensors, options);
  }
  Handle allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return hocket_torch::allreduce(group_, tensors, options);
  }
  Handle allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override {
    return hocket_torch::allreduce_coalesced(group_, tensors, options);
  }
  Handle allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) override {
    return hocket_torch::allreduce_sparse(group_, only("allreduce_sparse", tensors), options);
  }
  Handle reduce(Tensors& tensors, const c10d::ReduceOptions& options) override {
    return hocket_torch::reduce(group_, tensors, options);
  }
  Handle allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override {
    return hocket_torch::allgather(group_, outputs, inputs, options);
  }
  Handle _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override {
    return allgather_base(group_, output, input, options);
  }
  Handle allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                         const c10d::AllgatherOptions& options) override {
    return allgather_base_list(group_, outputs, inputs, options);
  }
  Handle allgather_coalesced(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override {
    return hocket_torch::allgather_coalesced(group_, outputs, inputs, options);
  }
  Handle gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& options) override {
    return hocket_torch::gather(group_, outputs, inputs, options);
  }
  Handle gather_single(at::Tensor& output, at::Tensor& input, const c10d::GatherOptions& options) override {
    return gather_base(group_, output, input, options);
  }
  Handle scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& options) override {
    return hocket_torch::scatter(group_, outputs, inputs, options);
  }
  Handle reduce_scatter(Tensors& outputs, TensorLists& inputs, const c10d::ReduceScatterOptions& options) override {
    return hocket_torch::reduce_scatter(group_, outputs, inputs, options);
  }
  Handle _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                              const c10d::ReduceScatterOptions& options) override {
    return reduce_scatter_base(group_, output, input, options);
  }
  Handle reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                         const c10d::ReduceScatterOptions& options) override {
    return reduce_scatter_base_list(group_, outputs, inputs, options);
  }
  Handle alltoall_base(at::Tensor& output, at::Tensor& input, Splits& output_splits, Splits& input_splits,
                       const c10d::AllToAllOptions& options) override {
    return hocket_torch::alltoall_base(group_, output, input, output_splits, input_splits, options);
  }
  Handle alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override {
    return hocket_torch::alltoall(group_, outputs, inputs, options);
  }
  Handle barrier(const c10d::BarrierOptions& options) override { return hocket_torch::barrier(group_, options); }
  void monitoredBarrier(const c10d::BarrierOptions& options, bool wait_all_ranks) override {
    monitored_barrier(group_, options, wait_all_ranks);
  }

  Handle send(Tensors& tensors, int to, int tag) override { return hocket_torch::send(group_, tensors, to, tag); }
  Handle recv(Tensors& tensors, int from, int tag) override { return receive(group_, tensors, from, tag); }
  Handle recvAnysource(Tensors& tensors, int tag) override { return receive_from_anybody(group_, tensors, tag); }

  bool supportsCoalescing() const override { return true; }
  void startCoalescing() override { group_.coalescing().start(); }
  Handle endCoalescing() override { return group_.coalescing().end(); }
  void endCoalescing(std::vector<Handle>& held) override { group_.coalescing().end(held); }

  void setSequenceNumberForGroup() override { group_.set_sequence(0); }
  std::uint64_t getSequenceNumberForGroup() override { return group_.sequence(); }
  void setTimeout(std::chrono::milliseconds timeout) override { group_.set_timeout(timeout); }

  // Groups of some of the ranks, or with others. Only those who will be in it meet.
  bool supportsSplitting() const override { return true; }
  OptionsHandle getBackendOptions() override {
    return c10::make_intrusive<TorchBase::Options>(getBackendName(), group_.timeout());
  }
  BaseHandle split(const StoreHandle& store, const std::vector<int>& ranks, const OptionsHandle& options) override {
    const auto found = std::find(ranks.begin(), ranks.end(), group_.rank());
    if (found == ranks.end()) return {};
    return meet_on(store, static_cast<int>(found - ranks.begin()), static_cast<int>(ranks.size()), options,
                   group_.name() + "/split");
  }
  BaseHandle merge(const StoreHandle& store, const OptionsHandle& options, const int& rank, const int& size) override {
    return meet_on(store, rank, size, options, "torch/merged");
  }

  void eagerConnectSingleDevice(at::Device) override {}  // all ranks are connected when the group is made

  void abort() override { group_.abort("the program aborted the group"); }
  void abort(const std::string& reason) { group_.abort(reason); }

 private:
  BaseHandle meet_on(const StoreHandle& store, int rank, int size, const OptionsHandle& options,
                     const std::string& name) const {
    return c10::make_intrusive<ProcessGroupHocket>(
        GroupOptions{.store = store,
                     .rank = rank,
                     .size = size,
                     .timeout = options ? options->timeout : group_.timeout(),
                     .name = name});
  }

  Group group_;
};

}  // namespace hocket_torch
