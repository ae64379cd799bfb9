/// @file
/// Creating communicators in C++ while the caller does other things.
///
///     hocket::Creation creation = hocket::Creation::start();
///     load_data();
///     hocket::Communicator comm = creation.wait().value();
#pragma once

#include <optional>
#include <utility>

#include "hocket/comm.hpp"
#include "hocket/creation.h"
#include "hocket/errors.hpp"

namespace hocket {
inline namespace api {

/// A communicator that is being created. The destructor gives up what is not complete, see hocket_creation_destroy().
class Creation {
 public:
  /// Starts Communicator::create().
  static Creation start(const Options& options = {}) {
    const hocket_comm_options given = detail::to_c(options);
    Creation made;
    check(hocket_comm_create_start(&made.handle_, &given));
    return made;
  }
  /// Starts Communicator::split(). Leave `parent` alone until this is complete, see hocket_comm_split_start().
  static Creation split(Communicator& parent, int color, int key, const SplitOptions& options = {}) {
    const hocket_split_options given = detail::to_c(options);
    Creation made;
    check(hocket_comm_split_start(parent.handle(), color, key, &made.handle_, &given));
    return made;
  }

  /// Starts Communicator::shrink(). Leave `comm` alone until this is complete, see hocket_comm_shrink_start().
  static Creation shrink(Communicator& comm, const ShrinkOptions& options = {}) {
    const hocket_shrink_options given = detail::to_c(options);
    Creation made;
    check(hocket_comm_shrink_start(comm.handle(), &made.handle_, &given));
    return made;
  }

  /// Starts Communicator::take_in(). Leave `comm` alone until this is complete, see hocket_comm_join_start().
  static Creation take_in(Communicator& comm, const JoinOptions& join = {}, const Options& options = {}) {
    return join_as(comm.handle(), join, options);
  }
  /// Starts Communicator::come_in().
  static Creation come_in(const JoinOptions& join = {}, const Options& options = {}) {
    return join_as(nullptr, join, options);
  }

  /// Takes the creation of `other`, which then has none.
  Creation(Creation&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  /// Gives up its own creation, then takes that of `other`.
  Creation& operator=(Creation&& other) noexcept {
    if (this != &other) {
      hocket_creation_destroy(handle_);
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Creation() { hocket_creation_destroy(handle_); }

  /// True when complete. Throws the reason if the creation failed. Never blocks.
  bool test() {
    const hocket_result result = hocket_creation_test(handle_);
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
      result = hocket_creation_wait(handle_, 0, &comm);
    } while (result == HOCKET_IN_PROGRESS);
    check(result);
    return Communicator::from(comm);
  }
  /// The handle for the C API, which still belongs to this object.
  hocket_creation* handle() const noexcept { return handle_; }

 private:
  Creation() = default;
  static Creation join_as(hocket_comm* member, const JoinOptions& join, const Options& options) {
    const hocket_join_options given = detail::to_c(join);
    const hocket_comm_options given_options = detail::to_c(options);
    Creation made;
    check(hocket_comm_join_start(member, &made.handle_, &given, &given_options));
    return made;
  }

  hocket_creation* handle_ = nullptr;
};

}  // namespace api
}  // namespace hocket
