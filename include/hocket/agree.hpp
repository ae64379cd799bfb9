/// @file
/// Agreeing in C++ while the caller does other things; Communicator::agree() waits.
///
///     hocket::Agreement agreement = hocket::Agreement::start(comm, content ? 1 : 0);
///     save_state();
///     const hocket::Agreed agreed = agreement.wait();
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hocket/agree.h"
#include "hocket/comm.hpp"
#include "hocket/errors.hpp"

namespace hocket {
inline namespace api {

/// An agreement in the background. The destructor gives up one that is not complete, see hocket_agreement_destroy().
class Agreement {
 public:
  /// Starts Communicator::agree(). Do not destroy `comm` until this is complete, see hocket_comm_agree_start().
  static Agreement start(Communicator& comm, std::uint64_t flag, std::chrono::milliseconds timeout = {}) {
    const hocket_agree_options options{sizeof(hocket_agree_options), timeout.count()};
    Agreement made;
    check(hocket_comm_agree_start(comm.handle(), flag, &made.handle_, &options));
    made.size_ = static_cast<std::size_t>(comm.size());
    return made;
  }

  /// Takes the agreement of `other`, which then has none.
  Agreement(Agreement&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), size_(other.size_) {}
  /// Gives up its own agreement, then takes that of `other`.
  Agreement& operator=(Agreement&& other) noexcept {
    if (this != &other) {
      hocket_agreement_destroy(handle_);
      handle_ = std::exchange(other.handle_, nullptr);
      size_ = other.size_;
    }
    return *this;
  }
  ~Agreement() { hocket_agreement_destroy(handle_); }

  /// True when complete. Throws the reason if it failed. Never blocks.
  bool test() {
    const hocket_result result = hocket_agreement_test(handle_);
    if (result == HOCKET_IN_PROGRESS) return false;
    check(result);
    return true;
  }
  /// Waits for what the ranks agree on.
  Agreed wait() {
    Agreed agreed{0, std::vector<std::int32_t>(size_)};
    std::int32_t count = 0;
    hocket_result result;
    do {
      result = hocket_agreement_wait(handle_, 0, &agreed.flag, agreed.dead.data(), &count);
    } while (result == HOCKET_IN_PROGRESS);
    check(result);
    agreed.dead.resize(static_cast<std::size_t>(count));
    return agreed;
  }
  /// The handle for the C API, which still belongs to this object.
  hocket_agreement* handle() const noexcept { return handle_; }

 private:
  Agreement() = default;

  hocket_agreement* handle_ = nullptr;
  std::size_t size_ = 0;  // of the communicator
};

}  // namespace api
}  // namespace hocket
