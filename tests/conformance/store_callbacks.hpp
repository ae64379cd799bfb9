// What a caller writes to show Hocket a store of its own; here, one of Hocket's.
#pragma once

#include "hocket/store.h"
#include "src/spi/store.hpp"

namespace hocket {

inline std::string_view text_of(hocket_bytes bytes) {
  return {static_cast<const char*>(bytes.data), bytes.size};
}

inline hocket_result hand_over(const Result<std::optional<std::string>>& found, hocket_result absent,
                               hocket_bytes_receiver receive, void* receiver) {
  if (!found.ok()) return static_cast<hocket_result>(found.status().code());
  if (!*found) return absent;
  receive(receiver, {(*found)->data(), (*found)->size()});
  return HOCKET_OK;
}

inline Store& of(void* context) {
  return *static_cast<Store*>(context);
}

inline Deadline within(std::int64_t timeout_ms) {
  return Deadline::after(std::chrono::milliseconds(timeout_ms));
}

// `store` outlives the calls.
inline hocket_store_callbacks callbacks_on(Store& store) {
  hocket_store_callbacks callbacks = HOCKET_STORE_CALLBACKS_INIT;
  callbacks.context = &store;
  callbacks.set = [](void* context, hocket_bytes key, hocket_bytes value, std::int64_t timeout_ms) {
    return static_cast<hocket_result>(of(context).set(text_of(key), text_of(value), within(timeout_ms)).code());
  };
  callbacks.get = [](void* context, hocket_bytes key, std::int64_t timeout_ms, hocket_bytes_receiver receive,
                     void* receiver) {
    return hand_over(of(context).peek(text_of(key), within(timeout_ms)), HOCKET_NOT_FOUND, receive, receiver);
  };
  callbacks.compare_and_set = [](void* context, hocket_bytes key, const hocket_bytes* expected, hocket_bytes desired,
                                 std::int64_t timeout_ms, hocket_bytes_receiver receive, void* receiver) {
    const auto wanted = expected ? std::optional(text_of(*expected)) : std::nullopt;
    return hand_over(of(context).compare_and_set(text_of(key), wanted, text_of(desired), within(timeout_ms)), HOCKET_OK,
                     receive, receiver);
  };
  callbacks.remove = [](void* context, hocket_bytes key, std::int64_t timeout_ms) {
    const auto removed = of(context).remove(text_of(key), within(timeout_ms));
    if (!removed.ok()) return static_cast<hocket_result>(removed.status().code());
    return *removed ? HOCKET_OK : HOCKET_NOT_FOUND;
  };
  callbacks.list = [](void* context, hocket_bytes prefix, std::int64_t timeout_ms, hocket_bytes_receiver receive,
                      void* receiver) {
    const auto keys = of(context).list(text_of(prefix), within(timeout_ms));
    if (!keys.ok()) return static_cast<hocket_result>(keys.status().code());
    for (const std::string& key : *keys) receive(receiver, {key.data(), key.size()});
    return HOCKET_OK;
  };
  return callbacks;
}

}  // namespace hocket
