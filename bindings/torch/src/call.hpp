// Call: one collective, from the arguments of torch to a work.
#pragma once

#include "bindings/torch/src/collectives.hpp"
#include "bindings/torch/src/layout.hpp"

namespace hocket_torch {

// A reduction as Hocket wants it.
class Reduction {
 public:
  Reduction(const char* call, const c10d::ReduceOp& op, const at::Tensor& tensor);
  hocket_op op() const { return op_; }
  hocket_dtype type() const { return type_; }
  // For the options of a call; null unless premultiplied. Valid as long as this object.
  const void* scalar() const { return scalar_.defined() ? scalar_.data_ptr() : nullptr; }

 private:
  hocket_dtype type_;
  hocket_op op_ = HOCKET_SUM;
  at::Tensor scalar_;
};

// Collects what a work needs, then starts it.
class Call {
 public:
  Call(Group& group, std::chrono::milliseconds timeout);

  hocket_comm* comm() const { return group_.comm().get(); }
  const hocket_call_options* options() const { return &options_; }
  void reduces(const Reduction& reduction) { options_.scalar = reduction.scalar(); }
  // Memory that the call reads, writes or both, as a tensor without gaps; kept until the call is complete.
  void* reads(const at::Tensor& tensor) { return keep(packed(tensor)); }
  void* reads(const Tensors& tensors) { return keep(joined(tensors)); }
  void* changes(const at::Tensor& tensor) { return keep(packed(tensor, started_.finish)); }
  void* writes(const Tensors& tensors) { return keep(room_for(tensors, started_.finish)); }
  void* keep(at::Tensor tensor);
  // Blocks for the ranks, in place if they may be; `other` is what the same call writes or reads, see in_place().
  Layout reads_blocks(const Tensors& blocks, const Tensors& other);
  Layout writes_blocks(const Tensors& blocks, const Tensors& other);
  // What else is to happen when the call is complete.
  void then(std::function<void()> step);

  // `function` is a call of the C API, which gets where to store its work.
  template <class Function>
  Handle start(c10d::OpType type, const char* title, Tensors inputs, Tensors outputs, Function function) {
    hocket_work* work = nullptr;
    order(type);
    const hocket_result result = function(&work);
    begin(result, work);
    started_.inputs = std::move(inputs);
    started_.outputs = std::move(outputs);
    return group_.coalescing().work(type, title, std::move(started_));
  }
  template <class Function>
  Handle start(c10d::OpType type, const char* title, Tensors inputs, std::vector<Tensors> outputs, Function function) {
    started_.output_lists = std::move(outputs);
    return start(type, title, std::move(inputs), Tensors(), function);
  }

 private:
  std::optional<Layout> keep_in_place(const Tensors& blocks, const Tensors& other);
  // After what this thread has put into its current stream, if the tensors lie on a device.
  void order(c10d::OpType type);
  void begin(hocket_result result, hocket_work* work);

  Group& group_;
  hocket_call_options options_ = HOCKET_CALL_OPTIONS_INIT;
  Started started_;
};

}  // namespace hocket_torch
