/// @file
/// Creating communicators in C++ while the caller does other things.
///
///     hocket::Creation creation = hocket::Creation::start();
///     load_data();
///     hocket::Communicator comm = creation.wait().value();
#pragma once

#include <memory>
#include <optional>

#include "hocket/comm.hpp"
#include "hocket/creation.h"
#include "hocket/errors.hpp"

namespace hocket {
inline namespace api {

/// A communicator that is being created, in one place at a time. The destructor gives up what is not complete, see
/// hocket_creation_destroy().
class Creation {
 public:
  /// Starts Communicator::create().
  static Creation start(const Options& options = {}) {
    const hocket_comm_options given = detail::to_c(options);
    hocket_creation* made = nullptr;
    check(hocket_comm_create_start(&made, &given));
    return Creation(made);
  }
  /// Starts Communicator::split(). Leave `parent` alone until this is complete, see hocket_comm_split_start().
  static Creation split(Communicator& parent, int color, int key, const SplitOptions& options = {}) {
    const hocket_split_options given = detail::to_c(options);
    hocket_creation* made = nullptr;
    check(hocket_comm_split_start(parent.handle(), color, key, &made, &given));
    return Creation(made);
  }

  /// Starts Communicator::shrink(). Leave `comm` alone until this is complete, see hocket_comm_shrink_start().
  static Creation shrink(Communicator& comm, const ShrinkOptions& options = {}) {
    const hocket_shrink_options given = detail::to_c(options);
    hocket_creation* made = nullptr;
    check(hocket_comm_shrink_start(comm.handle(), &made, &given));
    return Creation(made);
  }

  /// Starts Communicator::take_in(). Leave `comm` alone until this is complete, see hocket_comm_join_start().
  static Creation take_in(Communicator& comm, const JoinOptions& join = {}, const Options& options = {}) {
    return join_as(comm.handle(), join, options);
  }
  /// Starts Communicator::come_in().
  static Creation come_in(const JoinOptions& join = {}, const Options& options = {}) {
    return join_as(nullptr, join, options);
  }

  /// True when complete. Throws the reason if the creation failed. Never blocks.
  bool test() {
    const hocket_result result = hocket_creation_test(handle());
    if (result == HOCKET_IN_PROGRESS) return false;
    check(result);
    return true;
  }
  /// Waits for the communicator and hands it over, once; returns nothing if a split gives this rank none, or
  /// nobody has joined.
  std::optional<Communicator> wait() {
    hocket_comm* comm = nullptr;
    hocket_result result;
    do {
      result = hocket_creation_wait(handle(), 0, &comm);
    } while (result == HOCKET_IN_PROGRESS);
    check(result);
    return Communicator::from(comm);
  }
  /// The handle for the C API, which still belongs to this object.
  hocket_creation* handle() const noexcept { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(hocket_creation* creation) const noexcept { hocket_creation_destroy(creation); }
  };

  explicit Creation(hocket_creation* made) noexcept : handle_(made) {}
  static Creation join_as(hocket_comm* member, const JoinOptions& join, const Options& options) {
    const hocket_join_options given = detail::to_c(join);
    const hocket_comm_options given_options = detail::to_c(options);
    hocket_creation* made = nullptr;
    check(hocket_comm_join_start(member, &made, &given, &given_options));
    return Creation(made);
  }

  std::unique_ptr<hocket_creation, Destroy> handle_;
};

}  // namespace api
}  // namespace hocket
