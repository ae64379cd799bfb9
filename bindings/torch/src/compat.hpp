// All that differs between the versions of PyTorch. Where a newer version asks more of a backend than an older one,
// the classes here declare what is missing in the older one: there nobody calls it, and in the newer one the same
// declaration overrides PyTorch's. So no version has to be named but the first number.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/Allocator.h>

#include <cstring>

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <torch/csrc/distributed/c10d/Utils.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <torch/csrc/api/include/torch/version.h>

#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#endif

namespace hocket_torch {

#if TORCH_VERSION_MAJOR >= 2
// A process group holds one backend for each kind of device.
using TorchBase = c10d::Backend;
#else
using TorchBase = c10d::ProcessGroup;
#endif

using Handle = c10::intrusive_ptr<c10d::Work>;
using Tensors = std::vector<at::Tensor>;

// What ProcessGroupHocket is made from.
class Base : public TorchBase {
 public:
  using BaseHandle = c10::intrusive_ptr<TorchBase>;
  using StoreHandle = c10::intrusive_ptr<c10d::Store>;
  using OptionsHandle = c10::intrusive_ptr<TorchBase::Options>;

  using TorchBase::TorchBase;

  virtual Handle allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& options) = 0;
  virtual Handle allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                 const c10d::AllgatherOptions& options) = 0;
  virtual Handle reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                 const c10d::ReduceScatterOptions& options) = 0;
  virtual Handle gather_single(at::Tensor& output, at::Tensor& input, const c10d::GatherOptions& options) = 0;

  virtual bool supportsCoalescing() const = 0;
  virtual Handle endCoalescing() = 0;
  // PyTorch 1.13 waits for the works that it holds, and for no others.
  virtual void endCoalescing(std::vector<Handle>& held) = 0;  // NOLINT(modernize-use-override)

  virtual bool supportsSplitting() const = 0;
  virtual OptionsHandle getBackendOptions() = 0;
  virtual BaseHandle split(const StoreHandle& store, const std::vector<int>& ranks, const OptionsHandle& options) = 0;
  virtual BaseHandle merge(const StoreHandle& store, const OptionsHandle& options, const int& rank,
                           const int& size) = 0;

  // PyTorch 2 asks for it where a process names its device when it joins.
  virtual void eagerConnectSingleDevice(at::Device device) = 0;

  virtual void setTimeout(std::chrono::milliseconds timeout) = 0;
  virtual void abort() = 0;
};

// What an allocator is made from. Whether `allocate` is const, and whether an allocator must know how to copy, differs.
class AllocatorBase : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) { return give(bytes); }
  c10::DataPtr allocate(std::size_t bytes) const { return give(bytes); }  // NOLINT(modernize-use-override)
  virtual void copy_data(void* to, const void* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }

 private:
  virtual c10::DataPtr give(std::size_t bytes) const = 0;
};

// The tensor with the factor of a premultiplied sum; undefined if the factor is a number.
template <class Supplement>
at::Tensor factor_tensor(const Supplement& supplement) {
  if constexpr (requires { supplement.tensor_factors; }) {
    return supplement.tensor_factors.empty() ? at::Tensor() : supplement.tensor_factors.front();
  } else {
    return supplement.tensor_factor;
  }
}

}  // namespace hocket_torch
