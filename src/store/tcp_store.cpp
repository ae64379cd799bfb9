#include "src/store/tcp_store.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/printable.hpp"
#include "src/store/endpoint.hpp"
#include "src/store/keys.hpp"

namespace hocket {
namespace {

using store::wire::Operation;
using store::wire::Request;

std::optional<std::string> present(store::Connection::Reply reply) {
  return reply.code == Code::ok ? std::optional<std::string>(std::move(reply.payload)) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<TcpStore>> TcpStore::connect(const std::string& host, std::uint16_t port, Deadline deadline,
                                                    const std::stop_token& stop, const Trust& trust) {
  auto dialled = store::dial(host, port, deadline, stop, trust);
  if (!dialled) return dialled.status();
  return std::unique_ptr<TcpStore>(new TcpStore(host, port, trust, std::move(*dialled)));
}

TcpStore::TcpStore(std::string host, std::uint16_t port, const Trust& trust, store::Dialled dialled)
    : host_(std::move(host)),
      port_(port),
      trust_(trust),
      url_("tcp://" + store::host_and_port(host_, port_)),
      connection_(std::make_shared<store::Connection>(std::move(dialled), url_)) {}

std::shared_ptr<store::Connection> TcpStore::current() const {
  const std::lock_guard lock(mutex_);
  return connection_;
}

Status TcpStore::reconnect(Deadline deadline, const std::stop_token& stop) {
  const std::lock_guard alone(reconnecting_);
  if (current()->state().ok()) return {};
  auto dialled = store::dial(host_, port_, deadline, stop, trust_);
  if (!dialled) return dialled.status();
  const std::lock_guard lock(mutex_);
  connection_ = std::make_shared<store::Connection>(std::move(*dialled), url_);
  return {};
}

Status TcpStore::set(std::string_view key, std::string_view value, Deadline deadline) {
  if (Status status = store::check_value(value); !status) return status;
  return call({.operation = Operation::set, .key = key, .value = value}, deadline).status();
}

Result<std::string> TcpStore::get(std::string_view key, Deadline deadline) {
  auto reply = call({.operation = Operation::get, .key = key}, deadline);
  if (!reply) return reply.status();
  return std::move(reply->payload);
}

Result<std::optional<std::string>> TcpStore::peek(std::string_view key, Deadline deadline) {
  auto reply = call({.operation = Operation::peek, .key = key}, deadline);
  if (!reply) return reply.status();
  return present(std::move(*reply));
}

Result<std::int64_t> TcpStore::add(std::string_view key, std::int64_t delta, Deadline deadline) {
  const auto reply = call({.operation = Operation::add, .key = key, .delta = delta}, deadline);
  if (!reply) return reply.status();
  return store::wire::parse_sum(reply->payload);
}

Result<std::optional<std::string>> TcpStore::compare_and_set(std::string_view key,
                                                             std::optional<std::string_view> expected,
                                                             std::string_view desired, Deadline deadline) {
  return swap({.operation = Operation::compare_and_set, .key = key, .value = desired, .expected = expected}, deadline);
}

Result<std::optional<std::string>> TcpStore::claim(std::string_view key, std::optional<std::string_view> expected,
                                                   std::string_view desired, const Bequest& bequest,
                                                   Deadline deadline) {
  return swap({.operation = Operation::claim, .key = key, .value = desired, .expected = expected, .bequest = bequest},
              deadline);
}

Result<std::optional<std::string>> TcpStore::swap(const Request& request, Deadline deadline) {
  for (const std::string_view value : {request.expected.value_or(""), request.value}) {
    if (Status status = store::check_value(value); !status) return status;
  }
  auto reply = call(request, deadline);
  if (!reply) return reply.status();
  return present(std::move(*reply));
}

Result<std::string> TcpStore::await(std::string_view key, Deadline deadline, const LookAround& look_around) {
  auto reply = call({.operation = Operation::get, .key = key}, deadline, look_around);
  if (!reply) return reply.status();
  return std::move(reply->payload);
}

// The server knows who has come, and who has gone.
Result<Allgathered> TcpStore::allgather(const Allgather& mine, Deadline deadline, const LookAround& look_around,
                                        const Sound&) {
  if (Status status = store::check_value(mine.value); !status) return status;
  const std::string wanted = store::wire::encode_wanted(mine.wanted);
  const store::wire::Meeting meeting{.members = static_cast<std::uint32_t>(mine.members),
                                     .member = static_cast<std::uint32_t>(mine.member),
                                     .outcome = mine.outcome,
                                     .complete = mine.complete,
                                     .wanted = wanted};
  const auto reply =
      call({.operation = Operation::allgather, .key = mine.prefix, .value = mine.value, .meeting = meeting}, deadline,
           look_around);
  if (!reply) return reply.status();
  return store::wire::parse_gathered(reply->payload, mine.wanted.size());
}

Result<bool> TcpStore::remove(std::string_view key, Deadline deadline) {
  const auto reply = call({.operation = Operation::remove, .key = key}, deadline);
  if (!reply) return reply.status();
  return reply->code == Code::ok;
}

Result<std::vector<std::string>> TcpStore::list(std::string_view prefix, Deadline deadline) {
  std::vector<std::string> keys;
  for (;;) {
    const std::string after = keys.empty() ? std::string() : keys.back();
    const auto reply = call({.operation = Operation::list, .key = prefix, .value = after}, deadline);
    if (!reply) return reply.status();
    const std::size_t before = keys.size();
    const auto more = store::wire::parse_page(reply->payload, keys);
    if (!more) return more.status();
    if (!*more) return keys;
    if (keys.size() == before) return Status(Code::protocol_error, "the store " + url_ + " sent an endless list");
  }
}

Result<store::Connection::Reply> TcpStore::call(const Request& request, Deadline deadline,
                                                const LookAround& look_around) {
  const bool takes_prefix = request.operation == Operation::list;
  if (Status status = takes_prefix ? store::check_prefix(request.key) : store::check_key(request.key); !status)
    return status;
  auto reply = current()->exchange(request, deadline, look_around);
  if (!reply || reply->code == Code::ok || reply->code == Code::not_found) return reply;
  return Status(reply->code, printable(reply->payload));
}

}  // namespace hocket
