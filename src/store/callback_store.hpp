// A store of the caller's, behind the functions of hocket/store.h.
#pragma once

#include "hocket/store.h"
#include "src/spi/store.hpp"

namespace hocket {

// get() polls, every 20 ms at the slowest. list() is Code::unsupported where the caller's store has none.
class CallbackStore final : public Store {
 public:
  // Code::invalid_argument where the size is wrong or a function is missing. Null is allowed: it is invalid as well.
  static Result<hocket_store_callbacks> check(const hocket_store_callbacks* given);

  // `callbacks` have passed check(); their context outlives the store.
  explicit CallbackStore(const hocket_store_callbacks& callbacks) : callbacks_(callbacks) {}

  std::string url() const override { return "the caller's store"; }
  Status set(std::string_view key, std::string_view value, Deadline deadline) override;
  Result<std::string> get(std::string_view key, Deadline deadline) override;
  Result<std::optional<std::string>> peek(std::string_view key, Deadline deadline) override;
  Result<std::int64_t> add(std::string_view key, std::int64_t delta, Deadline deadline) override;
  Result<std::optional<std::string>> compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                                                     std::string_view desired, Deadline deadline) override;
  Result<bool> remove(std::string_view key, Deadline deadline) override;
  Result<std::vector<std::string>> list(std::string_view prefix, Deadline deadline) override;

 private:
  const hocket_store_callbacks callbacks_;
};

}  // namespace hocket
