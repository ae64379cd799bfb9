// The latest call of a communicator, for the next one: mostly it differs in its buffers alone.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "src/comm/call_key.hpp"
#include "src/exec/operation.hpp"

namespace hocket::comm {

// Thread rule: any thread. Nobody waits for another: a call that comes while another thread looks at the latest one is
// prepared as if it were the first of its kind.
class LatestCall {
 public:
  // The operation of the latest call, bound to the buffers of this one. Null: this one is another, which forgets the
  // latest, or that one runs.
  std::shared_ptr<Operation> repeat(const CallArguments& call) {
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock) return nullptr;
    if (CallKey::may_have(call) && CallKey::of(call) == key_ && is_idle()) {
      operation_->bind_again(static_cast<const std::byte*>(call.send), static_cast<std::byte*>(call.recv));
      return operation_;
    }
    operation_.reset();
    return nullptr;
  }
  // `operation` is bound to this call, and owned by the caller and a list of idle ones; else it is not kept.
  void keep(const CallArguments& call, const std::shared_ptr<Operation>& operation) {
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock || operation.use_count() != owners || !operation->can_move()) return;
    key_ = CallKey::of(call);
    operation_ = operation;
  }
  void forget() {
    if (const std::unique_lock lock(busy_, std::try_to_lock); lock) operation_.reset();
  }

 private:
  static constexpr long owners = 2;  // of an idle operation: the list of idle ones, which does not drop it, and this

  class Flag {
   public:
    bool try_lock() { return !taken_.exchange(true, std::memory_order_acquire); }
    void unlock() { taken_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool> taken_{false};
  };

  bool is_idle() const { return operation_ != nullptr && operation_.use_count() == owners && operation_->finished(); }

  Flag busy_;
  CallKey key_;                           // guarded by busy_
  std::shared_ptr<Operation> operation_;  // likewise
};

}  // namespace hocket::comm
