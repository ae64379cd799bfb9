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
#include <memory>
#include <vector>

#include "hocket/agree.h"
#include "hocket/comm.hpp"
#include "hocket/errors.hpp"

namespace hocket {
inline namespace api {

/// An agreement in the background, in one place at a time. The destructor gives up one that is not complete, see
/// hocket_agreement_destroy().
class Agreement {
 public:
  /// Starts Communicator::agree(). Do not destroy `comm` until this is complete, see hocket_comm_agree_start().
  static Agreement start(Communicator& comm, std::uint64_t flag, std::chrono::milliseconds timeout = {}) {
    const hocket_agree_options options{sizeof(hocket_agree_options), timeout.count()};
    const auto size = static_cast<std::size_t>(comm.size());
    hocket_agreement* made = nullptr;
    check(hocket_comm_agree_start(comm.handle(), flag, &made, &options));
    return Agreement(made, size);
  }

  /// True when complete. Throws the reason if it failed. Never blocks.
  bool test() {
    const hocket_result result = hocket_agreement_test(handle());
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
      result = hocket_agreement_wait(handle(), 0, &agreed.flag, agreed.dead.data(), &count);
    } while (result == HOCKET_IN_PROGRESS);
    check(result);
    agreed.dead.resize(static_cast<std::size_t>(count));
    return agreed;
  }
  /// The handle for the C API, which still belongs to this object.
  hocket_agreement* handle() const noexcept { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(hocket_agreement* agreement) const noexcept { hocket_agreement_destroy(agreement); }
  };

  Agreement(hocket_agreement* made, std::size_t size) noexcept : handle_(made), size_(size) {}

  std::unique_ptr<hocket_agreement, Destroy> handle_;
  std::size_t size_;  // of the communicator
};

}  // namespace api
}  // namespace hocket
