// The latest call of a communicator, for the next one: mostly it differs in its buffers alone.
#pragma once

#include <memory>

#include "src/comm/call_key.hpp"
#include "src/exec/operation.hpp"

namespace hocket::comm {

// Thread rule: one thread at a time.
class LatestCall {
 public:
  // The operation of the latest call, bound to the buffers of this one. Null: this one is another, or that one runs.
  std::shared_ptr<Operation> repeat(const CallArguments& call) {
    if (operation_ == nullptr || operation_.use_count() != owners || !operation_->finished()) return nullptr;
    if (!CallKey::may_have(call) || CallKey::of(call) != key_) return nullptr;
    operation_->bind_again(static_cast<const std::byte*>(call.send), static_cast<std::byte*>(call.recv));
    return operation_;
  }
  // `operation` is bound to this call, and owned by the caller and a list of idle ones; else it is not kept.
  void keep(const CallArguments& call, const std::shared_ptr<Operation>& operation) {
    if (operation.use_count() != owners || !operation->can_move()) return;
    key_ = CallKey::of(call);
    operation_ = operation;
  }
  void forget() { operation_.reset(); }

 private:
  static constexpr long owners = 2;  // of an idle operation: the list of idle ones and this

  CallKey key_;
  std::shared_ptr<Operation> operation_;
};

}  // namespace hocket::comm
