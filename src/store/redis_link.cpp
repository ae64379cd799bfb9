#include "src/store/redis_link.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "src/base/printable.hpp"
#include "src/store/dial.hpp"
#include "src/store/endpoint.hpp"

namespace hocket::store {
namespace {

constexpr std::size_t reply_bytes_max = std::size_t{64} << 20;
constexpr int give_up_check_ms = 100;  // while waiting: has the caller given up

bool is_error(const redisReply& reply) {
  return reply.type == REDIS_REPLY_ERROR;
}

std::string encode(const RedisCommand& command) {
  std::string bytes = fmt::format("*{}\r\n", command.size());
  for (const std::string& word : command) bytes += fmt::format("${}\r\n{}\r\n", word.size(), word);
  return bytes;
}

}  // namespace

std::string RedisAddress::url() const {
  const std::string base = fmt::format("redis://{}/{}", host_and_port(host, port), access.database);
  return access.prefix.empty() ? base : base + "?prefix=" + printable(access.prefix);
}

Result<RedisReply> RedisLink::command(const RedisCommand& command, Deadline deadline, const std::stop_token& stop) {
  if (!socket_) {
    if (Status connected = connect(deadline, stop); !connected.ok()) return connected;
  }
  // An answer that comes late would be taken for that of another command.
  try {
    auto reply = exchange(command, deadline, stop);
    if (!reply.ok()) socket_.reset();
    return reply;
  } catch (...) {
    socket_.reset();
    throw;
  }
}

bool RedisLink::broken() const {
  char byte;
  const ssize_t got = socket_ ? ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) : 0;
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

Status RedisLink::connect(Deadline deadline, const std::stop_token& stop) {
  auto socket = dial_socket(address_.host, address_.port, deadline, stop);
  if (!socket.ok()) {
    return Status(socket.status().code(), fmt::format("cannot reach the store {}: {}; start the Redis server there, or "
                                                      "correct the address",
                                                      address_.url(), socket.status().message()));
  }
  socket_ = std::move(*socket);
  reader_.reset(redisReaderCreate());
  const Status introduced = introduce(deadline, stop);
  if (introduced.ok()) return {};
  socket_.reset();
  return {introduced.code() == Code::timeout ? Code::store_unreachable : introduced.code(), introduced.message()};
}

Status RedisLink::introduce(Deadline deadline, const std::stop_token& stop) {
  std::vector<RedisCommand> commands;
  if (!address_.access.password.empty()) {
    commands.push_back({"AUTH"});
    if (!address_.access.user.empty()) commands.back().push_back(address_.access.user);
    commands.back().push_back(address_.access.password);
  }
  commands.push_back({"SELECT", std::to_string(address_.access.database)});
  for (const RedisCommand& command : commands) {
    const auto reply = exchange(command, deadline, stop);
    if (!reply.ok()) return reply.status();
    const std::string said = is_error(**reply) ? std::string((*reply)->str, (*reply)->len) : "";
    if (said.starts_with("LOADING")) return lost("it still loads its data");
    if (!said.empty()) {
      return {Code::mismatch,
              fmt::format("the store {} refused this client: {}; correct user, password and database in "
                          "its URL",
                          address_.url(), printable(said))};
    }
  }
  return {};
}

Result<RedisReply> RedisLink::exchange(const RedisCommand& command, Deadline deadline, const std::stop_token& stop) {
  if (Status sent = send(encode(command), deadline, stop); !sent.ok()) return sent;
  return receive(deadline, stop);
}

Status RedisLink::send(std::string_view bytes, Deadline deadline, const std::stop_token& stop) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (Status ready = wait(POLLOUT, deadline, stop); !ready.ok()) return ready;
    } else if (errno != EINTR) {
      return lost(std::strerror(errno));
    }
  }
  return {};
}

Result<RedisReply> RedisLink::receive(Deadline deadline, const std::stop_token& stop) {
  std::array<char, 65536> block;
  for (std::size_t received = 0;;) {
    void* reply = nullptr;
    if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
      return Status(Code::protocol_error, fmt::format("what listens at {} is no Redis server: {}", address_.url(),
                                                      printable(reader_->errstr)));
    }
    if (reply != nullptr) return RedisReply(static_cast<redisReply*>(reply));
    const ssize_t got = ::recv(socket_.get(), block.data(), block.size(), MSG_DONTWAIT);
    if (got > 0) {
      received += static_cast<std::size_t>(got);
      if (received > reply_bytes_max) return Status(Code::protocol_error, address_.url() + " sends an endless reply");
      redisReaderFeed(reader_.get(), block.data(), static_cast<std::size_t>(got));
    } else if (got == 0) {
      return lost("its process closed the connection or ended");
    } else if (errno == EAGAIN) {
      if (Status ready = wait(POLLIN, deadline, stop); !ready.ok()) return ready;
    } else if (errno != EINTR) {
      return lost(std::strerror(errno));
    }
  }
}

Status RedisLink::wait(short events, Deadline deadline, const std::stop_token& stop) const {
  pollfd entry{socket_.get(), events, 0};
  const int longest = deadline.remaining_ms();
  const int ready = ::poll(&entry, 1, stop.stop_possible() ? std::min(longest, give_up_check_ms) : longest);
  if (stop.stop_requested()) return {Code::aborted, "waiting for the store was given up"};
  if (ready < 0 && errno != EINTR) return lost(std::strerror(errno));
  if (ready == 0 && deadline.passed()) {
    return {Code::timeout, fmt::format("the store {} did not answer before the deadline; see whether its process is "
                                       "stopped",
                                       address_.url())};
  }
  return {};
}

Status RedisLink::lost(std::string_view why) const {
  return {Code::store_unreachable, fmt::format("the connection to the store {} was lost: {}", address_.url(), why)};
}

}  // namespace hocket::store
