// Status and Result: how failure travels. Values, never exceptions. The code of a failure never changes on its way up;
// each layer may only fill in what the layer below could not know (peer, operation, sequence number).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "src/spi/types.hpp"

namespace hocket {

// One for one the hocket_result of the C API.
enum class Code : int {
  ok = HOCKET_OK,
  in_progress = HOCKET_IN_PROGRESS,
  invalid_argument = HOCKET_INVALID_ARGUMENT,
  unsupported = HOCKET_UNSUPPORTED,
  invalid_environment = HOCKET_INVALID_ENVIRONMENT,
  out_of_resources = HOCKET_OUT_OF_RESOURCES,
  address_in_use = HOCKET_ADDRESS_IN_USE,
  store_unreachable = HOCKET_STORE_UNREACHABLE,
  rank_taken = HOCKET_RANK_TAKEN,
  peer_lost = HOCKET_PEER_LOST,
  timeout = HOCKET_TIMEOUT,
  aborted = HOCKET_ABORTED,
  mismatch = HOCKET_MISMATCH,
  protocol_error = HOCKET_PROTOCOL_ERROR,
  not_found = HOCKET_NOT_FOUND,
  internal = HOCKET_INTERNAL,
  excluded = HOCKET_EXCLUDED,
};

// What happened, in full. `message` is one sentence that a person can act on.
struct Cause {
  Code code = Code::internal;
  std::string message;
  Rank rank = no_rank;         // that saw it first
  Rank peer = no_rank;         // that is at fault, or was not heard of
  std::string operation = {};  // "allreduce", "create" …; empty: none
  std::uint64_t sequence = 0;  // 0: none
  double elapsed_seconds = 0;
  bool ended = false;  // peer_lost: the peer's process has ended or left for certain, and is not only out of reach
};

// Success is one null pointer; failure a shared, immutable cause. Cheap to copy, safe to share between threads.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : Status(Cause{.code = code, .message = std::move(message)}) {}
  explicit Status(Cause cause) : cause_(std::make_shared<const Cause>(std::move(cause))) {}

  bool ok() const { return cause_ == nullptr; }
  explicit operator bool() const { return ok(); }
  Code code() const { return ok() ? Code::ok : cause_->code; }
  // Requires !ok().
  const Cause& cause() const { return *cause_; }
  const std::string& message() const {
    static const std::string none;
    return ok() ? none : cause_->message;
  }

 private:
  std::shared_ptr<const Cause> cause_;
};

// A T or the Status that explains why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::move(value)) {}
  Result(Status failure) : held_(std::move(failure)) {}  // requires !failure.ok()

  bool ok() const { return held_.index() == 0; }
  explicit operator bool() const { return ok(); }
  Status status() const { return ok() ? Status() : std::get<1>(held_); }
  // These require ok().
  T& value() & { return std::get<0>(held_); }
  const T& value() const& { return std::get<0>(held_); }
  T&& value() && { return std::get<0>(std::move(held_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> held_;
};

}  // namespace hocket
