// Hocket for C++20: a thin, header-only wrapper over the C API of hocket.h, whose contract holds here too.
// Failures are thrown as hocket::Error. Resources (Communicator, Work) are move-only and clean up after themselves.
//
//   hocket::Communicator comm = hocket::Communicator::create();  // rank and size from the environment
//   std::vector<float> gradient = …;
//   comm.allreduce(gradient, hocket::Op::sum);                   // in place
//   hocket::Work work = comm.allreduce_async(gradient, sums, hocket::Op::sum);
//   …                                                            // leave both vectors alone meanwhile
//   work.wait();
//
// Data arguments are contiguous ranges: spans, vectors, arrays. All names live in an inline namespace, so that this
// header links beside a Hocket library of any version, and may be included beside the headers under spi/.
#pragma once

#if __cplusplus < 202002L
#error "hocket.hpp needs C++20 (-std=c++20; in CMake, linking Hocket::hocket asks for it). hocket.h needs only C99."
#else

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hocket/call_options.hpp"
#include "hocket/element_types.hpp"
#include "hocket/hocket.h"
#include "hocket/uneven.hpp"
#include "hocket/work.hpp"

namespace hocket {
inline namespace api {

// How this thread's latest successful call was done; throws where there was none.
inline hocket_call_info last_call() {
  hocket_call_info info = HOCKET_CALL_INFO_INIT;
  check(hocket_last_call(&info));
  return info;
}

// How to create a communicator. Zero and empty fields are taken from the environment, as hocket_comm_options says.
struct Options {
  int world_size = 0;
  int rank = 0;
  std::string store = {};
  std::chrono::milliseconds timeout{0};
  std::string name = {};
  std::string transport = {};
  std::string algorithm = {};
  std::optional<bool> deterministic = {};
};

// How to make a communicator from another, as hocket_split_options says; zero and empty: as the parent.
struct SplitOptions {
  std::chrono::milliseconds timeout{0};
  std::string name = {};
  bool share_links = false;  // makes a family, see hocket.h
};

// One rank's membership in a group. Functions named …_async return at once; both ranges stay as they are until the
// work is complete. `send` and `recv` may be the same range where hocket.h allows a call in place.
class Communicator : public UnevenCalls<Communicator> {
 public:
  // Joins the group; every rank calls it.
  static Communicator create(const Options& options = {}) {
    const hocket_comm_options given = to_c(options);
    hocket_comm* handle = nullptr;
    check(hocket_comm_create(&handle, &given));
    return Communicator(handle);
  }
  // All ranks of one group, for threads of this process; element i is rank i.
  static std::vector<Communicator> create_local(int world_size, const Options& options = {}) {
    const hocket_comm_options given = to_c(options);
    std::vector<hocket_comm*> handles(world_size > 0 ? static_cast<std::size_t>(world_size) : 1, nullptr);
    check(hocket_comm_create_local(handles.data(), world_size, &given));
    std::vector<Communicator> made;
    made.reserve(handles.size());
    for (hocket_comm* handle : handles) made.push_back(Communicator(handle));
    return made;
  }

  // Collective over this communicator: the child of the ranks that give the same color, in the order of their keys;
  // nothing where `color` is HOCKET_NO_COLOR.
  std::optional<Communicator> split(int color, int key, const SplitOptions& options = {}) {
    const hocket_split_options given = to_c(options);
    hocket_comm* child = nullptr;
    check(hocket_comm_split(handle_, color, key, &child, &given));
    return from(child);
  }
  // As split: a child with the same ranks.
  Communicator duplicate(const SplitOptions& options = {}) {
    const hocket_split_options given = to_c(options);
    hocket_comm* child = nullptr;
    check(hocket_comm_duplicate(handle_, &child, &given));
    return Communicator(child);
  }
  // As split: the child's rank i is this communicator's rank ranks[i]; nothing on the others.
  std::optional<Communicator> subset(std::span<const std::int32_t> ranks, const SplitOptions& options = {}) {
    const hocket_split_options given = to_c(options);
    hocket_comm* child = nullptr;
    const auto count = static_cast<std::int32_t>(ranks.size());
    check(hocket_comm_subset(handle_, ranks.data(), count, &child, &given));
    return from(child);
  }

  Communicator(Communicator&& other) noexcept { *this = std::move(other); }
  Communicator& operator=(Communicator&& other) noexcept {
    if (this != &other) {
      hocket_comm_destroy(handle_);
      handle_ = std::exchange(other.handle_, nullptr);
      rank_ = other.rank_;
      size_ = other.size_;
    }
    return *this;
  }
  ~Communicator() { hocket_comm_destroy(handle_); }

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  hocket_comm* handle() const noexcept { return handle_; }
  // Breaks the communicator on all ranks; any thread.
  void abort(const std::string& reason = {}) { check(hocket_comm_abort(handle_, reason.c_str())); }
  // Throws what broke the communicator, if something did.
  void require_working() { check(hocket_comm_status(handle_)); }
  hocket_counters counters() {
    hocket_counters counters = HOCKET_COUNTERS_INIT;
    check(hocket_comm_counters(handle_, &counters));
    return counters;
  }

  template <Source Send, Sink Recv>
  void allreduce(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    call_allreduce(view(send), view(recv), op, options, nullptr);
  }
  template <Sink Data>
  void allreduce(Data&& data, Op op, CallOptions options = {}) {
    allreduce(data, data, op, options);
  }
  template <Source Send, Sink Recv>
  Work allreduce_async(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    return started([&](auto work) { call_allreduce(view(send), view(recv), op, options, work); });
  }

  // `recv` is ignored, and may be empty, everywhere but at the root.
  template <Source Send, Sink Recv>
  void reduce(Send&& send, Recv&& recv, Op op, int root, CallOptions options = {}) {
    call_reduce(view(send), view(recv), op, root, options, nullptr);
  }
  template <Source Send, Sink Recv>
  Work reduce_async(Send&& send, Recv&& recv, Op op, int root, CallOptions options = {}) {
    return started([&](auto work) { call_reduce(view(send), view(recv), op, root, options, work); });
  }

  // `send` holds size() blocks as large as `recv`.
  template <Source Send, Sink Recv>
  void reduce_scatter(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    call_reduce_scatter(view(send), view(recv), op, options, nullptr);
  }
  template <Source Send, Sink Recv>
  Work reduce_scatter_async(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    return started([&](auto work) { call_reduce_scatter(view(send), view(recv), op, options, work); });
  }

  // `recv` holds size() blocks as large as `send`.
  template <Source Send, Sink Recv>
  void allgather(Send&& send, Recv&& recv, CallOptions options = {}) {
    call_allgather(view(send), view(recv), options, nullptr);
  }
  template <Source Send, Sink Recv>
  Work allgather_async(Send&& send, Recv&& recv, CallOptions options = {}) {
    return started([&](auto work) { call_allgather(view(send), view(recv), options, work); });
  }

  // `data` is the input at the root and the output elsewhere.
  template <Sink Data>
  void broadcast(Data&& data, int root, CallOptions options = {}) {
    call_broadcast(view(data), root, options, nullptr);
  }
  template <Sink Data>
  Work broadcast_async(Data&& data, int root, CallOptions options = {}) {
    return started([&](auto work) { call_broadcast(view(data), root, options, work); });
  }

  // `send` holds size() blocks as large as `recv`; it is ignored, and may be empty, everywhere but at the root.
  template <Source Send, Sink Recv>
  void scatter(Send&& send, Recv&& recv, int root, CallOptions options = {}) {
    call_scatter(view(send), view(recv), root, options, nullptr);
  }
  template <Source Send, Sink Recv>
  Work scatter_async(Send&& send, Recv&& recv, int root, CallOptions options = {}) {
    return started([&](auto work) { call_scatter(view(send), view(recv), root, options, work); });
  }

  // `recv` holds size() blocks as large as `send`; it is ignored, and may be empty, everywhere but at the root.
  template <Source Send, Sink Recv>
  void gather(Send&& send, Recv&& recv, int root, CallOptions options = {}) {
    call_gather(view(send), view(recv), root, options, nullptr);
  }
  template <Source Send, Sink Recv>
  Work gather_async(Send&& send, Recv&& recv, int root, CallOptions options = {}) {
    return started([&](auto work) { call_gather(view(send), view(recv), root, options, work); });
  }

  // Both hold size() blocks of equal length.
  template <Source Send, Sink Recv>
  void alltoall(Send&& send, Recv&& recv, CallOptions options = {}) {
    call_alltoall(view(send), view(recv), options, nullptr);
  }
  template <Source Send, Sink Recv>
  Work alltoall_async(Send&& send, Recv&& recv, CallOptions options = {}) {
    return started([&](auto work) { call_alltoall(view(send), view(recv), options, work); });
  }

  // The reduction of the ranks up to this one; exscan: of those before it, which leaves rank 0's `recv` as it is.
  template <Source Send, Sink Recv>
  void scan(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    call_prefix("scan", hocket_scan, view(send), view(recv), op, options, nullptr);
  }
  template <Source Send, Sink Recv>
  Work scan_async(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    return started([&](auto work) { call_prefix("scan", hocket_scan, view(send), view(recv), op, options, work); });
  }
  template <Source Send, Sink Recv>
  void exscan(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    call_prefix("exscan", hocket_exscan, view(send), view(recv), op, options, nullptr);
  }
  template <Source Send, Sink Recv>
  Work exscan_async(Send&& send, Recv&& recv, Op op, CallOptions options = {}) {
    return started([&](auto work) { call_prefix("exscan", hocket_exscan, view(send), view(recv), op, options, work); });
  }

  void barrier(CallOptions options = {}) { call_barrier(options, nullptr); }
  Work barrier_async(CallOptions options = {}) {
    return started([&](auto work) { call_barrier(options, work); });
  }

  template <Source Send>
  void send(Send&& send, int peer, CallOptions options = {}) {
    call_send(view(send), peer, options, nullptr);
  }
  template <Source Send>
  Work send_async(Send&& send, int peer, CallOptions options = {}) {
    return started([&](auto work) { call_send(view(send), peer, options, work); });
  }
  template <Sink Recv>
  void recv(Recv&& recv, int peer, CallOptions options = {}) {
    call_recv(view(recv), peer, options, nullptr);
  }
  template <Sink Recv>
  Work recv_async(Recv&& recv, int peer, CallOptions options = {}) {
    return started([&](auto work) { call_recv(view(recv), peer, options, work); });
  }
  // From whichever rank has sent; `source` is that rank when the receive is complete, and must live until then.
  template <Sink Recv>
  void recv_any(Recv&& recv, std::int32_t& source, CallOptions options = {}) {
    call_recv_any(view(recv), source, options, nullptr);
  }
  template <Sink Recv>
  Work recv_any_async(Recv&& recv, std::int32_t& source, CallOptions options = {}) {
    return started([&](auto work) { call_recv_any(view(recv), source, options, work); });
  }
  // Both at the same time; their lengths may differ.
  template <Source Send, Sink Recv>
  void sendrecv(Send&& send, int to, Recv&& recv, int from, CallOptions options = {}) {
    call_sendrecv(view(send), to, view(recv), from, options, nullptr);
  }
  template <Source Send, Sink Recv>
  Work sendrecv_async(Send&& send, int to, Recv&& recv, int from, CallOptions options = {}) {
    return started([&](auto work) { call_sendrecv(view(send), to, view(recv), from, options, work); });
  }

 private:
  friend class Creation;  // hocket/creation.hpp

  explicit Communicator(hocket_comm* handle) : handle_(handle) {
    hocket_comm_rank(handle_, &rank_);
    hocket_comm_size(handle_, &size_);
  }

  template <class Range>
  static auto view(Range& range) {
    return detail::view(range);
  }
  static std::optional<Communicator> from(hocket_comm* handle) {
    if (handle == nullptr) return std::nullopt;
    return Communicator(handle);
  }
  static const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }
  // The result points into `options`.
  static hocket_comm_options to_c(const Options& options) {
    hocket_comm_options given = HOCKET_COMM_OPTIONS_INIT;
    given.world_size = options.world_size;
    given.rank = options.rank;
    given.store = or_null(options.store);
    given.timeout_ms = options.timeout.count();
    given.name = or_null(options.name);
    given.transport = or_null(options.transport);
    given.algorithm = or_null(options.algorithm);
    given.deterministic = options.deterministic ? (*options.deterministic ? 1 : -1) : 0;
    return given;
  }
  static hocket_call_options to_c(CallOptions options) { return detail::to_c(options); }
  // The result points into `options`.
  static hocket_split_options to_c(const SplitOptions& options) {
    hocket_split_options given = HOCKET_SPLIT_OPTIONS_INIT;
    given.timeout_ms = options.timeout.count();
    given.name = or_null(options.name);
    given.share_links = options.share_links ? 1 : 0;
    return given;
  }
  static hocket_op to_c(Op op) { return static_cast<hocket_op>(op); }

  template <class Call>
  static Work started(const Call& call) {
    return Work::started(call);
  }
  // The C API sees one count; ranges that disagree with it are found out here.
  static void require_size(const char* call, const char* range, std::size_t found, std::size_t wanted) {
    if (found == wanted) return;
    throw Error(HOCKET_INVALID_ARGUMENT, std::string(call) + ": `" + range + "` has " + std::to_string(found) +
                                             " elements but must have " + std::to_string(wanted) + ".");
  }
  std::size_t blocks(std::size_t count) const { return count * static_cast<std::size_t>(size_); }

  template <class S, class T>
  using SameElement = std::enable_if_t<std::same_as<std::remove_const_t<S>, T> >;

  template <class S, class T, class = SameElement<S, T> >
  void call_allreduce(std::span<S> send, std::span<T> recv, Op op, CallOptions options, hocket_work** work) {
    require_size("allreduce", "recv", recv.size(), send.size());
    const hocket_call_options given = to_c(options);
    check(hocket_allreduce(send.data(), recv.data(), send.size(), dtype_of<T>(), to_c(op), handle_, &given, work));
  }
  template <class S, class T, class = SameElement<S, T> >
  void call_reduce(std::span<S> send, std::span<T> recv, Op op, int root, CallOptions options, hocket_work** work) {
    if (rank_ == root) require_size("reduce", "recv", recv.size(), send.size());
    const hocket_call_options given = to_c(options);
    check(hocket_reduce(send.data(), recv.data(), send.size(), dtype_of<T>(), to_c(op), root, handle_, &given, work));
  }
  template <class S, class T, class = SameElement<S, T> >
  void call_reduce_scatter(std::span<S> send, std::span<T> recv, Op op, CallOptions options, hocket_work** work) {
    require_size("reduce_scatter", "send", send.size(), blocks(recv.size()));
    const hocket_call_options given = to_c(options);
    check(hocket_reduce_scatter(send.data(), recv.data(), recv.size(), dtype_of<T>(), to_c(op), handle_, &given, work));
  }
  template <class S, class T, class = SameElement<S, T> >
  void call_allgather(std::span<S> send, std::span<T> recv, CallOptions options, hocket_work** work) {
    require_size("allgather", "recv", recv.size(), blocks(send.size()));
    const hocket_call_options given = to_c(options);
    check(hocket_allgather(send.data(), recv.data(), send.size(), dtype_of<T>(), handle_, &given, work));
  }
  template <class T>
  void call_broadcast(std::span<T> data, int root, CallOptions options, hocket_work** work) {
    const hocket_call_options given = to_c(options);
    check(hocket_broadcast(data.data(), data.data(), data.size(), dtype_of<T>(), root, handle_, &given, work));
  }
  template <class S, class T, class = SameElement<S, T> >
  void call_scatter(std::span<S> send, std::span<T> recv, int root, CallOptions options, hocket_work** work) {
    if (rank_ == root) require_size("scatter", "send", send.size(), blocks(recv.size()));
    const hocket_call_options given = to_c(options);
    check(hocket_scatter(send.data(), recv.data(), recv.size(), dtype_of<T>(), root, handle_, &given, work));
  }
  template <class S, class T, class = SameElement<S, T> >
  void call_gather(std::span<S> send, std::span<T> recv, int root, CallOptions options, hocket_work** work) {
    if (rank_ == root) require_size("gather", "recv", recv.size(), blocks(send.size()));
    const hocket_call_options given = to_c(options);
    check(hocket_gather(send.data(), recv.data(), send.size(), dtype_of<T>(), root, handle_, &given, work));
  }
  template <class S, class T, class = SameElement<S, T> >
  void call_alltoall(std::span<S> send, std::span<T> recv, CallOptions options, hocket_work** work) {
    const std::size_t count = send.size() / static_cast<std::size_t>(size_);
    require_size("alltoall", "send", send.size(), blocks(count));
    require_size("alltoall", "recv", recv.size(), blocks(count));
    const hocket_call_options given = to_c(options);
    check(hocket_alltoall(send.data(), recv.data(), count, dtype_of<T>(), handle_, &given, work));
  }
  template <class S, class T, class = SameElement<S, T> >
  void call_prefix(const char* name, decltype(hocket_scan)* function, std::span<S> send, std::span<T> recv, Op op,
                   CallOptions options, hocket_work** work) {
    require_size(name, "recv", recv.size(), send.size());
    const hocket_call_options given = to_c(options);
    check(function(send.data(), recv.data(), send.size(), dtype_of<T>(), to_c(op), handle_, &given, work));
  }
  void call_barrier(CallOptions options, hocket_work** work) {
    const hocket_call_options given = to_c(options);
    check(hocket_barrier(handle_, &given, work));
  }
  template <class S>
  void call_send(std::span<S> send, int peer, CallOptions options, hocket_work** work) {
    const hocket_call_options given = to_c(options);
    constexpr hocket_dtype dtype = dtype_of<std::remove_const_t<S> >();
    check(hocket_send(send.data(), send.size(), dtype, peer, handle_, &given, work));
  }
  template <class T>
  void call_recv(std::span<T> recv, int peer, CallOptions options, hocket_work** work) {
    const hocket_call_options given = to_c(options);
    check(hocket_recv(recv.data(), recv.size(), dtype_of<T>(), peer, handle_, &given, work));
  }
  template <class T>
  void call_recv_any(std::span<T> recv, std::int32_t& source, CallOptions options, hocket_work** work) {
    const hocket_call_options given = to_c(options);
    check(hocket_recv_any(recv.data(), recv.size(), dtype_of<T>(), &source, handle_, &given, work));
  }
  template <class S, class T, class = SameElement<S, T> >
  void call_sendrecv(std::span<S> send, int to, std::span<T> recv, int from, CallOptions options, hocket_work** work) {
    const hocket_call_options given = to_c(options);
    check(hocket_sendrecv(send.data(), send.size(), to, recv.data(), recv.size(), from, dtype_of<T>(), handle_, &given,
                          work));
  }

  hocket_comm* handle_ = nullptr;
  std::int32_t rank_ = 0;
  std::int32_t size_ = 0;
};

}  // namespace api
}  // namespace hocket

#endif
