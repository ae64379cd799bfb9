#include "src/store/callback_store.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/failure_code.hpp"
#include "src/base/sized_struct.hpp"
#include "src/store/backoff.hpp"
#include "src/store/dictionary.hpp"
#include "src/store/keys.hpp"

namespace hocket {
namespace {

using Found = std::optional<std::string>;

hocket_bytes bytes(std::string_view text) {
  return {.data = text.data(), .size = text.size()};
}

std::string copy_of_found(hocket_bytes found) {
  return found.size == 0 ? std::string() : std::string(static_cast<const char*>(found.data), found.size);
}

void receive_one(void* receiver, hocket_bytes found) {
  *static_cast<Found*>(receiver) = copy_of_found(found);
}

void receive_many(void* receiver, hocket_bytes found) {
  static_cast<std::vector<std::string>*>(receiver)->push_back(copy_of_found(found));
}

// At least 1, so that no caller reads it as "no limit".
std::int64_t milliseconds_to(Deadline deadline) {
  return std::max<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(deadline.remaining()).count(), 1);
}

Status callback_failure(hocket_result result, std::string_view call, std::string_view key) {
  const bool known = is_failure(result) && result != HOCKET_NOT_FOUND;
  return {known ? static_cast<Code>(result) : Code::store_unreachable,
          fmt::format("the caller's store failed to {} the key {}: its function returned {}", call,
                      store::in_quotes(key), hocket_result_name(result))};
}

// What every call checks before the caller's function is called.
Status begin(std::string_view call, std::string_view key, std::string_view url, Deadline deadline) {
  if (Status status = store::check_key(key); !status.ok()) return status;
  return deadline.passed() ? store::call_timed_out(call, key, url) : Status();
}

}  // namespace

Result<hocket_store_callbacks> CallbackStore::check(const hocket_store_callbacks* given) {
  const auto known = read_sized(given);
  if (!known) {
    return Status(Code::invalid_argument,
                  "store_callbacks.struct_size is wrong: begin with HOCKET_STORE_CALLBACKS_INIT");
  }
  if (known->set == nullptr || known->get == nullptr || known->compare_and_set == nullptr || known->remove == nullptr) {
    return Status(Code::invalid_argument,
                  "store_callbacks lacks a function: set, get, compare_and_set and remove are needed");
  }
  return *known;
}

Status CallbackStore::set(std::string_view key, std::string_view value, Deadline deadline) {
  if (Status status = begin("set", key, url(), deadline); !status.ok()) return status;
  if (Status status = store::check_value(value); !status.ok()) return status;
  const hocket_result result = callbacks_.set(callbacks_.context, bytes(key), bytes(value), milliseconds_to(deadline));
  return result == HOCKET_OK ? Status() : callback_failure(result, "set", key);
}

Result<std::string> CallbackStore::get(std::string_view key, Deadline deadline) {
  const auto began = Deadline::Clock::now();
  for (store::Backoff backoff(deadline, store::longest_wait_for_key);; backoff.sleep()) {
    auto found = peek(key, deadline);
    if (found.ok() && *found) return std::move(**found);
    if (deadline.passed() && (found.ok() || found.status().code() == Code::timeout)) {
      return store::get_timed_out(key, url(), began);
    }
    if (!found.ok()) return found.status();
  }
}

Result<Found> CallbackStore::peek(std::string_view key, Deadline deadline) {
  if (Status status = begin("peek", key, url(), deadline); !status.ok()) return status;
  Found found;
  const hocket_result result =
      callbacks_.get(callbacks_.context, bytes(key), milliseconds_to(deadline), receive_one, &found);
  if (result == HOCKET_NOT_FOUND) return Found();
  if (result != HOCKET_OK) return callback_failure(result, "get", key);
  if (found) return found;
  return Status(Code::internal, "the caller's store returned HOCKET_OK from get, but passed no value");
}

// A number is added by swaps, so that the caller's store need not know numbers.
Result<std::int64_t> CallbackStore::add(std::string_view key, std::int64_t delta, Deadline deadline) {
  for (;;) {
    const auto before = peek(key, deadline);
    if (!before.ok()) return before.status();
    store::Dictionary arithmetic;
    if (*before) (void)arithmetic.set(key, **before);
    const auto sum = arithmetic.add(key, delta);
    if (!sum.ok()) return sum;
    const auto expected = *before ? std::optional<std::string_view>(**before) : std::nullopt;
    const auto found = compare_and_set(key, expected, std::to_string(*sum), deadline);
    if (!found.ok()) return found.status();
    if (*found == *before) return sum;
  }
}

Result<Found> CallbackStore::compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                                             std::string_view desired, Deadline deadline) {
  if (Status status = begin("compare_and_set", key, url(), deadline); !status.ok()) return status;
  for (const std::string_view value : {expected.value_or(std::string_view()), desired}) {
    if (Status status = store::check_value(value); !status.ok()) return status;
  }
  const hocket_bytes wanted = bytes(expected.value_or(std::string_view()));
  Found before;
  const hocket_result result =
      callbacks_.compare_and_set(callbacks_.context, bytes(key), expected ? &wanted : nullptr, bytes(desired),
                                 milliseconds_to(deadline), receive_one, &before);
  if (result != HOCKET_OK) return callback_failure(result, "compare and set", key);
  return before;
}

Result<bool> CallbackStore::remove(std::string_view key, Deadline deadline) {
  if (Status status = begin("remove", key, url(), deadline); !status.ok()) return status;
  const hocket_result result = callbacks_.remove(callbacks_.context, bytes(key), milliseconds_to(deadline));
  if (result == HOCKET_OK || result == HOCKET_NOT_FOUND) return result == HOCKET_OK;
  return callback_failure(result, "remove", key);
}

Result<std::vector<std::string>> CallbackStore::list(std::string_view prefix, Deadline deadline) {
  if (Status status = store::check_prefix(prefix); !status.ok()) return status;
  if (deadline.passed()) return store::call_timed_out("list", prefix, url());
  if (callbacks_.list == nullptr) return Status(Code::unsupported, "the caller's store cannot list its keys");
  std::vector<std::string> keys;
  const hocket_result result =
      callbacks_.list(callbacks_.context, bytes(prefix), milliseconds_to(deadline), receive_many, &keys);
  if (result != HOCKET_OK) return callback_failure(result, "list", prefix);
  std::ranges::sort(keys);
  return keys;
}

}  // namespace hocket
