#include "src/store/memory_store.hpp"

#include "src/store/keys.hpp"

namespace hocket {
namespace {

std::optional<std::string> copy_of_value(const store::Dictionary::Value& value) {
  return value ? std::optional<std::string>(*value) : std::nullopt;
}

}  // namespace

Status MemoryStore::set(std::string_view key, std::string_view value, Deadline deadline) {
  if (deadline.passed()) return store::call_timed_out("set", key, url());
  const std::lock_guard lock(mutex_);
  Status status = dictionary_.set(key, value);
  changed_.notify_all();
  return status;
}

Result<std::string> MemoryStore::get(std::string_view key, Deadline deadline) {
  const auto began = Deadline::Clock::now();
  std::unique_lock lock(mutex_);
  for (;;) {
    auto found = dictionary_.find(key);
    if (!found) return found.status();
    if (*found) return std::string(**found);
    if (deadline.passed()) return store::get_timed_out(key, url(), began);
    changed_.wait_until(lock, deadline.at());
  }
}

Result<std::optional<std::string>> MemoryStore::peek(std::string_view key, Deadline deadline) {
  if (deadline.passed()) return store::call_timed_out("peek", key, url());
  const std::lock_guard lock(mutex_);
  auto found = dictionary_.find(key);
  if (!found) return found.status();
  return copy_of_value(*found);
}

Result<std::int64_t> MemoryStore::add(std::string_view key, std::int64_t delta, Deadline deadline) {
  if (deadline.passed()) return store::call_timed_out("add", key, url());
  const std::lock_guard lock(mutex_);
  auto sum = dictionary_.add(key, delta);
  changed_.notify_all();
  return sum;
}

Result<std::optional<std::string>> MemoryStore::compare_and_set(std::string_view key,
                                                                std::optional<std::string_view> expected,
                                                                std::string_view desired, Deadline deadline) {
  if (deadline.passed()) return store::call_timed_out("compare_and_set", key, url());
  const std::lock_guard lock(mutex_);
  auto before = dictionary_.compare_and_set(key, expected, desired);
  if (!before) return before.status();
  changed_.notify_all();
  return copy_of_value(*before);
}

Result<bool> MemoryStore::remove(std::string_view key, Deadline deadline) {
  if (deadline.passed()) return store::call_timed_out("remove", key, url());
  const std::lock_guard lock(mutex_);
  return dictionary_.remove(key);
}

Result<std::vector<std::string>> MemoryStore::list(std::string_view prefix, Deadline deadline) {
  if (deadline.passed()) return store::call_timed_out("list", prefix, url());
  const std::lock_guard lock(mutex_);
  auto page = dictionary_.list(prefix);
  if (!page) return page.status();
  return std::move(page->keys);
}

}  // namespace hocket
