/// @file
/// Messages between two ranks, in C++.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "hocket/call.hpp"
#include "hocket/messages.h"
#include "hocket/work.hpp"

namespace hocket {
inline namespace api {

/// The messages that Communicator inherits, see messages.h. Functions named …_async return at once, and ranges stay
/// valid until the work is complete.
template <class Communicator>
class MessageCalls {
 public:
  /// Sends all of `send` to rank `peer`.
  template <Source Send>
  void send(Send&& send, int peer, CallOptions options = {}) {
    call_send(detail::view(send), peer, options, nullptr);
  }
  /// Starts send() and returns at once.
  template <Source Send>
  Work send_async(Send&& send, int peer, CallOptions options = {}) {
    return Work::started([&](auto work) { call_send(detail::view(send), peer, options, work); });
  }
  /// Receives as many elements as `recv` has from rank `peer`.
  template <Sink Recv>
  void recv(Recv&& recv, int peer, CallOptions options = {}) {
    call_recv(detail::view(recv), peer, options, nullptr);
  }
  /// Starts recv() and returns at once.
  template <Sink Recv>
  Work recv_async(Recv&& recv, int peer, CallOptions options = {}) {
    return Work::started([&](auto work) { call_recv(detail::view(recv), peer, options, work); });
  }
  /// Receives from whichever rank has sent a message. `source` is that rank when the receive is complete, and must live
  /// until then.
  template <Sink Recv>
  void recv_any(Recv&& recv, std::int32_t& source, CallOptions options = {}) {
    call_recv_any(detail::view(recv), source, options, nullptr);
  }
  /// Starts recv_any() and returns at once.
  template <Sink Recv>
  Work recv_any_async(Recv&& recv, std::int32_t& source, CallOptions options = {}) {
    return Work::started([&](auto work) { call_recv_any(detail::view(recv), source, options, work); });
  }
  /// Sends to rank `to` and receives from rank `from` at the same time. The sizes may differ.
  template <Source Send, Sink Recv>
  void sendrecv(Send&& send, int to, Recv&& recv, int from, CallOptions options = {}) {
    call_sendrecv(detail::view(send), to, detail::view(recv), from, options, nullptr);
  }
  /// Starts sendrecv() and returns at once.
  template <Source Send, Sink Recv>
  Work sendrecv_async(Send&& send, int to, Recv&& recv, int from, CallOptions options = {}) {
    return Work::started(
        [&](auto work) { call_sendrecv(detail::view(send), to, detail::view(recv), from, options, work); });
  }

 private:
  hocket_comm* handle() const { return self().handle(); }
  const Communicator& self() const { return static_cast<const Communicator&>(*this); }

  template <class S>
  void call_send(std::span<S> send, int peer, CallOptions options, hocket_work** work) {
    const auto given = detail::to_c<S>(options);
    constexpr hocket_dtype dtype = dtype_of<std::remove_const_t<S>>();
    check(hocket_send(send.data(), send.size(), dtype, peer, handle(), given.get(), work));
  }
  template <class T>
  void call_recv(std::span<T> recv, int peer, CallOptions options, hocket_work** work) {
    const auto given = detail::to_c<T>(options);
    check(hocket_recv(recv.data(), recv.size(), dtype_of<T>(), peer, handle(), given.get(), work));
  }
  template <class T>
  void call_recv_any(std::span<T> recv, std::int32_t& source, CallOptions options, hocket_work** work) {
    const auto given = detail::to_c<T>(options);
    check(hocket_recv_any(recv.data(), recv.size(), dtype_of<T>(), &source, handle(), given.get(), work));
  }
  template <class S, class T, class = detail::SameElement<S, T>>
  void call_sendrecv(std::span<S> send, int to, std::span<T> recv, int from, CallOptions options, hocket_work** work) {
    const auto given = detail::to_c<T>(options);
    check(hocket_sendrecv(send.data(), send.size(), to, recv.data(), recv.size(), from, dtype_of<T>(), handle(),
                          given.get(), work));
  }
};

}  // namespace api
}  // namespace hocket
