// A part of a store of one's own: every key gets a prefix. For jobs that share a store, and for communicators.
#pragma once

#include "hocket/spi/store.hpp"
#include "src/store/keys.hpp"

namespace hocket {

// Does not own the store that it wraps, which must outlive it. Prefix and key together obey the bound of keys.
class PrefixStore final : public Store {
 public:
  PrefixStore(Store& store, std::string prefix) : store_(store), prefix_(std::move(prefix)) {}

  std::string url() const override { return store_.url(); }
  Status set(std::string_view key, std::string_view value, Deadline deadline) override {
    if (Status status = store::check_key(key); !status) return status;
    return store_.set(prefix_ + std::string(key), value, deadline);
  }
  Result<std::string> get(std::string_view key, Deadline deadline) override {
    if (Status status = store::check_key(key); !status) return status;
    return store_.get(prefix_ + std::string(key), deadline);
  }
  Result<std::optional<std::string>> peek(std::string_view key, Deadline deadline) override {
    if (Status status = store::check_key(key); !status) return status;
    return store_.peek(prefix_ + std::string(key), deadline);
  }
  Result<std::int64_t> add(std::string_view key, std::int64_t delta, Deadline deadline) override {
    if (Status status = store::check_key(key); !status) return status;
    return store_.add(prefix_ + std::string(key), delta, deadline);
  }
  Result<std::optional<std::string>> compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                                                     std::string_view desired, Deadline deadline) override {
    if (Status status = store::check_key(key); !status) return status;
    return store_.compare_and_set(prefix_ + std::string(key), expected, desired, deadline);
  }
  Result<bool> remove(std::string_view key, Deadline deadline) override {
    if (Status status = store::check_key(key); !status) return status;
    return store_.remove(prefix_ + std::string(key), deadline);
  }
  Result<std::vector<std::string>> list(std::string_view prefix, Deadline deadline) override {
    auto keys = store_.list(prefix_ + std::string(prefix), deadline);
    if (!keys) return keys;
    for (std::string& key : *keys) key.erase(0, prefix_.size());
    return keys;
  }

 private:
  Store& store_;
  std::string prefix_;
};

}  // namespace hocket
