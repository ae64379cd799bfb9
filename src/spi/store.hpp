// The rendezvous store: a small shared dictionary through which ranks find each other before they can speak.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/status.hpp"

namespace hocket {

// Keys are 1 … 1,024 bytes, values at most 1 MiB; both may hold any byte. (Code::invalid_argument otherwise.)
inline constexpr std::size_t store_key_bytes_max = 1024;
inline constexpr std::size_t store_value_bytes_max = std::size_t{1} << 20;

// Thread rule: every function may be called from any thread. Every function gives up at its deadline with
// Code::timeout, and with Code::store_unreachable where the store behind it does not answer. Each change is atomic.
class Store {
 public:
  virtual ~Store() = default;

  // Whether what it holds can be read by the job's owner alone, so that a secret may be kept in it; else why not.
  virtual Status confidential() const { return {}; }
  // For messages: "tcp://127.0.0.1:29500", "file:///tmp/x", "memory".
  virtual std::string url() const = 0;
  virtual Status set(std::string_view key, std::string_view value, Deadline deadline) = 0;
  // Waits until the key exists. On timeout the message names the key.
  virtual Result<std::string> get(std::string_view key, Deadline deadline) = 0;
  // The value now, or nothing; does not wait for the key.
  virtual Result<std::optional<std::string>> peek(std::string_view key, Deadline deadline) = 0;
  // Adds to a decimal number (absent: 0) and returns the sum. Code::invalid_argument where the value is no number, or
  // the sum would overflow.
  virtual Result<std::int64_t> add(std::string_view key, std::int64_t delta, Deadline deadline) = 0;
  // If the value is `expected` (nothing: the key is absent), sets it to `desired`. Returns the value found before, so
  // the swap took place exactly when the result equals `expected`.
  virtual Result<std::optional<std::string>> compare_and_set(std::string_view key,
                                                             std::optional<std::string_view> expected,
                                                             std::string_view desired, Deadline deadline) = 0;
  // The same, and the key lives no longer than its claimant, however that ends: where claims_end_with_owner(), the key
  // is removed when this object or its process is gone (and where another object claims it, it is that one's from then
  // on). A store that cannot see who is gone keeps the key.
  virtual Result<std::optional<std::string>> claim(std::string_view key, std::optional<std::string_view> expected,
                                                   std::string_view desired, Deadline deadline) {
    return compare_and_set(key, expected, desired, deadline);
  }
  virtual bool claims_end_with_owner() const { return false; }
  // Waits until at least `count` keys begin with `prefix`. Code::unsupported where the store cannot tell without many
  // questions.
  virtual Status wait_for_keys(std::string_view prefix, std::size_t count, Deadline deadline) {
    (void)prefix, (void)count, (void)deadline;
    return {Code::unsupported, "this store does not count its keys"};
  }
  // Whether the key was there.
  virtual Result<bool> remove(std::string_view key, Deadline deadline) = 0;
  // Sorted.
  virtual Result<std::vector<std::string>> list(std::string_view prefix, Deadline deadline) = 0;
};

}  // namespace hocket
