/// @file
/// Collectives in C++ with blocks of unequal size.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <type_traits>

#include "hocket/call.hpp"
#include "hocket/collectives_v.h"
#include "hocket/work.hpp"

namespace hocket {
inline namespace api {

/// One number of elements for each rank; read during the call.
using Counts = std::span<const std::size_t>;

/// The collectives with blocks of unequal size that Communicator inherits, see collectives_v.h. Without displacements
/// each block follows the previous one, and together they fill their range. A list that does not have one entry for
/// each rank, and a block that does not fit into its range, are a HOCKET_INVALID_ARGUMENT.
template <class Communicator>
class UnequalCalls {
 public:
  /// Block r of every rank's `recv` becomes rank r's `send`.
  template <Source Send, Sink Recv>
  void allgather_v(Send&& send, Recv&& recv, Counts recvcounts, Counts displacements = {}, CallOptions options = {}) {
    call_allgather(detail::view(send), detail::view(recv), recvcounts, displacements, options, nullptr);
  }
  /// Starts allgather_v() and returns at once.
  template <Source Send, Sink Recv>
  Work allgather_v_async(Send&& send, Recv&& recv, Counts recvcounts, Counts displacements = {},
                         CallOptions options = {}) {
    return Work::started([&](auto work) {
      call_allgather(detail::view(send), detail::view(recv), recvcounts, displacements, options, work);
    });
  }

  /// `recv` becomes this rank's block of the reduction. `send` holds all blocks, one after the other.
  template <Source Send, Sink Recv>
  void reduce_scatter_v(Send&& send, Recv&& recv, Counts recvcounts, Op op, CallOptions options = {}) {
    call_reduce_scatter(detail::view(send), detail::view(recv), recvcounts, op, options, nullptr);
  }
  /// Starts reduce_scatter_v() and returns at once.
  template <Source Send, Sink Recv>
  Work reduce_scatter_v_async(Send&& send, Recv&& recv, Counts recvcounts, Op op, CallOptions options = {}) {
    return Work::started(
        [&](auto work) { call_reduce_scatter(detail::view(send), detail::view(recv), recvcounts, op, options, work); });
  }

  /// `recv` becomes this rank's block of the root's `send`. `send` and the lists are ignored, and may be empty, on all
  /// other ranks.
  template <Source Send, Sink Recv>
  void scatter_v(Send&& send, Counts sendcounts, Recv&& recv, int root, Counts displacements = {},
                 CallOptions options = {}) {
    call_scatter(detail::view(send), sendcounts, displacements, detail::view(recv), root, options, nullptr);
  }
  /// Starts scatter_v() and returns at once.
  template <Source Send, Sink Recv>
  Work scatter_v_async(Send&& send, Counts sendcounts, Recv&& recv, int root, Counts displacements = {},
                       CallOptions options = {}) {
    return Work::started([&](auto work) {
      call_scatter(detail::view(send), sendcounts, displacements, detail::view(recv), root, options, work);
    });
  }

  /// Block r of the root's `recv` becomes rank r's `send`. `recv` and the lists are ignored, and may be empty, on all
  /// other ranks.
  template <Source Send, Sink Recv>
  void gather_v(Send&& send, Recv&& recv, Counts recvcounts, int root, Counts displacements = {},
                CallOptions options = {}) {
    call_gather(detail::view(send), detail::view(recv), recvcounts, displacements, root, options, nullptr);
  }
  /// Starts gather_v() and returns at once.
  template <Source Send, Sink Recv>
  Work gather_v_async(Send&& send, Recv&& recv, Counts recvcounts, int root, Counts displacements = {},
                      CallOptions options = {}) {
    return Work::started([&](auto work) {
      call_gather(detail::view(send), detail::view(recv), recvcounts, displacements, root, options, work);
    });
  }

  /// Block j of rank i's `send` becomes block i of rank j's `recv`.
  template <Source Send, Sink Recv>
  void alltoall_v(Send&& send, Counts sendcounts, Recv&& recv, Counts recvcounts, Counts senddispls = {},
                  Counts recvdispls = {}, CallOptions options = {}) {
    call_alltoall(detail::view(send), sendcounts, senddispls, detail::view(recv), recvcounts, recvdispls, options,
                  nullptr);
  }
  /// Starts alltoall_v() and returns at once.
  template <Source Send, Sink Recv>
  Work alltoall_v_async(Send&& send, Counts sendcounts, Recv&& recv, Counts recvcounts, Counts senddispls = {},
                        Counts recvdispls = {}, CallOptions options = {}) {
    return Work::started([&](auto work) {
      call_alltoall(detail::view(send), sendcounts, senddispls, detail::view(recv), recvcounts, recvdispls, options,
                    work);
    });
  }

 private:
  hocket_comm* handle() const { return self().handle(); }
  const Communicator& self() const { return static_cast<const Communicator&>(*this); }
  bool is(int root) const { return self().rank() == root; }

  [[noreturn]] static void refuse(const char* call, const std::string& what) {
    throw Error(HOCKET_INVALID_ARGUMENT, std::string(call) + ": " + what + ".");
  }
  // The C API sees pointers, so a block that leaves its range is found here. Overlapping blocks are found there.
  void require_blocks(const char* call, const char* range, std::size_t elements, Counts counts,
                      Counts displacements) const {
    const auto ranks = static_cast<std::size_t>(self().size());
    if (counts.size() != ranks || (!displacements.empty() && displacements.size() != ranks)) {
      refuse(call, std::string("the counts and displacements of `") + range + "` must be " + std::to_string(ranks) +
                       ", one for each rank");
    }
    std::size_t end = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::size_t begin = displacements.empty() ? end : displacements[rank];
      if (counts[rank] != 0 && (begin > elements || counts[rank] > elements - begin)) {
        refuse(call, std::string("`") + range + "` has " + std::to_string(elements) +
                         " elements, which end before the block of rank " + std::to_string(rank) + " does");
      }
      end = begin + counts[rank];
    }
    if (displacements.empty() && end != elements) {
      refuse(call, std::string("`") + range + "` has " + std::to_string(elements) + " elements, but its blocks have " +
                       std::to_string(end));
    }
  }
  void require_own(const char* call, const char* range, std::size_t elements, Counts counts) const {
    const std::size_t own = counts[static_cast<std::size_t>(self().rank())];
    if (elements == own) return;
    refuse(call, std::string("`") + range + "` has " + std::to_string(elements) +
                     " elements, but this rank's count is " + std::to_string(own));
  }
  static const std::size_t* or_null(Counts list) { return list.empty() ? nullptr : list.data(); }

  template <class S, class T, class = detail::SameElement<S, T>>
  void call_allgather(std::span<S> send, std::span<T> recv, Counts counts, Counts displacements, CallOptions options,
                      hocket_work** work) {
    require_blocks("allgather_v", "recv", recv.size(), counts, displacements);
    require_own("allgather_v", "send", send.size(), counts);
    const auto given = detail::to_c<T>(options);
    check(hocket_allgather_v(send.data(), send.size(), recv.data(), counts.data(), or_null(displacements),
                             dtype_of<T>(), handle(), given.get(), work));
  }
  template <class S, class T, class = detail::SameElement<S, T>>
  void call_reduce_scatter(std::span<S> send, std::span<T> recv, Counts counts, Op op, CallOptions options,
                           hocket_work** work) {
    require_blocks("reduce_scatter_v", "send", send.size(), counts, {});
    require_own("reduce_scatter_v", "recv", recv.size(), counts);
    const auto given = detail::to_c<T>(options);
    check(hocket_reduce_scatter_v(send.data(), recv.data(), counts.data(), dtype_of<T>(), detail::to_c(op), handle(),
                                  given.get(), work));
  }
  template <class S, class T, class = detail::SameElement<S, T>>
  void call_scatter(std::span<S> send, Counts counts, Counts displacements, std::span<T> recv, int root,
                    CallOptions options, hocket_work** work) {
    if (is(root)) {
      require_blocks("scatter_v", "send", send.size(), counts, displacements);
      require_own("scatter_v", "recv", recv.size(), counts);
    }
    const auto given = detail::to_c<T>(options);
    check(hocket_scatter_v(send.data(), counts.data(), or_null(displacements), recv.data(), recv.size(), dtype_of<T>(),
                           root, handle(), given.get(), work));
  }
  template <class S, class T, class = detail::SameElement<S, T>>
  void call_gather(std::span<S> send, std::span<T> recv, Counts counts, Counts displacements, int root,
                   CallOptions options, hocket_work** work) {
    if (is(root)) {
      require_blocks("gather_v", "recv", recv.size(), counts, displacements);
      require_own("gather_v", "send", send.size(), counts);
    }
    const auto given = detail::to_c<T>(options);
    check(hocket_gather_v(send.data(), send.size(), recv.data(), counts.data(), or_null(displacements), dtype_of<T>(),
                          root, handle(), given.get(), work));
  }
  template <class S, class T, class = detail::SameElement<S, T>>
  void call_alltoall(std::span<S> send, Counts sendcounts, Counts senddispls, std::span<T> recv, Counts recvcounts,
                     Counts recvdispls, CallOptions options, hocket_work** work) {
    require_blocks("alltoall_v", "send", send.size(), sendcounts, senddispls);
    require_blocks("alltoall_v", "recv", recv.size(), recvcounts, recvdispls);
    const auto given = detail::to_c<T>(options);
    check(hocket_alltoall_v(send.data(), sendcounts.data(), or_null(senddispls), recv.data(), recvcounts.data(),
                            or_null(recvdispls), dtype_of<T>(), handle(), given.get(), work));
  }
};

}  // namespace api
}  // namespace hocket
