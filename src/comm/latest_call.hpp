// The latest call of a communicator, for the next one: mostly it differs in its buffers alone, and then all that was
// checked, chosen and bound holds for it.
#pragma once

#include <cstdint>
#include <memory>

#include "src/comm/call_arguments.hpp"
#include "src/exec/operation.hpp"

namespace hocket {

// Thread rule: one thread at a time.
class LatestCall {
 public:
  // The operation of the latest call, bound to the buffers of this one. Null: this one is another, or that one runs.
  std::shared_ptr<Operation> repeat(const CallArguments& arguments) {
    if (operation_ == nullptr || operation_.use_count() != owners || !operation_->finished()) return nullptr;
    if (!moved_only(arguments)) return nullptr;
    operation_->bind_again(static_cast<const std::byte*>(arguments.send), static_cast<std::byte*>(arguments.recv));
    return operation_;
  }
  // `operation` is bound to this call, and owned by the caller and a list of idle ones; else it is not kept.
  void keep(const CallArguments& arguments, const std::shared_ptr<Operation>& operation) {
    if (operation.use_count() != owners || !operation->can_move()) return;
    arguments_ = arguments;
    operation_ = operation;
  }
  void forget() { operation_.reset(); }

 private:
  static constexpr long owners = 2;  // of an idle operation: the list of idle ones and this

  // Buffers that keep their distance overlap, or do not, as they did.
  bool moved_only(const CallArguments& call) const {
    const CallArguments& latest = arguments_;
    return call.collective == latest.collective && call.count == latest.count && call.dtype == latest.dtype &&
           call.op == latest.op && call.root == latest.root && call.timeout_ms == latest.timeout_ms &&
           call.wire == latest.wire && call.of_split == latest.of_split && call.in_group == latest.in_group &&
           !call.persistent && !call.from_any && (call.send == nullptr) == (latest.send == nullptr) &&
           (call.recv == nullptr) == (latest.recv == nullptr) && distance(call) == distance(latest);
  }
  static std::uintptr_t distance(const CallArguments& call) {
    return reinterpret_cast<std::uintptr_t>(call.recv) - reinterpret_cast<std::uintptr_t>(call.send);
  }

  CallArguments arguments_;
  std::shared_ptr<Operation> operation_;
};

}  // namespace hocket
