// What the C API's handles on what happens in the background have in common.
#pragma once

#include <memory>

#include "src/capi/handles.hpp"
#include "src/comm/background.hpp"

namespace hocket::capi {

template <class T>
struct BackgroundHandle {
  std::unique_ptr<comm::Background<T>> background;
};

// `name`: of the argument, for messages.
template <class Handle>
hocket_result test_background(const Handle* handle, const char* name) {
  if (handle != nullptr && !handle->background->finished()) return HOCKET_IN_PROGRESS;
  return guarded([&] { return handle == nullptr ? null_argument(name) : handle->background->status(); });
}

// Ok when it has succeeded.
template <class Handle>
Status wait_for_background(const Handle* handle, const char* name, int64_t timeout_ms) {
  if (handle == nullptr) return null_argument(name);
  const auto deadline = deadline_of_wait(timeout_ms);
  if (!deadline.ok()) return deadline.status();
  if (!may_wait() && !handle->background->finished()) return wait_refused();
  return handle->background->wait(*deadline);
}

template <class Handle>
hocket_result destroy_background(Handle* handle) {
  return guarded([&]() -> Status {
    if (handle != nullptr && !may_wait()) return wait_refused();
    delete handle;
    return {};
  });
}

}  // namespace hocket::capi
