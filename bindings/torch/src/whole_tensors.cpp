// Collectives in which the blocks of all ranks are one tensor.
#include "bindings/torch/src/call.hpp"
#include "bindings/torch/src/collectives.hpp"

namespace hocket_torch {
namespace {

using c10d::OpType;

void check_blocks(const char* call, const at::Tensor& whole, const at::Tensor& block, int size) {
  check_tensor(call, whole);
  check_tensor(call, block);
  if (whole.scalar_type() != block.scalar_type()) refuse(call, "invalid tensor type: all must have the same");
  if (whole.numel() != block.numel() * size) {
    refuse(call, "invalid tensor size: the larger tensor must have " + std::to_string(size) +
                     " times the elements of the smaller");
  }
}

// One `whole` for each `block`.
void check_block_lists(const char* call, const Tensors& wholes, const Tensors& blocks, int size) {
  if (wholes.empty()) refuse(call, "requires non-empty tensor list");
  if (wholes.size() != blocks.size()) refuse(call, "requires input/output tensor lists to have the same length");
  for (std::size_t i = 0; i < wholes.size(); ++i) check_blocks(call, wholes[i], blocks[i], size);
}

}  // namespace

Handle allgather_base(Group& group, at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) {
  check_blocks("_allgather_base", output, input, group.size());
  Call call(group, options.timeout);
  const void* from = call.reads(input);
  void* to = call.changes(output);
  const auto [type, width] = moved_type_of(input);
  return call.start(OpType::_ALLGATHER_BASE, "hocket:_all_gather_base", Tensors{input}, Tensors{output},
                    [&, type = type, width = width](hocket_work** work) {
                      return hocket_allgather(from, to, elements(input) * width, type, call.comm(), call.options(),
                                              work);
                    });
}

Handle allgather_base_list(Group& group, Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  check_block_lists("allgather_into_tensor_coalesced", outputs, inputs, group.size());
  Call call(group, options.timeout);
  std::vector<hocket_tensor> list;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto [type, width] = moved_type_of(inputs[i]);
    const void* from = call.reads(inputs[i]);
    list.push_back({from, call.changes(outputs[i]), elements(inputs[i]) * width, type});
  }
  return call.start(OpType::_ALLGATHER_BASE, "hocket:_all_gather_base", inputs, outputs, [&](hocket_work** work) {
    return hocket_allgather_list(list.data(), list.size(), call.comm(), call.options(), work);
  });
}

// `output` is read on the root alone.
Handle gather_base(Group& group, at::Tensor& output, at::Tensor& input, const c10d::GatherOptions& options) {
  check_root("gather_single", options.rootRank, group.size());
  const bool is_root = options.rootRank == group.rank();
  if (is_root) check_blocks("gather_single", output, input, group.size());
  check_tensor("gather_single", input);
  Call call(group, options.timeout);
  const void* from = call.reads(input);
  void* to = is_root ? call.changes(output) : nullptr;
  const auto [type, width] = moved_type_of(input);
  return call.start(OpType::GATHER, "hocket:gather", Tensors{input}, is_root ? Tensors{output} : Tensors(),
                    [&, type = type, width = width](hocket_work** work) {
                      return hocket_gather(from, to, elements(input) * width, type,
                                           static_cast<std::int32_t>(options.rootRank), call.comm(), call.options(),
                                           work);
                    });
}

Handle reduce_scatter_base(Group& group, at::Tensor& output, at::Tensor& input,
                           const c10d::ReduceScatterOptions& options) {
  check_blocks("_reduce_scatter_base", input, output, group.size());
  const Reduction reduction("_reduce_scatter_base", options.reduceOp, output);
  Call call(group, options.timeout);
  call.reduces(reduction);
  const void* from = call.reads(input);
  void* to = call.changes(output);
  return call.start(OpType::_REDUCE_SCATTER_BASE, "hocket:_reduce_scatter_base", Tensors{input}, Tensors{output},
                    [&](hocket_work** work) {
                      return hocket_reduce_scatter(from, to, elements(output), reduction.type(), reduction.op(),
                                                   call.comm(), call.options(), work);
                    });
}

Handle reduce_scatter_base_list(Group& group, Tensors& outputs, Tensors& inputs,
                                const c10d::ReduceScatterOptions& options) {
  constexpr const char* name = "reduce_scatter_tensor_coalesced";
  check_block_lists(name, inputs, outputs, group.size());
  const Reduction first(name, options.reduceOp, outputs.front());
  Call call(group, options.timeout);
  call.reduces(first);
  std::vector<hocket_tensor> list;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const void* from = call.reads(inputs[i]);
    list.push_back({from, call.changes(outputs[i]), elements(outputs[i]), type_of(name, outputs[i])});
  }
  return call.start(
      OpType::_REDUCE_SCATTER_BASE, "hocket:_reduce_scatter_base", inputs, outputs, [&](hocket_work** work) {
        return hocket_reduce_scatter_list(list.data(), list.size(), first.op(), call.comm(), call.options(), work);
      });
}

}  // namespace hocket_torch
