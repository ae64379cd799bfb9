// A store inside one process, for ranks that are its threads.
#pragma once

#include <condition_variable>
#include <mutex>

#include "src/spi/store.hpp"
#include "src/store/dictionary.hpp"

namespace hocket {

// Outlives every call on it: a thread that waits in get() must have returned before the destructor begins.
class MemoryStore : public Store {
 public:
  std::string url() const override { return "memory"; }
  Status set(std::string_view key, std::string_view value, Deadline deadline) override;
  Result<std::string> get(std::string_view key, Deadline deadline) override;
  Result<std::optional<std::string>> peek(std::string_view key, Deadline deadline) override;
  Result<std::int64_t> add(std::string_view key, std::int64_t delta, Deadline deadline) override;
  Result<std::optional<std::string>> compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                                                     std::string_view desired, Deadline deadline) override;
  Result<bool> remove(std::string_view key, Deadline deadline) override;
  Result<std::vector<std::string>> list(std::string_view prefix, Deadline deadline) override;

 private:
  std::mutex mutex_;  // held for one change at a time only, so nobody waits long for it
  std::condition_variable changed_;
  store::Dictionary dictionary_;
};

}  // namespace hocket
