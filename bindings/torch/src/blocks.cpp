// Collectives in which every rank has a block: allgather, gather, scatter, reduce_scatter.
#include "bindings/torch/src/call.hpp"
#include "bindings/torch/src/collectives.hpp"

namespace hocket_torch {
namespace {

using c10d::OpType;

// The counts of blocks, in the units of hocket's calls.
std::vector<std::size_t> counts_of(const Tensors& tensors, std::size_t width) {
  std::vector<std::size_t> counts;
  for (const at::Tensor& tensor : tensors) counts.push_back(elements(tensor) * width);
  return counts;
}

// The tensors of one list, one for each rank, all of the type of `like`. `kind`: "input" or "output".
const Tensors& one_for_each_rank(const char* call, const char* kind, const TensorLists& lists, const at::Tensor& like,
                                 int size) {
  if (lists.size() != 1) refuse(call, std::string("requires a single-element ") + kind + " list");
  if (lists.front().size() != static_cast<std::size_t>(size)) {
    refuse(call, std::string("Incorrect ") + kind + " list size " + std::to_string(lists.front().size()) +
                     ": it needs one tensor for each rank, " + std::to_string(size));
  }
  for (const at::Tensor& tensor : lists.front()) {
    check_tensor(call, tensor);
    check_device(call, tensor, like);
    if (tensor.scalar_type() != like.scalar_type()) refuse(call, "invalid tensor type: all must have the same");
  }
  return lists.front();
}

// Whether the tensors of a list with one like this for each rank are too large to be copied together.
bool large(const at::Tensor& tensor, const Group& group) {
  return tensor.nbytes() * static_cast<std::size_t>(group.size()) >= in_place_from;
}

Handle allgather_in_place(Group& group, const TensorLists& outputs, const Tensors& inputs,
                          const c10d::AllgatherOptions& options) {
  Call call(group, options.timeout);
  const auto [type, width] = moved_type_of(inputs.front());
  const at::Tensor input = packed(inputs.front());
  const void* from = call.keep(input);
  const Layout to = call.writes_blocks(outputs.front(), {input});
  return call.start(OpType::ALLGATHER, "hocket:all_gather", inputs, outputs,
                    [&, type = type, width = width](hocket_work** work) {
                      return hocket_allgather_v(from, elements(input) * width, to.base, to.counts.data(),
                                                to.offsets.data(), type, call.comm(), call.options(), work);
                    });
}

Handle gather_in_place(Group& group, const TensorLists& outputs, const Tensors& inputs,
                       const c10d::GatherOptions& options) {
  Call call(group, options.timeout);
  const auto [type, width] = moved_type_of(inputs.front());
  const at::Tensor input = packed(inputs.front());
  const void* from = call.keep(input);
  const Layout to = outputs.empty() ? Layout() : call.writes_blocks(outputs.front(), {input});
  return call.start(
      OpType::GATHER, "hocket:gather", inputs, outputs, [&, type = type, width = width](hocket_work** work) {
        return hocket_gather_v(from, elements(input) * width, to.base, to.counts.data(), to.offsets.data(), type,
                               static_cast<std::int32_t>(options.rootRank), call.comm(), call.options(), work);
      });
}

Handle scatter_in_place(Group& group, const Tensors& outputs, const TensorLists& inputs,
                        const c10d::ScatterOptions& options) {
  Call call(group, options.timeout);
  const auto [type, width] = moved_type_of(outputs.front());
  const Layout from = inputs.empty() ? Layout() : call.reads_blocks(inputs.front(), outputs);
  void* to = call.changes(outputs.front());
  return call.start(OpType::SCATTER, "hocket:scatter", inputs.empty() ? Tensors() : inputs.front(), outputs,
                    [&, type = type, width = width](hocket_work** work) {
                      return hocket_scatter_v(
                          from.base, from.counts.data(), from.offsets.data(), to, elements(outputs.front()) * width,
                          type, static_cast<std::int32_t>(options.rootRank), call.comm(), call.options(), work);
                    });
}

}  // namespace

// Several tensors of one process count as one, and each list gets all tensors of all ranks.
Handle allgather(Group& group, TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  if (inputs.empty()) refuse("allgather", "requires non-empty input tensor list");
  if (inputs.size() != outputs.size()) {
    refuse("allgather", "requires input/output tensor lists to have the same length");
  }
  check_alike("allgather", inputs, inputs.front());
  for (const Tensors& list : outputs) {
    if (list.size() != inputs.size() * static_cast<std::size_t>(group.size())) {
      refuse("allgather", "invalid output tensor list: it needs " +
                              std::to_string(inputs.size() * static_cast<std::size_t>(group.size())) + " tensors");
    }
    check_alike("allgather", list, inputs.front());
  }
  if (inputs.size() == 1 && large(inputs.front(), group)) return allgather_in_place(group, outputs, inputs, options);
  Call call(group, options.timeout);
  const void* from = call.reads(inputs);
  void* to = call.writes(outputs.front());
  for (std::size_t other = 1; other < outputs.size(); ++other) {
    call.then([from_list = outputs.front(), to_list = outputs[other]] {
      for (std::size_t i = 0; i < to_list.size(); ++i) to_list[i].copy_(from_list[i]);
    });
  }
  const auto [type, width] = moved_type_of(inputs.front());
  const std::size_t count = elements(inputs.front()) * inputs.size() * width;
  return call.start(OpType::ALLGATHER, "hocket:all_gather", inputs, outputs, [&, type = type](hocket_work** work) {
    return hocket_allgather(from, to, count, type, call.comm(), call.options(), work);
  });
}

// outputs[rank][i] is inputs[i] of that rank.
Handle allgather_coalesced(Group& group, TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) {
  if (inputs.empty()) refuse("allgather_coalesced", "requires non-empty input tensor list");
  if (outputs.size() != static_cast<std::size_t>(group.size())) {
    refuse("allgather_coalesced", "output lists should be equal to world size");
  }
  for (const Tensors& list : outputs) {
    if (list.size() != inputs.size()) {
      refuse("allgather_coalesced", "invalid output size: (expected length " + std::to_string(inputs.size()) +
                                        ", got " + std::to_string(list.size()) + ")");
    }
  }
  Call call(group, options.timeout);
  std::vector<hocket_tensor> list;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensors blocks;
    for (const Tensors& of_rank : outputs) blocks.push_back(of_rank[i]);
    check_tensor("allgather_coalesced", inputs[i]);
    check_alike("allgather_coalesced", blocks, inputs[i]);
    const auto [type, width] = moved_type_of(inputs[i]);
    const void* from = call.reads(inputs[i]);
    list.push_back({from, call.writes(blocks), elements(inputs[i]) * width, type});
  }
  return call.start(OpType::ALLGATHER_COALESCED, "hocket:all_gather", inputs, outputs, [&](hocket_work** work) {
    return hocket_allgather_list(list.data(), list.size(), call.comm(), call.options(), work);
  });
}

Handle gather(Group& group, TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& options) {
  check_root("gather", options.rootRank, group.size());
  const at::Tensor& input = only("gather", inputs, "input ");
  const bool is_root = options.rootRank == group.rank();
  if (is_root) check_alike("gather", one_for_each_rank("gather", "output", outputs, input, group.size()), input);
  if (!is_root && !outputs.empty()) refuse("gather", "requires empty output on non-root");
  if (large(input, group)) return gather_in_place(group, outputs, inputs, options);
  Call call(group, options.timeout);
  void* to = is_root ? call.writes(outputs.front()) : nullptr;
  const void* from = call.reads(input);
  const auto [type, width] = moved_type_of(input);
  return call.start(
      OpType::GATHER, "hocket:gather", inputs, outputs, [&, type = type, width = width](hocket_work** work) {
        return hocket_gather(from, to, elements(input) * width, type, static_cast<std::int32_t>(options.rootRank),
                             call.comm(), call.options(), work);
      });
}

Handle scatter(Group& group, Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& options) {
  check_root("scatter", options.rootRank, group.size());
  const at::Tensor& output = only("scatter", outputs, "output ");
  const bool is_root = options.rootRank == group.rank();
  if (is_root) check_alike("scatter", one_for_each_rank("scatter", "input", inputs, output, group.size()), output);
  if (!is_root && !inputs.empty()) refuse("scatter", "requires empty input on non-root");
  if (large(output, group)) return scatter_in_place(group, outputs, inputs, options);
  Call call(group, options.timeout);
  const void* from = is_root ? call.reads(inputs.front()) : nullptr;
  void* to = call.changes(output);
  const auto [type, width] = moved_type_of(output);
  return call.start(OpType::SCATTER, "hocket:scatter", inputs.empty() ? Tensors() : inputs.front(), outputs,
                    [&, type = type, width = width](hocket_work** work) {
                      return hocket_scatter(from, to, elements(output) * width, type,
                                            static_cast<std::int32_t>(options.rootRank), call.comm(), call.options(),
                                            work);
                    });
}

Handle reduce_scatter(Group& group, Tensors& outputs, TensorLists& inputs, const c10d::ReduceScatterOptions& options) {
  const at::Tensor& output = only("reduce_scatter", outputs, "output ");
  const Tensors& blocks = one_for_each_rank("reduce_scatter", "input", inputs, output, group.size());
  if (blocks[group.rank()].numel() != output.numel()) refuse("reduce_scatter", "invalid tensor size");
  const Reduction reduction("reduce_scatter", options.reduceOp, output);
  Call call(group, options.timeout);
  call.reduces(reduction);
  const void* from = call.reads(blocks);
  void* to = call.changes(output);
  return call.start(OpType::REDUCE_SCATTER, "hocket:reduce_scatter", blocks, outputs, [&](hocket_work** work) {
    if (same_numbers(blocks)) {
      return hocket_reduce_scatter(from, to, elements(output), reduction.type(), reduction.op(), call.comm(),
                                   call.options(), work);
    }
    return hocket_reduce_scatter_v(from, to, counts_of(blocks, 1).data(), reduction.type(), reduction.op(), call.comm(),
                                   call.options(), work);
  });
}

}  // namespace hocket_torch
