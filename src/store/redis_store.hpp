// A Redis server as the store.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "src/base/deadline_mutex.hpp"
#include "src/spi/store.hpp"
#include "src/store/redis_link.hpp"

namespace hocket {

// One connection, which threads use in turn, and which is made again where it was lost. Claimed keys have a lease,
// which a thread renews, so that those of a process that has ended vanish within 8 s. Waits look again and again, ever
// more rarely, every 20 ms in the end: a server as it is installed tells nobody of changes of keys.
class RedisStore final : public Store {
 public:
  // Waits until the server is there. Errors: store_unreachable at the deadline, mismatch where it refuses the user,
  // protocol_error where something else listens, aborted when `stop` is requested.
  static Result<std::unique_ptr<RedisStore>> connect(const store::RedisAddress& address, Deadline deadline,
                                                     const std::stop_token& stop = {});

  Status confidential() const override;
  std::string url() const override { return address_.url(); }
  Status set(std::string_view key, std::string_view value, Deadline deadline) override;
  Result<std::string> get(std::string_view key, Deadline deadline) override;
  Result<std::optional<std::string>> peek(std::string_view key, Deadline deadline) override;
  Result<std::int64_t> add(std::string_view key, std::int64_t delta, Deadline deadline) override;
  Result<std::optional<std::string>> compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                                                     std::string_view desired, Deadline deadline) override;
  Result<std::optional<std::string>> claim(std::string_view key, std::optional<std::string_view> expected,
                                           std::string_view desired, const Bequest& bequest,
                                           Deadline deadline) override;
  Status connection() override;
  Status reconnect(Deadline deadline, const std::stop_token& stop) override;
  Result<bool> remove(std::string_view key, Deadline deadline) override;
  // Not at one moment: keys that come or go meanwhile may be missing or listed.
  Result<std::vector<std::string>> list(std::string_view prefix, Deadline deadline) override;

 private:
  explicit RedisStore(const store::RedisAddress& address) : address_(address), link_(address) {}

  std::string full(std::string_view key) const { return address_.access.prefix + std::string(key); }
  Result<std::optional<std::string>> look(std::string_view call, std::string_view key, Deadline deadline);
  Result<std::optional<std::string>> swap(std::string_view key, std::optional<std::string_view> expected,
                                          std::string_view desired, std::string_view lease, Deadline deadline);
  // Over the link, whose loss it remembers. Requires the mutex.
  Result<store::RedisReply> command(const store::RedisCommand& command, Deadline deadline,
                                    const std::stop_token& stop = {});
  // The reply, which is no error. `call` and `key` are for messages.
  Result<store::RedisReply> ask(std::string_view call, std::string_view key, const store::RedisCommand& command,
                                Deadline deadline);
  void renew_now_and_then(const std::stop_token& stop);
  void renew(const std::stop_token& stop);

  const store::RedisAddress address_;
  DeadlineMutex mutex_;  // guards what follows
  store::RedisLink link_;
  bool lost_ = false;  // the server went away, and may be back without what it held; until reconnect()
  std::map<std::string, std::string, std::less<>> claims_;  // full keys and values
  std::jthread renewer_;                                    // from the first claim on
};

}  // namespace hocket
