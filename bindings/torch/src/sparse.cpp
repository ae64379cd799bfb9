// The sum of sparse tensors: every rank gathers the indices and values of all.
#include "bindings/torch/src/call.hpp"
#include "bindings/torch/src/collectives.hpp"
#include "bindings/torch/src/failure.hpp"

namespace hocket_torch {
namespace {

struct Counts {
  std::vector<std::size_t> blocks, offsets;
  std::size_t total = 0;
};

// In elements: how many each rank has, `each` for every value that it holds.
Counts sparse_counts_of(const at::Tensor& numbers, std::size_t each) {
  Counts counts;
  for (std::int64_t rank = 0; rank < numbers.numel(); ++rank) {
    counts.offsets.push_back(counts.total);
    counts.blocks.push_back(static_cast<std::size_t>(numbers.data_ptr<std::int64_t>()[rank]) * each);
    counts.total += counts.blocks.back();
  }
  return counts;
}

}  // namespace

// How many values each rank has is exchanged before this returns; the indices and values follow as one work.
Handle allreduce_sparse(Group& group, const at::Tensor& tensor, const c10d::AllreduceOptions& options) {
  if (!tensor.device().is_cpu()) refuse("allreduce", "sparse tensors must be CPU tensors");
  if (options.reduceOp != c10d::ReduceOp::SUM) refuse("allreduce", "sparse tensors can only be summed (ReduceOp.SUM)");
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  const at::Tensor input = tensor.coalesce();
  const std::int64_t dims = input.sparse_dim(), values_each = [&] {
    std::int64_t product = 1;
    for (const std::int64_t extent : input.sizes().slice(dims)) product *= extent;
    return product;
  }();
  const std::int64_t number = input._nnz();
  const at::Tensor numbers = at::empty({group.size()}, at::kLong);
  check(hocket_allgather(&number, numbers.data_ptr(), 1, HOCKET_INT64, group.comm().get(), nullptr, nullptr));
  const Counts index_counts = sparse_counts_of(numbers, static_cast<std::size_t>(dims));
  const Counts value_counts = sparse_counts_of(numbers, static_cast<std::size_t>(values_each));
  const std::int64_t all = numbers.sum().item<std::int64_t>();
  // One row for each value, so that those of one rank lie together.
  const at::Tensor all_indices = at::empty({all, dims}, at::kLong);
  auto value_sizes = input._values().sizes().vec();
  value_sizes.front() = all;
  const at::Tensor all_values = at::empty(value_sizes, input._values().options());

  Call call(group, options.timeout);
  const void* indices = call.reads(input._indices().t());
  const void* values = call.reads(input._values());
  void* indices_of_all = call.keep(all_indices);
  void* values_of_all = call.keep(all_values);
  call.then([tensor, all_indices, all_values] {
    const at::Tensor sum = at::sparse_coo_tensor(all_indices.t(), all_values, tensor.sizes()).coalesce();
    tensor.copy_(sum);
  });
  const auto [type, width] = moved_type_of(all_values);
  if (width != 1) refuse("allreduce", "Invalid scalar type: Hocket cannot reduce it");
  return call.start(c10d::OpType::ALLREDUCE, "hocket:sparse_all_reduce", Tensors{tensor}, Tensors{tensor},
                    [&, type = type](hocket_work** work) {
                      (void)hocket_group_start();
                      (void)hocket_allgather_v(indices, static_cast<std::size_t>(number * dims), indices_of_all,
                                               index_counts.blocks.data(), index_counts.offsets.data(), HOCKET_INT64,
                                               call.comm(), call.options(), nullptr);
                      (void)hocket_allgather_v(values, static_cast<std::size_t>(number * values_each), values_of_all,
                                               value_counts.blocks.data(), value_counts.offsets.data(), type,
                                               call.comm(), call.options(), nullptr);
                      return hocket_group_end(work);
                    });
}

}  // namespace hocket_torch
