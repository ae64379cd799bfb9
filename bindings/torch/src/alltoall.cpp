// All to all: every rank has something for every rank.
#include "bindings/torch/src/call.hpp"
#include "bindings/torch/src/collectives.hpp"

namespace hocket_torch {
namespace {

// Splits along the first dimension; none: equal ones.
Layout split(void* base, const at::Tensor& tensor, const Splits& splits, int size, std::size_t width) {
  const std::int64_t rows = tensor.size(0);
  const std::size_t row = rows == 0 ? 0 : static_cast<std::size_t>(tensor.numel() / rows) * width;
  std::vector<std::size_t> counts(static_cast<std::size_t>(size), static_cast<std::size_t>(rows / size) * row);
  for (std::size_t rank = 0; rank < splits.size(); ++rank) counts[rank] = static_cast<std::size_t>(splits[rank]) * row;
  return consecutive(base, std::move(counts));
}

// Always the call for unequal blocks: only the rank itself knows whether its blocks are equal.
hocket_result exchange(Call& call, const Layout& sent, const Layout& received, hocket_dtype type, hocket_work** work) {
  return hocket_alltoall_v(sent.base, sent.counts.data(), sent.offsets.data(), received.base, received.counts.data(),
                           received.offsets.data(), type, call.comm(), call.options(), work);
}

void check_pair(const char* call, const at::Tensor& output, const at::Tensor& input) {
  check_tensor(call, output);
  check_tensor(call, input);
  check_device(call, output, input);
  if (output.scalar_type() != input.scalar_type()) refuse(call, "invalid tensor type: all must have the same");
}

}  // namespace

Handle alltoall_base(Group& group, at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_splits,
                     std::vector<std::int64_t>& input_splits, const c10d::AllToAllOptions& options) {
  check_pair("alltoall_base", output, input);
  if (output.dim() == 0 || input.dim() == 0) refuse("alltoall_base", "a tensor without dimensions cannot be split");
  c10d::checkSplitSizes(input_splits, input, group.size());
  c10d::checkSplitSizes(output_splits, output, group.size());
  const bool equal = input_splits.empty() && output_splits.empty();
  if (equal && input.numel() != output.numel()) refuse("alltoall_base", "invalid tensor size: both must have the same");
  Call call(group, options.timeout);
  const auto [type, width] = moved_type_of(input);
  const Layout sent = split(call.reads(input), input, input_splits, group.size(), width);
  const Layout received = split(call.changes(output), output, output_splits, group.size(), width);
  return call.start(c10d::OpType::ALLTOALL_BASE, "hocket:all_to_all", Tensors{input}, Tensors{output},
                    [&, type = type](hocket_work** work) { return exchange(call, sent, received, type, work); });
}

Handle alltoall(Group& group, Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) {
  check_tensors("alltoall", outputs);
  check_tensors("alltoall", inputs);
  const auto size = static_cast<std::size_t>(group.size());
  if (outputs.size() != size || inputs.size() != size) refuse("alltoall", "requires one tensor for each rank");
  for (std::size_t rank = 0; rank < size; ++rank) {
    check_pair("alltoall", outputs[rank], inputs.front());
    check_pair("alltoall", inputs[rank], inputs.front());
  }
  Call call(group, options.timeout);
  const hocket_dtype type = moved_type_of(inputs.front()).type;
  const Layout sent = call.reads_blocks(inputs, outputs);
  const Layout received = call.writes_blocks(outputs, inputs);
  return call.start(c10d::OpType::ALLTOALL, "hocket:all_to_all", inputs, outputs,
                    [&](hocket_work** work) { return exchange(call, sent, received, type, work); });
}

}  // namespace hocket_torch
