// One connection to a Redis server: a command and its reply at a time. hiredis knows the protocol; what travels does so
// by deadlines. Included by the store's own sources only (hiredis).
#pragma once

#include <hiredis/hiredis.h>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/status.hpp"
#include "src/store/store_url.hpp"

namespace hocket::store {

struct RedisAddress {
  std::string host;
  std::uint16_t port = 6379;
  RedisAccess access = {};
  // Without what is secret.
  std::string url() const;
};

struct FreeRedisReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
using RedisReply = std::unique_ptr<redisReply, FreeRedisReply>;
using RedisCommand = std::vector<std::string>;

// Not thread-safe.
class RedisLink {
 public:
  explicit RedisLink(RedisAddress address) : address_(std::move(address)) {}

  // Sends the command, connecting before where that is needed. An error that the server replies is a reply.
  // Code::store_unreachable where the server is not there or goes away; Code::timeout where it does not answer by the
  // deadline; Code::mismatch where it wants another user or password; Code::aborted when `stop` is requested.
  Result<RedisReply> command(const RedisCommand& command, Deadline deadline, const std::stop_token& stop = {});
  // Whether the server is known to be gone. Does not wait.
  bool broken() const;

 private:
  struct FreeReader {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };

  Status connect(Deadline deadline, const std::stop_token& stop);
  Status introduce(Deadline deadline, const std::stop_token& stop);
  Result<RedisReply> exchange(const RedisCommand& command, Deadline deadline, const std::stop_token& stop);
  Status send(std::string_view bytes, Deadline deadline, const std::stop_token& stop);
  Result<RedisReply> receive(Deadline deadline, const std::stop_token& stop);
  Status wait(short events, Deadline deadline, const std::stop_token& stop) const;
  Status lost(std::string_view why) const;

  const RedisAddress address_;
  UniqueFd socket_;  // empty: not connected
  std::unique_ptr<redisReader, FreeReader> reader_;
};

}  // namespace hocket::store
