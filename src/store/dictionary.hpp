// Dictionary: what set, get, add … mean. Every store (in memory, in a file, behind a socket) keeps its data in one.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/store.hpp"
#include "src/store/limits.hpp"

namespace hocket::store {

// Not thread-safe. Never waits.
class Dictionary {
 public:
  explicit Dictionary(const DictionaryLimits& limits = {}) : limits_(limits) {}

  // Null: the key is absent. Shared, so that thousands of answers need one copy.
  using Value = std::shared_ptr<const std::string>;

  // Code::out_of_resources where a limit would be passed; also for the other changes.
  Status set(std::string_view key, std::string_view value);
  Result<Value> find(std::string_view key) const;
  Result<std::int64_t> add(std::string_view key, std::int64_t delta);
  // The value found before; see Store::compare_and_set.
  Result<Value> compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                                std::string_view desired);
  Result<bool> remove(std::string_view key);
  // In order of the keys.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [key, value] : values_) visit(std::string_view(key), *value);
  }
  // Keys that begin with `prefix`.
  std::size_t count(std::string_view prefix) const;
  std::size_t size() const { return values_.size(); }  // keys
  std::size_t bytes() const { return bytes_; }         // as they count towards the limit
  // The keys that begin with `prefix` and come after `after` (empty: from the first), sorted, up to about `bytes_max`
  // bytes of them, and at least one where there is one.
  struct Page {
    std::vector<std::string> keys;
    bool more = false;
  };
  Result<Page> list(std::string_view prefix, std::string_view after = {}, std::size_t bytes_max = SIZE_MAX) const;

 private:
  const DictionaryLimits limits_;
  std::map<std::string, Value, std::less<>> values_;
  std::size_t bytes_ = 0;  // as they count
};

}  // namespace hocket::store
