// Calls on lists of tensors, each tensor with buffers and a reference of its own.
#pragma once

#include <cstddef>
#include <vector>

#include "hocket/hocket.h"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"

namespace hocket::process_testing {

inline constexpr Collective list_collectives[] = {Collective::allreduce, Collective::reduce, Collective::reduce_scatter,
                                                  Collective::allgather, Collective::broadcast};

// A list of tensors, each a call of which only the buffers and the reference are used. Types alternate between
// `dtypes`.
class List {
 public:
  List(Case what, const std::vector<std::size_t>& counts, const std::vector<DataType>& dtypes, Rank rank, Rank size)
      : what_(what) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      what.count = counts[i];
      what.dtype = dtypes[i % dtypes.size()];
      what.misalignment = (what.misalignment + size_of(what.dtype)) % 64;
      ++what.salt;
      tensors_.emplace_back(what, rank, size);
      list_.push_back(
          {tensors_.back().send(), tensors_.back().recv(), counts[i], static_cast<hocket_dtype>(what.dtype)});
    }
  }
  List(const Case& what, const std::vector<std::size_t>& counts, Rank rank, Rank size)
      : List(what, counts, {what.dtype}, rank, size) {}

  hocket_result issue(hocket_comm* comm, hocket_work** work = nullptr,
                      const hocket_call_options* options = nullptr) const {
    const auto op = static_cast<hocket_op>(what_.op);
    const hocket_tensor* tensors = list_.data();
    const std::size_t number = list_.size();
    switch (what_.collective) {
      case Collective::allreduce: return hocket_allreduce_list(tensors, number, op, comm, options, work);
      case Collective::reduce: return hocket_reduce_list(tensors, number, op, what_.root, comm, options, work);
      case Collective::reduce_scatter: return hocket_reduce_scatter_list(tensors, number, op, comm, options, work);
      case Collective::allgather: return hocket_allgather_list(tensors, number, comm, options, work);
      default: return hocket_broadcast_list(tensors, number, what_.root, comm, options, work);
    }
  }
  void run(hocket_comm* comm) const {
    expect_result(issue(comm), HOCKET_OK);
    expect_correct();
  }
  void expect_correct() const {
    for (const Call& tensor : tensors_) tensor.expect_correct();
  }

 private:
  Case what_;
  std::vector<Call> tensors_;
  std::vector<hocket_tensor> list_;
};

}  // namespace hocket::process_testing
