/// @file
/// Collectives in C++ whose blocks all have the same size.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

#include "hocket/call.hpp"
#include "hocket/collectives.h"
#include "hocket/work.hpp"

namespace hocket {
inline namespace api {

/// The collectives that Communicator inherits. Functions named …_async return at once, and both ranges stay valid until
/// the work is complete. `send` and `recv` may be the same range where collectives.h allows a call in place. Ranges of
/// the wrong size are a HOCKET_INVALID_ARGUMENT.
template <class Communicator>
class CollectiveCalls {
 public:
  /// `recv` becomes the reduction of every rank's `send`; both have the same size.
  template <Source Send, Sink Recv>
  void allreduce(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    call_allreduce(detail::view(send), detail::view(recv), op, options, nullptr);
  }
  /// As allreduce() of two ranges, in place.
  template <Sink Data>
  void allreduce(Data&& data, Op op, CallOptions options = {}) {
    allreduce(data, data, op, options);
  }
  /// Starts allreduce() and returns at once.
  template <Source Send, Sink Recv>
  Work allreduce_async(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    return Work::started([&](auto work) { call_allreduce(detail::view(send), detail::view(recv), op, options, work); });
  }

  /// As allreduce(), but only the root receives. `recv` is ignored, and may be empty, on all other ranks.
  template <Source Send, Sink Recv>
  void reduce(Send&& send, Recv&& recv, Op op, int root, CallOptions options = {}) {
    call_reduce(detail::view(send), detail::view(recv), op, root, options, nullptr);
  }
  /// Starts reduce() and returns at once.
  template <Source Send, Sink Recv>
  Work reduce_async(Send&& send, Recv&& recv, Op op, int root, CallOptions options = {}) {
    return Work::started(
        [&](auto work) { call_reduce(detail::view(send), detail::view(recv), op, root, options, work); });
  }

  /// Each rank receives its block of the reduction. `send` holds size() blocks as large as `recv`.
  template <Source Send, Sink Recv>
  void reduce_scatter(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    call_reduce_scatter(detail::view(send), detail::view(recv), op, options, nullptr);
  }
  /// Starts reduce_scatter() and returns at once.
  template <Source Send, Sink Recv>
  Work reduce_scatter_async(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    return Work::started(
        [&](auto work) { call_reduce_scatter(detail::view(send), detail::view(recv), op, options, work); });
  }

  /// Block r of `recv` becomes rank r's `send`. `recv` holds size() blocks as large as `send`.
  template <Source Send, Sink Recv>
  void allgather(Send&& send, Recv&& recv, CallOptions options = {}) {
    call_allgather(detail::view(send), detail::view(recv), options, nullptr);
  }
  /// Starts allgather() and returns at once.
  template <Source Send, Sink Recv>
  Work allgather_async(Send&& send, Recv&& recv, CallOptions options = {}) {
    return Work::started([&](auto work) { call_allgather(detail::view(send), detail::view(recv), options, work); });
  }

  /// `data` is the input at the root and the output on all other ranks.
  template <Sink Data>
  void broadcast(Data&& data, int root, CallOptions options = {}) {
    call_broadcast(detail::view(data), root, options, nullptr);
  }
  /// Starts broadcast() and returns at once.
  template <Sink Data>
  Work broadcast_async(Data&& data, int root, CallOptions options = {}) {
    return Work::started([&](auto work) { call_broadcast(detail::view(data), root, options, work); });
  }

  /// Each rank receives its block of the root's `send`, which holds size() blocks as large as `recv`; it is ignored,
  /// and may be empty, on all other ranks.
  template <Source Send, Sink Recv>
  void scatter(Send&& send, Recv&& recv, int root, CallOptions options = {}) {
    call_scatter(detail::view(send), detail::view(recv), root, options, nullptr);
  }
  /// Starts scatter() and returns at once.
  template <Source Send, Sink Recv>
  Work scatter_async(Send&& send, Recv&& recv, int root, CallOptions options = {}) {
    return Work::started([&](auto work) { call_scatter(detail::view(send), detail::view(recv), root, options, work); });
  }

  /// Block r of the root's `recv` becomes rank r's `send`. `recv` holds size() blocks as large as `send`; it is
  /// ignored, and may be empty, on all other ranks.
  template <Source Send, Sink Recv>
  void gather(Send&& send, Recv&& recv, int root, CallOptions options = {}) {
    call_gather(detail::view(send), detail::view(recv), root, options, nullptr);
  }
  /// Starts gather() and returns at once.
  template <Source Send, Sink Recv>
  Work gather_async(Send&& send, Recv&& recv, int root, CallOptions options = {}) {
    return Work::started([&](auto work) { call_gather(detail::view(send), detail::view(recv), root, options, work); });
  }

  /// Block j of rank i's `send` becomes block i of rank j's `recv`. Both hold size() blocks of equal size.
  template <Source Send, Sink Recv>
  void alltoall(Send&& send, Recv&& recv, CallOptions options = {}) {
    call_alltoall(detail::view(send), detail::view(recv), options, nullptr);
  }
  /// Starts alltoall() and returns at once.
  template <Source Send, Sink Recv>
  Work alltoall_async(Send&& send, Recv&& recv, CallOptions options = {}) {
    return Work::started([&](auto work) { call_alltoall(detail::view(send), detail::view(recv), options, work); });
  }

  /// `recv` becomes the reduction of the ranks up to this one, in rank order.
  template <Source Send, Sink Recv>
  void scan(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    call_prefix("scan", hocket_scan, detail::view(send), detail::view(recv), op, options, nullptr);
  }
  /// Starts scan() and returns at once.
  template <Source Send, Sink Recv>
  Work scan_async(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    return Work::started([&](auto work) {
      call_prefix("scan", hocket_scan, detail::view(send), detail::view(recv), op, options, work);
    });
  }
  /// `recv` becomes the reduction of the ranks before this one, in rank order; rank 0's `recv` stays unchanged.
  template <Source Send, Sink Recv>
  void exscan(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    call_prefix("exscan", hocket_exscan, detail::view(send), detail::view(recv), op, options, nullptr);
  }
  /// Starts exscan() and returns at once.
  template <Source Send, Sink Recv>
  Work exscan_async(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    return Work::started([&](auto work) {
      call_prefix("exscan", hocket_exscan, detail::view(send), detail::view(recv), op, options, work);
    });
  }

  /// Returns on no rank before every rank has called it.
  void barrier(CallOptions options = {}) { call_barrier(options, nullptr); }
  /// Starts barrier() and returns at once.
  Work barrier_async(CallOptions options = {}) {
    return Work::started([&](auto work) { call_barrier(options, work); });
  }

 private:
  hocket_comm* handle() const { return self().handle(); }
  const Communicator& self() const { return static_cast<const Communicator&>(*this); }
  bool is(int root) const { return self().rank() == root; }
  std::size_t blocks(std::size_t count) const { return count * static_cast<std::size_t>(self().size()); }

  template <class S, class T, class = detail::SameElement<S, T>>
  void call_allreduce(std::span<S> send, std::span<T> recv, Op op, CallOptions options, hocket_work** work) {
    detail::require_size("allreduce", "recv", recv.size(), send.size());
    const auto given = detail::to_c<T>(options);
    check(hocket_allreduce(send.data(), recv.data(), send.size(), dtype_of<T>(), detail::to_c(op), handle(),
                           given.get(), work));
  }
  template <class S, class T, class = detail::SameElement<S, T>>
  void call_reduce(std::span<S> send, std::span<T> recv, Op op, int root, CallOptions options, hocket_work** work) {
    if (is(root)) detail::require_size("reduce", "recv", recv.size(), send.size());
    const auto given = detail::to_c<T>(options);
    check(hocket_reduce(send.data(), recv.data(), send.size(), dtype_of<T>(), detail::to_c(op), root, handle(),
                        given.get(), work));
  }
  template <class S, class T, class = detail::SameElement<S, T>>
  void call_reduce_scatter(std::span<S> send, std::span<T> recv, Op op, CallOptions options, hocket_work** work) {
    detail::require_size("reduce_scatter", "send", send.size(), blocks(recv.size()));
    const auto given = detail::to_c<T>(options);
    check(hocket_reduce_scatter(send.data(), recv.data(), recv.size(), dtype_of<T>(), detail::to_c(op), handle(),
                                given.get(), work));
  }
  template <class S, class T, class = detail::SameElement<S, T>>
  void call_allgather(std::span<S> send, std::span<T> recv, CallOptions options, hocket_work** work) {
    detail::require_size("allgather", "recv", recv.size(), blocks(send.size()));
    const auto given = detail::to_c<T>(options);
    check(hocket_allgather(send.data(), recv.data(), send.size(), dtype_of<T>(), handle(), given.get(), work));
  }
  template <class T>
  void call_broadcast(std::span<T> data, int root, CallOptions options, hocket_work** work) {
    const auto given = detail::to_c<T>(options);
    check(hocket_broadcast(data.data(), data.data(), data.size(), dtype_of<T>(), root, handle(), given.get(), work));
  }
  template <class S, class T, class = detail::SameElement<S, T>>
  void call_scatter(std::span<S> send, std::span<T> recv, int root, CallOptions options, hocket_work** work) {
    if (is(root)) detail::require_size("scatter", "send", send.size(), blocks(recv.size()));
    const auto given = detail::to_c<T>(options);
    check(hocket_scatter(send.data(), recv.data(), recv.size(), dtype_of<T>(), root, handle(), given.get(), work));
  }
  template <class S, class T, class = detail::SameElement<S, T>>
  void call_gather(std::span<S> send, std::span<T> recv, int root, CallOptions options, hocket_work** work) {
    if (is(root)) detail::require_size("gather", "recv", recv.size(), blocks(send.size()));
    const auto given = detail::to_c<T>(options);
    check(hocket_gather(send.data(), recv.data(), send.size(), dtype_of<T>(), root, handle(), given.get(), work));
  }
  template <class S, class T, class = detail::SameElement<S, T>>
  void call_alltoall(std::span<S> send, std::span<T> recv, CallOptions options, hocket_work** work) {
    const std::size_t count = send.size() / static_cast<std::size_t>(self().size());
    detail::require_size("alltoall", "send", send.size(), blocks(count));
    detail::require_size("alltoall", "recv", recv.size(), blocks(count));
    const auto given = detail::to_c<T>(options);
    check(hocket_alltoall(send.data(), recv.data(), count, dtype_of<T>(), handle(), given.get(), work));
  }
  template <class S, class T, class = detail::SameElement<S, T>>
  void call_prefix(const char* name, decltype(hocket_scan)* function, std::span<S> send, std::span<T> recv, Op op,
                   CallOptions options, hocket_work** work) {
    detail::require_size(name, "recv", recv.size(), send.size());
    const auto given = detail::to_c<T>(options);
    check(
        function(send.data(), recv.data(), send.size(), dtype_of<T>(), detail::to_c(op), handle(), given.get(), work));
  }
  void call_barrier(CallOptions options, hocket_work** work) {
    const auto given = detail::to_c(options);
    check(hocket_barrier(handle(), given.get(), work));
  }
};

}  // namespace api
}  // namespace hocket
