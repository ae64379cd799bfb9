// The latest call of a communicator, for the next one: mostly it differs in its buffers alone.
#pragma once

#include <memory>

#include "src/comm/call_key.hpp"
#include "src/cuda/memory_kind.hpp"
#include "src/exec/operation.hpp"

namespace hocket::comm {

// Thread rule: one thread at a time.
class LatestCall {
 public:
  // The operation of the latest call, bound to the buffers of this one. Null: this one is another, or that one runs.
  std::shared_ptr<Operation> repeat(const CallArguments& call) {
    if (operation_ == nullptr || operation_.use_count() != owners || !operation_->finished()) return nullptr;
    if (!CallKey::may_have(call) || CallKey::of(call) != key_ || !is_in_host_memory(call)) return nullptr;
    send_ = call.send, recv_ = call.recv;
    operation_->bind_again(static_cast<const std::byte*>(call.send), static_cast<std::byte*>(call.recv));
    return operation_;
  }
  // `operation` is bound to this call, and owned by the caller and a list of idle ones; else it is not kept.
  void keep(const CallArguments& call, const std::shared_ptr<Operation>& operation) {
    if (operation.use_count() != owners || !operation->can_move()) return;
    key_ = CallKey::of(call);
    send_ = call.send, recv_ = call.recv;
    operation_ = operation;
  }
  void forget() { operation_.reset(); }

 private:
  // Other buffers may be other memory; the same ones are not, unless there is a driver that hands out memory. What a
  // new call may do with memory of a device is for the checks of a new call to say.
  bool is_in_host_memory(const CallArguments& call) const {
    if (call.send == send_ && call.recv == recv_ && !cuda::driver_was_seen()) return true;
    return cuda::device_memory_at(call.send).empty() && cuda::device_memory_at(call.recv).empty();
  }

  static constexpr long owners = 2;  // of an idle operation: the list of idle ones and this

  CallKey key_;
  const void* send_ = nullptr;
  void* recv_ = nullptr;
  std::shared_ptr<Operation> operation_;
};

}  // namespace hocket::comm
