/// @file
/// Lists of tensors in C++: one collective on each of several tensors, as one call, see lists.h.
///
///     hocket::allreduce_list(comm, {weights, biases, steps}, hocket::Op::sum);      // in place; types may differ
///     hocket::allreduce_list(comm, gradients, hocket::Op::sum);                     // a range of ranges
///     hocket::Work work = hocket::allgather_list_async(comm, {{mine, all}, {more, all_of_more}});
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "hocket/call.hpp"
#include "hocket/comm.hpp"
#include "hocket/errors.hpp"
#include "hocket/lists.h"
#include "hocket/work.hpp"

namespace hocket {
inline namespace api {

/// One tensor of a list: one range, which is used in place, or two. Ranges outlive the call.
class Tensor {
 public:
  /// A tensor that is used in place.
  template <Sink Data>
  Tensor(Data&& data) : Tensor(data, data) {}
  /// A tensor with an input and an output.
  template <Source Send, Sink Recv>
  requires std::same_as<std::ranges::range_value_t<Send>, std::ranges::range_value_t<Recv>> Tensor(Send&& send,
                                                                                                   Recv&& recv)
      : tensor_{std::ranges::data(send), std::ranges::data(recv), 0, dtype_of<std::ranges::range_value_t<Recv>>()},
        sent_(std::ranges::size(send)),
        received_(std::ranges::size(recv)) {}

  /// The number of elements of the input.
  std::size_t sent() const { return sent_; }
  /// The number of elements of the output.
  std::size_t received() const { return received_; }
  /// The tensor as the C API takes it, with the given count.
  hocket_tensor with_count(std::size_t count) const {
    hocket_tensor tensor = tensor_;
    tensor.count = count;
    return tensor;
  }

 private:
  hocket_tensor tensor_;
  std::size_t sent_, received_;
};

/// What the calls take: tensors between braces, a range of tensors, or a range of ranges.
class Tensors {
 public:
  /// Tensors between braces.
  Tensors(std::initializer_list<Tensor> tensors) : tensors_(tensors) {}
  /// A range of tensors, or of ranges that are used in place.
  template <std::ranges::forward_range List>
  requires std::constructible_from<Tensor, std::ranges::range_reference_t<List>> Tensors(List&& list) {
    for (auto&& tensor : list) tensors_.emplace_back(tensor);
  }

  /// The tensors as the C API takes them. Throws unless each input is `times` as large as its output.
  std::vector<hocket_tensor> sent_times(const char* call, std::size_t times) const {
    return convert(call, [times](const Tensor& tensor) { return tensor.sent() == tensor.received() * times; });
  }
  /// The tensors as the C API takes them. Throws unless each output is `times` as large as its input.
  std::vector<hocket_tensor> received_times(const char* call, std::size_t times) const {
    return convert(call, [times](const Tensor& tensor) { return tensor.received() == tensor.sent() * times; });
  }

 private:
  template <class Fits>
  std::vector<hocket_tensor> convert(const char* call, Fits fits) const {
    std::vector<hocket_tensor> converted;
    for (const Tensor& tensor : tensors_) {
      if (!fits(tensor)) {
        throw Error(HOCKET_INVALID_ARGUMENT, std::string(call) + ": the input of tensor " +
                                                 std::to_string(converted.size()) + " has " +
                                                 std::to_string(tensor.sent()) + " elements and its output " +
                                                 std::to_string(tensor.received()) + ", which do not fit each other.");
      }
      converted.push_back(tensor.with_count(std::min(tensor.sent(), tensor.received())));
    }
    return converted;
  }

  std::vector<Tensor> tensors_;
};

namespace detail {

inline void allreduce_list(Communicator& comm, const Tensors& list, Op op, CallOptions options, hocket_work** work) {
  const auto tensors = list.sent_times("allreduce_list", 1);
  const auto given = to_c(options);
  check(hocket_allreduce_list(tensors.data(), tensors.size(), to_c(op), comm.handle(), given.get(), work));
}
inline void reduce_list(Communicator& comm, const Tensors& list, Op op, int root, CallOptions options,
                        hocket_work** work) {
  const auto tensors = list.sent_times("reduce_list", 1);
  const auto given = to_c(options);
  check(hocket_reduce_list(tensors.data(), tensors.size(), to_c(op), root, comm.handle(), given.get(), work));
}
inline void reduce_scatter_list(Communicator& comm, const Tensors& list, Op op, CallOptions options,
                                hocket_work** work) {
  const auto tensors = list.sent_times("reduce_scatter_list", static_cast<std::size_t>(comm.size()));
  const auto given = to_c(options);
  check(hocket_reduce_scatter_list(tensors.data(), tensors.size(), to_c(op), comm.handle(), given.get(), work));
}
inline void allgather_list(Communicator& comm, const Tensors& list, CallOptions options, hocket_work** work) {
  const auto tensors = list.received_times("allgather_list", static_cast<std::size_t>(comm.size()));
  const auto given = to_c(options);
  check(hocket_allgather_list(tensors.data(), tensors.size(), comm.handle(), given.get(), work));
}
inline void broadcast_list(Communicator& comm, const Tensors& list, int root, CallOptions options, hocket_work** work) {
  const auto tensors = list.sent_times("broadcast_list", 1);
  const auto given = to_c(options);
  check(hocket_broadcast_list(tensors.data(), tensors.size(), root, comm.handle(), given.get(), work));
}

}  // namespace detail

/// allreduce() of each tensor.
inline void allreduce_list(Communicator& comm, const Tensors& tensors, Op op, CallOptions options = {}) {
  detail::allreduce_list(comm, tensors, op, options, nullptr);
}
/// Starts allreduce_list() and returns at once.
inline Work allreduce_list_async(Communicator& comm, const Tensors& tensors, Op op, CallOptions options = {}) {
  return Work::started([&](auto work) { detail::allreduce_list(comm, tensors, op, options, work); });
}

/// reduce() of each tensor. Outputs are written at the root only.
inline void reduce_list(Communicator& comm, const Tensors& tensors, Op op, int root, CallOptions options = {}) {
  detail::reduce_list(comm, tensors, op, root, options, nullptr);
}
/// Starts reduce_list() and returns at once.
inline Work reduce_list_async(Communicator& comm, const Tensors& tensors, Op op, int root, CallOptions options = {}) {
  return Work::started([&](auto work) { detail::reduce_list(comm, tensors, op, root, options, work); });
}

/// reduce_scatter() of each tensor. Each input holds size() blocks as large as its output.
inline void reduce_scatter_list(Communicator& comm, const Tensors& tensors, Op op, CallOptions options = {}) {
  detail::reduce_scatter_list(comm, tensors, op, options, nullptr);
}
/// Starts reduce_scatter_list() and returns at once.
inline Work reduce_scatter_list_async(Communicator& comm, const Tensors& tensors, Op op, CallOptions options = {}) {
  return Work::started([&](auto work) { detail::reduce_scatter_list(comm, tensors, op, options, work); });
}

/// allgather() of each tensor. Each output holds size() blocks as large as its input.
inline void allgather_list(Communicator& comm, const Tensors& tensors, CallOptions options = {}) {
  detail::allgather_list(comm, tensors, options, nullptr);
}
/// Starts allgather_list() and returns at once.
inline Work allgather_list_async(Communicator& comm, const Tensors& tensors, CallOptions options = {}) {
  return Work::started([&](auto work) { detail::allgather_list(comm, tensors, options, work); });
}

/// broadcast() of each tensor, which is the input at the root and the output on all other ranks.
inline void broadcast_list(Communicator& comm, const Tensors& tensors, int root, CallOptions options = {}) {
  detail::broadcast_list(comm, tensors, root, options, nullptr);
}
/// Starts broadcast_list() and returns at once.
inline Work broadcast_list_async(Communicator& comm, const Tensors& tensors, int root, CallOptions options = {}) {
  return Work::started([&](auto work) { detail::broadcast_list(comm, tensors, root, options, work); });
}

}  // namespace api
}  // namespace hocket
