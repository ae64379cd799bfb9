// The C API's communicators that are created while the caller does other things.
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

#include "src/base/sized_struct.hpp"
#include "src/capi/background_handle.hpp"
#include "src/comm/creation.hpp"
#include "src/comm/join.hpp"
#include "src/comm/options.hpp"
#include "src/comm/shrink.hpp"

using namespace hocket::capi;  // the functions of the API stand outside all namespaces
using hocket::Status;
using hocket::comm::Creation;

struct hocket_creation : BackgroundHandle<std::unique_ptr<hocket::comm::Communicator>> {};

namespace {

auto start(std::function<Creation::Made(std::stop_token)> make) {
  return Creation::start("create a communicator", std::move(make));
}

Status keep(hocket::Result<std::unique_ptr<Creation>> started, hocket_creation** creation) {
  if (!started.ok()) return started.status();
  *creation = new hocket_creation{{std::move(*started)}};
  return {};
}

}  // namespace

extern "C" {

hocket_result hocket_comm_create_start(hocket_creation** creation, const hocket_comm_options* options) {
  return guarded([&]() -> Status {
    if (creation == nullptr) return null_argument("creation");
    *creation = nullptr;
    const auto resolved = hocket::comm::resolve_options(options);
    if (!resolved.ok()) return resolved.status();
    return keep(start([given = *resolved](const std::stop_token& stop) {
                  return hocket::comm::Communicator::create(given, registered_memory(), stop);
                }),
                creation);
  });
}

hocket_result hocket_comm_split_start(hocket_comm* parent, int32_t color, int32_t key, hocket_creation** creation,
                                      const hocket_split_options* options) {
  return guarded([&]() -> Status {
    if (creation == nullptr) return null_argument("creation");
    *creation = nullptr;
    if (parent == nullptr) return null_argument("parent");
    const auto request = hocket::capi::split_request(hocket::comm::split_arguments(color, key), options);
    if (!request.ok()) return request.status();
    return keep(start([&communicator = *parent->communicator, given = *request](const std::stop_token& stop) {
                  return communicator.split(given, stop);
                }),
                creation);
  });
}

hocket_result hocket_comm_shrink_start(hocket_comm* comm, hocket_creation** creation,
                                       const hocket_shrink_options* options) {
  return guarded([&]() -> Status {
    if (creation == nullptr) return null_argument("creation");
    *creation = nullptr;
    if (comm == nullptr) return null_argument("comm");
    const auto request = hocket::capi::shrink_request(options);
    if (!request.ok()) return request.status();
    return keep(start([&communicator = *comm->communicator, given = *request](const std::stop_token& stop) {
                  return communicator.shrink(given, stop);
                }),
                creation);
  });
}

hocket_result hocket_comm_join_start(hocket_comm* comm, hocket_creation** creation, const hocket_join_options* join,
                                     const hocket_comm_options* options) {
  return guarded([&]() -> Status {
    if (creation == nullptr) return null_argument("creation");
    *creation = nullptr;
    const auto request = hocket::comm::join_request(join, options, rank_in(comm));
    if (!request.ok()) return request.status();
    return keep(start([comm, given = *request](const std::stop_token& stop) {
                  return comm == nullptr ? hocket::comm::Communicator::come_in(given, registered_memory(), stop)
                                         : comm->communicator->take_in(given, stop);
                }),
                creation);
  });
}

hocket_result hocket_creation_test(hocket_creation* creation) {
  return test_background(creation, "creation");
}

hocket_result hocket_creation_wait(hocket_creation* creation, int64_t timeout_ms, hocket_comm** comm) {
  return guarded([&]() -> Status {
    if (comm == nullptr) return null_argument("comm");
    *comm = nullptr;
    if (Status status = wait_for_background(creation, "creation", timeout_ms); !status.ok()) return status;
    auto handle = std::make_unique<hocket_comm>();  // before the communicator is taken, which can be done once
    auto made = creation->background->take();
    if (!made.ok()) return made.status();
    handle->communicator = std::move(*made);
    if (handle->communicator) *comm = handle.release();
    return {};
  });
}

hocket_result hocket_creation_destroy(hocket_creation* creation) {
  return destroy_background(creation);
}

}  // extern "C"
