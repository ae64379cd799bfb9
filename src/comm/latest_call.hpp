// The latest calls of a communicator, for the next one: mostly that differs from one of them in its buffers alone.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "src/comm/call_key.hpp"
#include "src/comm/call_tables.hpp"
#include "src/exec/executor.hpp"
#include "src/exec/operation.hpp"
#include "src/spi/gpu.hpp"

namespace hocket::comm {

// Thread rule: any thread. Nobody waits for another: a call that comes while another thread looks at the latest one is
// prepared as if it were the first of its kind.
class alignas(64) LatestCall {
 public:
  // `gpus`: whose memory buffers may be; null: none's.
  explicit LatestCall(Gpus* gpus) : gpus_(gpus) {}

  // The operation of the latest call, bound to the buffers of this one. Null: this one is another, which forgets the
  // latest, or that one runs.
  std::shared_ptr<Operation> repeat(const CallArguments& call) {
    const Turn turn(busy_);
    if (!turn) return nullptr;
    if (!is_alike(call)) {
      forget_now();
      return nullptr;
    }
    if ((!is_idle(operation_) || is_oldest_bound_to(call)) && !take_another() && !is_idle(operation_)) return nullptr;
    if (!is_in_host_memory(call)) return nullptr;
    operation_->bind_again(static_cast<const std::byte*>(call.send), static_cast<std::byte*>(call.recv));
    return operation_;
  }
  // Runs that operation, bound to the buffers of this call, to its end, which `status` is. Where it ends well, it is
  // shown to `ended` before anybody else may run it. False: this call is another one, or not the only one that is to be
  // run now, and nothing has happened.
  template <class Ended>
  [[gnu::always_inline]] bool run_again(const CallArguments& call, Executor& executor, Status& status,
                                        const Ended& ended) {
    const Turn turn(busy_);
    if (!turn || !fits(call)) return false;
    const auto* const input = static_cast<const std::byte*>(call.send);
    if (!executor.run_again(operation_, input, static_cast<std::byte*>(call.recv))) return false;
    if (operation_->status().ok()) {
      ended(*operation_);
    } else {
      status = operation_->status();
    }
    return true;
  }
  // The same of a send that is like one latest call and a receive that is like another one; `ended` is shown the
  // receive.
  template <class Ended>
  static bool run_again(LatestCall& like_send, const CallArguments& send, LatestCall& like_recv,
                        const CallArguments& recv, Executor& executor, Status& status, const Ended& ended) {
    const Turn first(like_send.busy_), second(like_recv.busy_);
    if (!first || !second || !like_send.fits(send) || !like_recv.fits(recv)) return false;
    const std::array<std::shared_ptr<Operation>, 2> pair{like_send.operation_, like_recv.operation_};
    const auto* const input = static_cast<const std::byte*>(send.send);
    if (!executor.run_again(pair, input, static_cast<std::byte*>(recv.recv))) return false;
    if (Status failed = status_of(pair); !failed.ok()) {
      status = std::move(failed);
    } else {
      ended(*pair.back());
    }
    return true;
  }
  // `operation` is bound to this call, which gives these tables, and owned by the caller and a list of idle ones; else
  // it is not kept.
  void keep(const CallArguments& call, CallTables tables, const std::shared_ptr<Operation>& operation) {
    const Turn turn(busy_);
    if (!turn || !CallKey::may_have(call) || operation.use_count() != owners || !operation->can_move()) return;
    if (operation_ != nullptr && is_alike(call)) {
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
    if (const Turn turn(busy_); turn) forget_now();
  }

 private:
  // Other buffers than those of its last run may be other memory; the same ones are not, unless there is a driver that
  // hands out memory. What a new call may do with memory of a device is for the checks of a new call to say.
  [[gnu::always_inline]] bool is_in_host_memory(const CallArguments& call) const {
    if (gpus_ == nullptr || (operation_->is_bound_to(call.send, call.recv) && !gpus_->seen())) return true;
    return gpus_find_none(call);
  }
  bool gpus_find_none(const CallArguments& call) const {
    const auto is_host_memory = [this](const void* data) {
      const auto gpu = gpus_->gpu_at(data);
      return gpu.ok() && *gpu == nullptr;
    };
    return is_host_memory(call.send) && is_host_memory(call.recv);
  }

  static constexpr std::size_t others_max = 127;
  static constexpr long owners = 2;  // of an idle operation: the list of idle ones, which does not drop it, and this

  // One thread's at a time; nobody waits for it.
  class Turn {
   public:
    explicit Turn(std::atomic<bool>& busy) : busy_(busy), has_(!busy.exchange(true, std::memory_order_acquire)) {}
    ~Turn() {
      if (has_) busy_.store(false, std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const { return has_; }

   private:
    std::atomic<bool>& busy_;
    const bool has_;
  };

  // Whether the call is like the latest.
  [[gnu::always_inline]] bool is_alike(const CallArguments& call) const {
    return operation_ != nullptr && key_.fits(call) && tables_.fit(call);
  }
  // The same, nobody uses its operation, and that may do with this call's buffers.
  [[gnu::always_inline]] bool fits(const CallArguments& call) const {
    return is_alike(call) && is_idle(operation_) && is_in_host_memory(call);
  }
  [[gnu::always_inline]] static bool is_idle(const std::shared_ptr<Operation>& operation) {
    return operation.use_count() == owners && operation->finished();
  }
  // Programs that have several calls under way mostly use the same buffers again, in the same order.
  bool is_oldest_bound_to(const CallArguments& call) const {
    return !others_.empty() && others_[oldest_]->is_bound_to(call.send, call.recv);
  }
  // Makes the one that has been used longest ago the latest; false: it is under way, too.
  bool take_another() {
    if (others_.empty() || !is_idle(others_[oldest_])) return false;
    operation_.swap(others_[oldest_]);
    oldest_ = (oldest_ + 1) % others_.size();
    return true;
  }
  void forget_now() {
    operation_.reset();
    others_.clear();
    oldest_ = 0;
  }

  Gpus* const gpus_;
  std::atomic<bool> busy_{false};  // a thread has its Turn, which guards the rest
  CallKey key_;
  CallTables tables_;
  std::shared_ptr<Operation> operation_;
  // Of calls like it before, of which so many were under way at once: in the order of their calls from the oldest on,
  // then from the first on.
  std::vector<std::shared_ptr<Operation>> others_;
  std::size_t oldest_ = 0;
};

// The latest call of each kind: a program that sends and receives in turns, or to several ranks, repeats itself, too.
class LatestCalls {
 public:
  explicit LatestCalls(Gpus* gpus) : LatestCalls(gpus, std::make_index_sequence<places>()) {}

  // The latest that may be like this one.
  LatestCall& like(const CallArguments& call) { return calls_[place_of(call)]; }
  void forget() {
    for (LatestCall& call : calls_) call.forget();
  }

 private:
  static constexpr std::size_t places = 32, of_messages = 8;  // of sends, and of receives

  template <std::size_t... index>
  LatestCalls(Gpus* gpus, std::index_sequence<index...>) : calls_{((void)index, LatestCall(gpus))...} {}

  // By collective: its place, and which bits of its root tell the places behind that apart. Every call passes here.
  struct Place {
    std::uint8_t first, root_bits;
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
    return place.first + (static_cast<std::size_t>(call.root) & place.root_bits);
  }

  std::array<LatestCall, places> calls_;
};

}  // namespace hocket::comm
