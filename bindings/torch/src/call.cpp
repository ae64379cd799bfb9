#include "bindings/torch/src/call.hpp"

#include "bindings/torch/src/failure.hpp"

namespace hocket_torch {
namespace {

hocket_op op_of(const char* call, c10d::ReduceOp::RedOpType op) {
  switch (op) {
    case c10d::ReduceOp::SUM: return HOCKET_SUM;
    case c10d::ReduceOp::AVG: return HOCKET_AVG;
    case c10d::ReduceOp::PRODUCT: return HOCKET_PROD;
    case c10d::ReduceOp::MIN: return HOCKET_MIN;
    case c10d::ReduceOp::MAX: return HOCKET_MAX;
    case c10d::ReduceOp::BAND: return HOCKET_BAND;
    case c10d::ReduceOp::BOR: return HOCKET_BOR;
    case c10d::ReduceOp::BXOR: return HOCKET_BXOR;
    case c10d::ReduceOp::PREMUL_SUM: return HOCKET_PREMULTIPLIED_SUM;
    default: refuse(call, "unsupported reduction");
  }
}

// The factor as one element of the tensor's type.
at::Tensor factor_of(const char* call, const c10d::ReduceOp& op, const at::Tensor& tensor) {
  const auto* supplement = dynamic_cast<const c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
  if (supplement == nullptr) refuse(call, "a premultiplied sum without a factor");
  const at::Tensor factor = factor_tensor(*supplement);
  const auto on_host = tensor.options().device(at::kCPU);
  if (!factor.defined()) return at::full({1}, supplement->double_factor, on_host);
  return factor.to(on_host).reshape({-1}).contiguous();
}

}  // namespace

Reduction::Reduction(const char* call, const c10d::ReduceOp& op, const at::Tensor& tensor)
    : type_(type_of(call, tensor)), op_(op_of(call, op)) {
  if (op_ == HOCKET_PREMULTIPLIED_SUM) scalar_ = factor_of(call, op, tensor);
}

Call::Call(Group& group, std::chrono::milliseconds timeout) : group_(group) {
  options_.timeout_ms = (timeout > std::chrono::milliseconds(0) ? timeout : group.timeout()).count();
}

void* Call::keep(at::Tensor tensor) {
  started_.kept.push_back(std::move(tensor));
  return started_.kept.back().data_ptr();
}

std::optional<Layout> Call::keep_in_place(const Tensors& blocks, const Tensors& other) {
  auto layout = in_place(blocks, other, group_.rank());
  if (layout) started_.kept.insert(started_.kept.end(), blocks.begin(), blocks.end());
  return layout;
}

Layout Call::reads_blocks(const Tensors& blocks, const Tensors& other) {
  if (auto layout = keep_in_place(blocks, other)) return *layout;
  return consecutive(reads(blocks), blocks);
}

Layout Call::writes_blocks(const Tensors& blocks, const Tensors& other) {
  if (auto layout = keep_in_place(blocks, other)) return *layout;
  return consecutive(writes(blocks), blocks);
}

void Call::then(std::function<void()> step) {
  started_.finish = [first = std::move(started_.finish), step = std::move(step)] {
    if (first) first();
    step();
  };
}

void Call::order(c10d::OpType type) {
  if (started_.kept.empty()) return;
  const at::Tensor& first = started_.kept.front();
  for (const at::Tensor& tensor : started_.kept) {
    if (tensor.device() != first.device()) check_device(c10d::opTypeToString(type).c_str(), tensor, first);
  }
  started_.side = group_.side_streams().for_call(first);
  if (started_.side) options_.stream = started_.side->handle();
}

void Call::begin(hocket_result result, hocket_work* work) {
  check(result);
  group_.count_collective();
  started_.request = std::make_shared<CallRequest>(group_.comm(), work);
}

}  // namespace hocket_torch
