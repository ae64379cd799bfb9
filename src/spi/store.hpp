// The rendezvous store: a small shared dictionary through which ranks find each other before they can speak.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/status.hpp"

namespace hocket {

// Keys are 1 … 1,024 bytes, values at most 1 MiB; both may hold any byte. (Code::invalid_argument otherwise.)
inline constexpr std::size_t store_key_bytes_max = 1024;
inline constexpr std::size_t store_value_bytes_max = std::size_t{1} << 20;

// What a call that waits does about four times a second, on its caller's thread. What is not ok ends the wait with
// that.
using LookAround = std::function<Status()>;

// What is to be known once a claim has ended with its owner; see Store::claim. Both are at most as long as a key; an
// empty key: nothing is.
struct Bequest {
  std::string_view key = {}, value = {};
};

// One member's part in a meeting; see Store::allgather.
struct Allgather {
  std::string_view prefix;  // the value of member m lies under this with m in decimal behind it
  Rank member = 0;          // this one, 0 … members - 1
  Rank members = 1;
  std::string_view value;     // this one's
  std::string_view outcome;   // the key of what becomes of the meeting
  std::string_view complete;  // what that is where all have come; at most as long as a key
  std::vector<Rank> wanted;   // whose values this one wants
};
struct Allgathered {
  std::string outcome;
  std::vector<std::optional<std::string>> values;  // of those wanted, as far as they are there
};

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
  // is removed when this object or its process is gone, and then the bequest's key is set, if it is absent. Where
  // another object claims the key, it is that one's from then on, with that one's bequest. A store that cannot see who
  // is gone keeps the key, and sets none.
  virtual Result<std::optional<std::string>> claim(std::string_view key, std::optional<std::string_view> expected,
                                                   std::string_view desired, const Bequest& bequest,
                                                   Deadline deadline) {
    (void)bequest;
    return compare_and_set(key, expected, desired, deadline);
  }
  virtual bool claims_end_with_owner() const { return false; }
  // get() for long waits.
  virtual Result<std::string> await(std::string_view key, Deadline deadline, const LookAround& look_around);
  // Claims the member's key for its value, whatever that held before. As soon as `members` keys begin with the prefix,
  // the outcome is set to `complete`, unless it has another value before. Waits for the outcome, and returns it with
  // the values that this member wants. With no values it is a barrier. A store with a server does it with one request;
  // others as member 0 looks at the values in turn, and does not set the outcome before `sound` agrees (nothing: it
  // does; Code::timeout: look again).
  using Sound = std::function<Status(const std::vector<std::string>& values)>;
  virtual Result<Allgathered> allgather(const Allgather& mine, Deadline deadline, const LookAround& look_around,
                                        const Sound& sound);
  // Where a server holds the store: Code::store_unreachable where the connection to it is known to be lost. Does not
  // wait.
  virtual Status connection() { return {}; }
  // Connects again where the connection is lost. What this object had claimed may be gone, and more may be. Errors:
  // store_unreachable at the deadline, aborted when `stop` is requested; unsupported where there is no connection.
  virtual Status reconnect(Deadline deadline, const std::stop_token& stop) {
    (void)deadline, (void)stop;
    return {Code::unsupported, "this store has no connection"};
  }
  // Whether the host that held the store refuses to connect, so that nobody serves it there any more. False where the
  // deadline passes first.
  virtual bool is_refused(Deadline deadline) {
    (void)deadline;
    return false;
  }
  // Whether the key was there.
  virtual Result<bool> remove(std::string_view key, Deadline deadline) = 0;
  // Sorted.
  virtual Result<std::vector<std::string>> list(std::string_view prefix, Deadline deadline) = 0;
};

}  // namespace hocket
