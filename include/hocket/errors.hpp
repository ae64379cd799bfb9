/// @file
/// How failures are reported in C++: as exceptions.
#pragma once

#include <stdexcept>
#include <string>

#include "hocket/errors.h"

namespace hocket {
inline namespace api {

/// Every function of the C++ API throws this if the C API returns a failure. what() is the message.
class Error : public std::runtime_error {
 public:
  /// An error with everything that the library knows about its cause.
  explicit Error(const hocket_cause& cause) : std::runtime_error(cause.message), cause_(cause) {}
  /// An error with a message only.
  Error(hocket_result result, const std::string& message) : std::runtime_error(message) {
    cause_.code = result;
    message.copy(cause_.message, sizeof(cause_.message) - 1);
  }

  /// The code that the C API returns for this failure.
  hocket_result result() const noexcept { return cause_.code; }
  /// The details: ranks, operation, elapsed time.
  const hocket_cause& cause() const noexcept { return cause_; }

 private:
  hocket_cause cause_ = HOCKET_CAUSE_INIT;
};

/// Throws the calling thread's latest failure unless `result` is HOCKET_OK.
inline void check(hocket_result result) {
  if (result == HOCKET_OK) return;
  hocket_cause cause = HOCKET_CAUSE_INIT;
  if (hocket_last_cause(&cause) != HOCKET_OK || cause.code != result) throw Error(result, hocket_result_name(result));
  throw Error(cause);
}

}  // namespace api
}  // namespace hocket
