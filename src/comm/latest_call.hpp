// The latest calls of a communicator, for the next one: mostly that differs from one of them in its buffers alone.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "src/base/load_alone.hpp"
#include "src/base/thread_number.hpp"
#include "src/comm/call_key.hpp"
#include "src/comm/call_tables.hpp"
#include "src/comm/host_buffers.hpp"
#include "src/exec/executor.hpp"
#include "src/exec/operation.hpp"

namespace hocket::comm {

// Thread rule: of one thread, which may come here again from inside a call; or of any. Nobody waits for another: a call
// that comes while another one looks at the latest is prepared as if it were the first of its kind. Its size is a power
// of two, so that its place is found by one shift.
class alignas(256) LatestCall {
 public:
  LatestCall(HostBuffers& host_buffers, bool of_one_thread)
      : host_buffers_(host_buffers), of_one_thread_(of_one_thread) {}

  // The operation of the latest call, bound to the buffers of this one. Null: this one is another, which forgets the
  // latest, or that one runs.
  std::shared_ptr<Operation> repeat(const CallArguments& call) {
    if (!take_turn()) return nullptr;
    const EndOfTurn end(busy_);
    if (!is_alike(call)) {
      forget_now();
      return nullptr;
    }
    if (!finds_idle() || !is_in_host_memory(call)) return nullptr;
    operation_->bind_again(static_cast<const std::byte*>(call.send), static_cast<std::byte*>(call.recv));
    return operation_;
  }
  // Runs that operation, bound to the buffers of this call, to its end, shows it to `ended` before anybody else may run
  // it, and returns what that does. another_call: it is another one, or not the only one that is to be run now, and
  // nothing has happened. A function of its own, to which others jump.
  template <class Ended>
  [[gnu::noinline]] Code run_again(const CallArguments& call, Executor& executor, Ended ended) {
    if (!take_turn()) return another_call;
    const EndOfTurn end(busy_);
    if (!fits(call)) return another_call;
    const auto* const input = static_cast<const std::byte*>(load_alone(call.send));
    if (!executor.run_again(operation_, input, static_cast<std::byte*>(load_alone(call.recv)))) return another_call;
    return ended(*operation_);
  }
  // The same of a send that is like one latest call and a receive that is like another one; `ended` is shown the
  // receive, or the send where only that has failed.
  template <class Ended>
  static Code run_again(LatestCall& like_send, const CallArguments& send, LatestCall& like_recv,
                        const CallArguments& recv, Executor& executor, Ended ended) {
    if (!like_send.take_turn()) return another_call;
    const EndOfTurn first(like_send.busy_);
    if (!like_recv.take_turn()) return another_call;
    const EndOfTurn second(like_recv.busy_);
    if (!like_send.fits(send) || !like_recv.fits(recv)) return another_call;
    const std::array<std::shared_ptr<Operation>, 2> pair{like_send.operation_, like_recv.operation_};
    const auto* const input = static_cast<const std::byte*>(send.send);
    if (!executor.run_again(pair, input, static_cast<std::byte*>(recv.recv))) return another_call;
    return ended(pair.front()->status().ok() ? *pair.back() : *pair.front());
  }
  // Starts a message that is like the latest one, whatever else is under way, and shows its operation to `show`, which
  // is told whether it is over; if not, `end` is told when it is. Requires is_message(call). No: it is another one, or
  // others are busy with the latest, so it is to be prepared and started, and nothing has happened.
  template <class Show>
  Started start_again(const CallArguments& call, Executor& executor, RunEnd& end, const Show& show) {
    if (!take_turn()) return Started::no;
    const EndOfTurn end_of_turn(busy_);
    if (!key_.fits_message(call) || !message_is_in_host_memory(call)) return Started::no;
    const Started started = start_now(call, executor, end);
    if (started != Started::no) show(*operation_, started == Started::over);
    return started;
  }
  // `operation` is bound to this call, which gives these tables, and owned by the caller and a list of idle ones; else
  // it is not kept.
  void keep(const CallArguments& call, CallTables tables, const std::shared_ptr<Operation>& operation) {
    if (!take_turn()) return;
    const EndOfTurn end(busy_);
    if (!CallKey::may_have(call) || operation.use_count() != owners || !operation->can_move()) return;
    if (is_alike(call)) {
      if (others_.size() == others_max) return;
      others_.push_back(std::exchange(operation_, operation));
    } else {
      forget_now();
      key_ = CallKey::of(call);
      tables_ = std::move(tables);
      operation_ = operation;
    }
  }
  void forget() {
    if (!take_turn()) return;
    const EndOfTurn end(busy_);
    forget_now();
  }

 private:
  // What a new call may do with memory of a device is for the checks of a new call to say. A device's memory lies in
  // pages of its own, the first of which is asked for and shows the driver.
  [[gnu::always_inline]] bool is_in_host_memory(const CallArguments& call) {
    const bool known = HostBuffers::in_one_page(call.send, send_, call.recv, recv_);
    return (known && host_buffers_.stay()) || finds_host_memory(call);
  }
  // Starts the latest message again, or another one like it, which is the latest then.
  [[gnu::always_inline]] Started start_now(const CallArguments& call, Executor& executor, RunEnd& end) {
    const auto* const input = static_cast<const std::byte*>(call.send);
    auto* const output = static_cast<std::byte*>(call.recv);
    if (is_idle(operation_)) return executor.start_idle(operation_, input, output, end);
    const auto* const idle = has_another() ? &others_[oldest_] : nullptr;
    const auto again = executor.start_beside(operation_, idle, input, output, end);
    if (again.started() != Started::no && !again.has(StartedAgain::by_latest)) take_another();
    return again.started();
  }
  // The same of a message, which has one buffer.
  [[gnu::always_inline]] bool message_is_in_host_memory(const CallArguments& call) {
    const void* const latest = call.collective == Collective::send ? send_ : recv_;
    return (HostBuffers::in_one_page(buffer_of(call), latest) && host_buffers_.stay()) || finds_host_memory(call);
  }
  bool finds_host_memory(const CallArguments& call) {
    if (!host_buffers_.hold(call.send) || !host_buffers_.hold(call.recv)) return false;
    send_ = call.send;
    recv_ = call.recv;
    return true;
  }

  static constexpr std::size_t others_max = 127;
  static constexpr long owners = 2;  // of an idle operation: the list of idle ones, which does not drop it, and this

  // One call's at a time; nobody waits for it. What takes it gives it back.
  bool take_turn() {
    if (!of_one_thread_) [[unlikely]]
      return !busy_.exchange(true, std::memory_order_acquire);
    if (busy_.load(std::memory_order_relaxed)) return false;
    busy_.store(true, std::memory_order_relaxed);
    return true;
  }
  class EndOfTurn {
   public:
    explicit EndOfTurn(std::atomic<bool>& busy) : busy_(busy) {}
    ~EndOfTurn() { busy_.store(false, std::memory_order_release); }
    EndOfTurn(const EndOfTurn&) = delete;
    EndOfTurn& operator=(const EndOfTurn&) = delete;

   private:
    std::atomic<bool>& busy_;
  };

  // Whether the call is like the latest.
  [[gnu::always_inline]] bool is_alike(const CallArguments& call) const { return key_.fits(call) && tables_.fit(call); }
  // The same, nobody uses its operation, and that may do with this call's buffers.
  [[gnu::always_inline]] bool fits(const CallArguments& call) {
    return is_alike(call) && is_idle(operation_) && is_in_host_memory(call);
  }
  [[gnu::always_inline]] static bool is_idle(const std::shared_ptr<Operation>& operation) {
    return operation.use_count() == owners && operation->finished();
  }
  // Whether the latest operation is idle, or can be replaced by one that is.
  bool finds_idle() {
    if (is_idle(operation_)) return true;
    if (!has_another()) return false;
    take_another();
    return true;
  }
  // Whether the one that has been used longest ago is idle.
  bool has_another() const { return !others_.empty() && is_idle(others_[oldest_]); }
  // Makes that the latest.
  void take_another() {
    operation_.swap(others_[oldest_]);
    if (++oldest_ == others_.size()) oldest_ = 0;
  }
  void forget_now() {
    key_ = CallKey();
    operation_.reset();
    others_.clear();
    oldest_ = 0;
  }

  HostBuffers& host_buffers_;
  const bool of_one_thread_;
  std::atomic<bool> busy_{false};  // a call has its turn, which guards the rest
  CallKey key_;                    // no call's: there is no operation
  CallTables tables_;
  std::shared_ptr<Operation> operation_;
  const void* send_ = nullptr;  // the buffers that were found in the host's memory last
  const void* recv_ = nullptr;
  // Of calls like it before, of which so many were under way at once: in the order of their calls from the oldest on,
  // then from the first on.
  std::vector<std::shared_ptr<Operation>> others_;
  std::size_t oldest_ = 0;
};

// The latest call of each kind: a program that sends and receives in turns, or to several ranks, repeats itself, too.
// The first thread that calls has latest calls of its own, since taking turns costs a locked instruction; mostly it is
// the only one.
//
// Thread rule: any thread.
class LatestCalls {
 public:
  // `gpus`: whose memory buffers may be; null: none's.
  explicit LatestCalls(Gpus* gpus) : LatestCalls(gpus, std::make_index_sequence<2 * places>()) {}

  // The latest of the calling thread's that may be like this one.
  LatestCall& like(const CallArguments& call) { return calls_[place_of(call) + (is_first() ? 0 : places)]; }
  // All of the calling thread's.
  void forget() {
    const std::size_t begin = is_first() ? 0 : places;
    for (std::size_t i = 0; i < places; ++i) calls_[begin + i].forget();
  }

 private:
  static constexpr std::size_t places = 32, of_messages = 8;  // of sends, and of receives

  template <std::size_t... index>
  LatestCalls(Gpus* gpus, std::index_sequence<index...>)
      : host_buffers_(gpus), calls_{LatestCall(host_buffers_, index < places)...} {}

  bool is_first() {
    const ThreadNumber first = first_.load(std::memory_order_relaxed);
    return is_this_thread(first) || (first == no_thread && becomes_first());
  }
  [[gnu::noinline]] bool becomes_first() {
    ThreadNumber none = no_thread;
    return first_.compare_exchange_strong(none, this_thread_number(), std::memory_order_relaxed);
  }

  // By collective: its place, and which bits of its root tell the places behind that apart. Every call passes here.
  struct Place {
    std::uint32_t first, root_bits;
  };
  static_assert((of_messages & (of_messages - 1)) == 0);
  static constexpr std::array<Place, 256> places_of_all = [] {
    std::array<Place, 256> all{};
    constexpr std::size_t others = 2 * of_messages;
    for (std::size_t i = 0; i < all.size(); ++i) all[i].first = others + i % (places - others);
    all[static_cast<std::size_t>(Collective::send)] = {0, of_messages - 1};
    all[static_cast<std::size_t>(Collective::recv)] = {of_messages, of_messages - 1};
    return all;
  }();
  static std::size_t place_of(const CallArguments& call) {
    const Place place = places_of_all[static_cast<std::size_t>(call.collective)];
    return place.first + (static_cast<std::uint32_t>(call.root) & place.root_bits);
  }

  HostBuffers host_buffers_;
  std::atomic<ThreadNumber> first_{no_thread};
  std::array<LatestCall, 2 * places> calls_;  // the first thread's, then those of all others
};

}  // namespace hocket::comm
