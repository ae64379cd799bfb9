#include "src/store/redis_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <set>

#include "src/base/printable.hpp"
#include "src/base/signals_blocked.hpp"
#include "src/base/sleep.hpp"
#include "src/base/trust.hpp"
#include "src/store/backoff.hpp"
#include "src/store/keys.hpp"

namespace hocket {
namespace {

using namespace std::chrono_literals;
using store::RedisCommand;
using store::RedisReply;
using Found = std::optional<std::string>;

constexpr auto renew_every = 2s;
constexpr std::string_view lease_ms = "8000";

// Arguments: whether a value is expected, that value, the desired one, the lease (empty: none).
constexpr const char* swap_script =
    "local before = redis.call('GET', KEYS[1]) "
    "if (ARGV[1] == '1' and before == ARGV[2]) or (ARGV[1] == '0' and not before) then "
    "  if ARGV[4] == '' then redis.call('SET', KEYS[1], ARGV[3]) "
    "  else redis.call('SET', KEYS[1], ARGV[3], 'PX', ARGV[4]) end "
    "end "
    "return before";
// Arguments: the value, the lease. Returns whether the key still has that value.
constexpr const char* renew_script =
    "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end "
    "return redis.call('PEXPIRE', KEYS[1], ARGV[2])";

std::string reply_text(const redisReply& reply) {
  return reply.str == nullptr ? std::string() : std::string(reply.str, reply.len);
}

// Where a pattern of SCAN has the letters with a meaning of their own.
std::string literally(std::string_view text) {
  std::string pattern;
  for (const char letter : text) {
    if (std::string_view("*?[]\\^-").find(letter) != std::string_view::npos) pattern += '\\';
    pattern += letter;
  }
  return pattern;
}

Found found_in(const redisReply& reply) {
  return reply.type == REDIS_REPLY_NIL ? Found() : Found(reply_text(reply));
}

}  // namespace

Result<std::unique_ptr<RedisStore>> RedisStore::connect(const store::RedisAddress& address, Deadline deadline,
                                                        const std::stop_token& stop) {
  std::unique_ptr<RedisStore> opened(new RedisStore(address));
  if (Status connected = opened->reconnect(deadline, stop); !connected.ok()) return connected;
  return opened;
}

Status RedisStore::connection() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return {};  // who has it finds out
  lost_ = lost_ || link_.broken();
  return lost_ ? Status(Code::store_unreachable, "the connection to the store " + url() + " was lost") : Status();
}

Status RedisStore::reconnect(Deadline deadline, const std::stop_token& stop) {
  for (store::Backoff backoff(deadline, 500ms);; backoff.sleep()) {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (!lock.try_lock_until(deadline.at())) return store::call_timed_out("reconnect", "", url());
    const auto pong = command({"PING"}, deadline, stop);
    lost_ = !pong.ok();
    if (pong.ok()) return {};
    if (pong.status().code() != Code::store_unreachable || deadline.passed()) return pong.status();
  }
}

Result<RedisReply> RedisStore::command(const RedisCommand& command, Deadline deadline, const std::stop_token& stop) {
  auto reply = link_.command(command, deadline, stop);
  if (reply.status().code() == Code::store_unreachable) lost_ = true;
  return reply;
}

// Whoever can reach a Redis server and knows its password reads everything in it.
Status RedisStore::confidential() const {
  return {Code::invalid_environment,
          fmt::format("others than its owner may use the store {}, so no secret can be kept there: {}", url(),
                      how_to_be_trusted)};
}

Status RedisStore::set(std::string_view key, std::string_view value, Deadline deadline) {
  if (Status status = store::check_value(value); !status.ok()) return status;
  return ask("set", key, {"SET", full(key), std::string(value)}, deadline).status();
}

Result<std::string> RedisStore::get(std::string_view key, Deadline deadline) {
  const auto began = Deadline::Clock::now();
  for (store::Backoff backoff(deadline, store::longest_wait_for_key);; backoff.sleep()) {
    auto found = look("get", key, deadline);
    if (found.ok() && *found) return std::move(**found);
    if (deadline.passed() && (found.ok() || found.status().code() == Code::timeout)) {
      return store::get_timed_out(key, url(), began);
    }
    if (!found.ok()) return found.status();
  }
}

Result<Found> RedisStore::peek(std::string_view key, Deadline deadline) {
  return look("peek", key, deadline);
}

Result<Found> RedisStore::look(std::string_view call, std::string_view key, Deadline deadline) {
  const auto reply = ask(call, key, {"GET", full(key)}, deadline);
  if (!reply.ok()) return reply.status();
  return found_in(**reply);
}

Result<std::int64_t> RedisStore::add(std::string_view key, std::int64_t delta, Deadline deadline) {
  const auto reply = ask("add", key, {"INCRBY", full(key), std::to_string(delta)}, deadline);
  if (!reply.ok()) return reply.status();
  return std::int64_t{(*reply)->integer};
}

Result<Found> RedisStore::compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                                          std::string_view desired, Deadline deadline) {
  return swap(key, expected, desired, "", deadline);
}

Result<Found> RedisStore::claim(std::string_view key, std::optional<std::string_view> expected,
                                std::string_view desired, const Bequest&, Deadline deadline) {
  auto before = swap(key, expected, desired, lease_ms, deadline);
  if (!before.ok() || *before != expected) return before;
  const std::lock_guard lock(mutex_);
  claims_.insert_or_assign(full(key), std::string(desired));
  if (!renewer_.joinable()) {
    const SignalsBlocked signals_blocked;
    renewer_ = std::jthread([this](const std::stop_token& stop) { renew_now_and_then(stop); });
  }
  return before;
}

Result<Found> RedisStore::swap(std::string_view key, std::optional<std::string_view> expected, std::string_view desired,
                               std::string_view lease, Deadline deadline) {
  for (const std::string_view value : {expected.value_or(""), desired}) {
    if (Status status = store::check_value(value); !status.ok()) return status;
  }
  const auto reply = ask("compare_and_set", key,
                         {"EVAL", swap_script, "1", full(key), expected ? "1" : "0", std::string(expected.value_or("")),
                          std::string(desired), std::string(lease)},
                         deadline);
  if (!reply.ok()) return reply.status();
  return found_in(**reply);
}

Result<bool> RedisStore::remove(std::string_view key, Deadline deadline) {
  const auto reply = ask("remove", key, {"DEL", full(key)}, deadline);
  if (!reply.ok()) return reply.status();
  return (*reply)->integer > 0;
}

Result<std::vector<std::string>> RedisStore::list(std::string_view prefix, Deadline deadline) {
  if (Status status = store::check_prefix(prefix); !status.ok()) return status;
  std::set<std::string> keys;
  std::string cursor = "0";
  do {
    const RedisCommand scan{"SCAN", cursor, "MATCH", literally(full(prefix)) + "*", "COUNT", "1000"};
    const auto reply = ask("list", prefix.empty() ? "…" : prefix, scan, deadline);
    if (!reply.ok()) return reply.status();
    const redisReply& page = **reply;
    if (page.type != REDIS_REPLY_ARRAY || page.elements != 2) {
      return Status(Code::protocol_error, "the store " + url() + " sent a list that is none");
    }
    cursor = reply_text(*page.element[0]);
    for (std::size_t i = 0; i < page.element[1]->elements; ++i) {
      keys.insert(reply_text(*page.element[1]->element[i]).substr(address_.access.prefix.size()));
    }
  } while (cursor != "0");
  return std::vector<std::string>(keys.begin(), keys.end());
}

Result<RedisReply> RedisStore::ask(std::string_view call, std::string_view key, const RedisCommand& command,
                                   Deadline deadline) {
  if (Status status = store::check_key(key); !status.ok()) return status;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (deadline.passed() || !lock.try_lock_until(deadline.at())) return store::call_timed_out(call, key, url());
  auto reply = this->command(command, deadline);
  const bool silent = !reply.ok() && reply.status().code() == Code::timeout;
  if (silent && call != "get") return Status(Code::store_unreachable, reply.status().message());
  if (!reply.ok() || (*reply)->type != REDIS_REPLY_ERROR) return reply;
  const std::string said = reply_text(**reply);
  Code code = Code::store_unreachable;
  if (call == "add") code = Code::invalid_argument;  // no number, or too large a sum
  if (said.starts_with("OOM") || said.starts_with("MISCONF")) code = Code::out_of_resources;
  if (said.starts_with("NOAUTH") || said.starts_with("NOPERM")) code = Code::mismatch;
  return Status(code,
                fmt::format("the store {} could not {} {}: {}", url(), call, store::in_quotes(key), printable(said)));
}

void RedisStore::renew_now_and_then(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    sleep_unless_stopped(renew_every, stop);
    if (stop.stop_requested()) return;
    try {
      renew(stop);
    } catch (const std::exception&) {  // memory ran out; a lease outlasts some tries
    }
  }
}

// What is not this store's any more needs no lease. What vanished with a server that was started again is claimed again
// by whoever begins anew.
void RedisStore::renew(const std::stop_token& stop) {
  const Deadline soon = Deadline::after(renew_every);
  std::unique_lock alone(mutex_, std::defer_lock);
  if (!alone.try_lock_until(soon.at())) return;
  for (auto claim = claims_.begin(); claim != claims_.end();) {
    const auto renewed =
        command({"EVAL", renew_script, "1", claim->first, claim->second, std::string(lease_ms)}, soon, stop);
    if (!renewed.ok()) return;
    const bool gone = (*renewed)->type == REDIS_REPLY_INTEGER && (*renewed)->integer == 0;
    claim = gone ? claims_.erase(claim) : std::next(claim);
  }
}

}  // namespace hocket
