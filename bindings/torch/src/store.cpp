#include "bindings/torch/src/store.hpp"

namespace hocket_torch {
namespace {

using Value = std::vector<std::uint8_t>;

std::string text(hocket_bytes bytes) {
  return {static_cast<const char*>(bytes.data), bytes.size};
}

Value value_of(hocket_bytes bytes) {
  const auto* begin = static_cast<const std::uint8_t*>(bytes.data);
  return {begin, begin + bytes.size};
}

}  // namespace

// No exception reaches Hocket.
template <class Step>
hocket_result SharedStore::attempt(void* context, Step step) {
  auto& own = *static_cast<SharedStore*>(context);
  try {
    // torch's FileStore waits for its file before it looks into it, and only a change makes the file.
    if (!own.is_there_) own.store_->add("hocket_torch", 0);
    own.is_there_ = true;
    return step(*own.store_);
  } catch (const std::exception& error) {
    own.trouble_ = error.what();
  } catch (...) {
    own.trouble_ = "an unknown exception";
  }
  return HOCKET_STORE_UNREACHABLE;
}

hocket_store_callbacks SharedStore::callbacks() {
  hocket_store_callbacks callbacks = HOCKET_STORE_CALLBACKS_INIT;
  callbacks.context = this;
  callbacks.set = [](void* context, hocket_bytes key, hocket_bytes value, std::int64_t) {
    return attempt(context, [&](c10d::Store& store) {
      store.set(text(key), value_of(value));
      return HOCKET_OK;
    });
  };
  // torch's get waits, and its wait cannot be given up safely in 1.13, so look first.
  callbacks.get = [](void* context, hocket_bytes key, std::int64_t, hocket_bytes_receiver receive, void* receiver) {
    return attempt(context, [&](c10d::Store& store) {
      if (!store.check({text(key)})) return HOCKET_NOT_FOUND;
      const Value value = store.get(text(key));
      receive(receiver, {value.data(), value.size()});
      return HOCKET_OK;
    });
  };
  // torch's swap takes an empty value for an absent key, and returns what is there afterwards; for a key that is absent
  // but should not be, what was expected.
  callbacks.compare_and_set = [](void* context, hocket_bytes key, const hocket_bytes* expected, hocket_bytes desired,
                                 std::int64_t, hocket_bytes_receiver receive, void* receiver) {
    return attempt(context, [&](c10d::Store& store) {
      const Value before = expected ? value_of(*expected) : Value();
      const Value after = store.compareSet(text(key), before, value_of(desired));
      if (after == value_of(desired)) {
        if (expected) receive(receiver, *expected);
      } else if (!expected || after != before) {
        receive(receiver, {after.data(), after.size()});
      }
      return HOCKET_OK;
    });
  };
  callbacks.remove = [](void* context, hocket_bytes key, std::int64_t) {
    return attempt(context,
                   [&](c10d::Store& store) { return store.deleteKey(text(key)) ? HOCKET_OK : HOCKET_NOT_FOUND; });
  };
  return callbacks;
}

}  // namespace hocket_torch
