// The latest call of a communicator, for the next one: mostly it differs in its buffers alone.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "src/comm/call_key.hpp"
#include "src/exec/executor.hpp"
#include "src/exec/operation.hpp"
#include "src/spi/gpu.hpp"

namespace hocket::comm {

// Thread rule: any thread. Nobody waits for another: a call that comes while another thread looks at the latest one is
// prepared as if it were the first of its kind.
class LatestCall {
 public:
  // `gpus`: whose memory buffers may be; null: none's.
  explicit LatestCall(Gpus* gpus) : gpus_(gpus) {}

  // The operation of the latest call, bound to the buffers of this one. Null: this one is another, which forgets the
  // latest, or that one runs.
  std::shared_ptr<Operation> repeat(const CallArguments& call) {
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock) return nullptr;
    if (!fits(call)) {
      operation_.reset();
      return nullptr;
    }
    send_ = call.send, recv_ = call.recv;
    operation_->bind_again(static_cast<const std::byte*>(call.send), static_cast<std::byte*>(call.recv));
    return operation_;
  }
  // Runs that operation, bound to the buffers of this call, to its end, which `status` is. Where it ends well, it is
  // shown to `ended` before anybody else may run it. False: this call is another one, or not the only one that is to be
  // run now, and nothing has happened.
  template <class Ended>
  bool run_again(const CallArguments& call, Executor& executor, Status& status, const Ended& ended) {
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock || !fits(call)) return false;
    const auto* const input = static_cast<const std::byte*>(call.send);
    if (!executor.run_again(operation_, input, static_cast<std::byte*>(call.recv))) return false;
    send_ = call.send, recv_ = call.recv;
    if (operation_->status().ok()) {
      ended(*operation_);
    } else {
      status = operation_->status();
    }
    return true;
  }
  // `operation` is bound to this call, and owned by the caller and a list of idle ones; else it is not kept.
  void keep(const CallArguments& call, const std::shared_ptr<Operation>& operation) {
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock || operation.use_count() != owners || !operation->can_move()) return;
    key_ = CallKey::of(call);
    send_ = call.send, recv_ = call.recv;
    operation_ = operation;
  }
  void forget() {
    if (const std::unique_lock lock(busy_, std::try_to_lock); lock) operation_.reset();
  }

 private:
  // Other buffers may be other memory; the same ones are not, unless there is a driver that hands out memory. What a
  // new call may do with memory of a device is for the checks of a new call to say.
  bool is_in_host_memory(const CallArguments& call) const {
    if (gpus_ == nullptr || (call.send == send_ && call.recv == recv_ && !gpus_->seen())) return true;
    const auto is_host_memory = [this](const void* data) {
      const auto gpu = gpus_->gpu_at(data);
      return gpu.ok() && *gpu == nullptr;
    };
    return is_host_memory(call.send) && is_host_memory(call.recv);
  }

  static constexpr long owners = 2;  // of an idle operation: the list of idle ones, which does not drop it, and this

  class Flag {
   public:
    bool try_lock() { return !taken_.exchange(true, std::memory_order_acquire); }
    void unlock() { taken_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool> taken_{false};
  };

  // Whether the call is like the latest, whose operation nobody uses.
  bool fits(const CallArguments& call) const {
    return CallKey::may_have(call) && key_.fits(call) && is_idle() && is_in_host_memory(call);
  }
  bool is_idle() const { return operation_ != nullptr && operation_.use_count() == owners && operation_->finished(); }

  Gpus* const gpus_;
  Flag busy_;  // guards the rest
  CallKey key_;
  const void* send_ = nullptr;
  void* recv_ = nullptr;
  std::shared_ptr<Operation> operation_;
};

}  // namespace hocket::comm
