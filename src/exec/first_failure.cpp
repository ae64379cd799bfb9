#include "src/exec/first_failure.hpp"

#include <fmt/format.h>

#include <string>
#include <tuple>
#include <utility>

namespace hocket {

bool precedes(const Cause& one, const Cause& other) {
  const auto place = [](const Cause& cause) {
    const int kind = cause.code == Code::timeout ? 2 : cause.code == Code::peer_lost ? 1 : 0;
    return std::tuple(kind, cause.peer, cause.rank);
  };
  return place(one) < place(other);
}

FirstFailure::FirstFailure(Rank rank) : rank_(rank), caught_(rank) {}

bool FirstFailure::request_abort(const Status& why) {
  const std::lock_guard lock(mutex_);
  if (!failure_.ok() || !abort_.ok()) return false;
  abort_ = why;
  return true;
}

Status FirstFailure::requested_abort() const {
  const std::lock_guard lock(mutex_);
  return abort_;
}

Status FirstFailure::set(const Status& cause) {
  const std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = cause;
  return failure_;
}

Status FirstFailure::get() const {
  const std::lock_guard lock(mutex_);
  return failure_.ok() ? abort_ : failure_;
}

Status FirstFailure::with_context(const Status& status, const Operation* operation) const {
  if (status.cause().rank != no_rank) return status;  // as the rank that saw it first told it
  Cause cause = status.cause();
  cause.rank = rank_;
  cause.message += fmt::format(" (seen by rank {}", rank_);
  if (operation != nullptr) {
    cause.operation = name_of(operation->signature().collective);
    cause.sequence = operation->sequence();
    cause.elapsed_seconds = operation->elapsed_seconds();
    cause.message +=
        fmt::format(" in {} number {}, after {:.3f} s", cause.operation, cause.sequence, cause.elapsed_seconds);
  }
  cause.message += ")";
  return Status(std::move(cause));
}

}  // namespace hocket
