#include "src/store/connection.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "src/store/keys.hpp"

namespace hocket::store {

using wire::Operation;

namespace {

constexpr std::chrono::milliseconds look_around_every{250};

bool waits(Operation operation) {
  return operation == Operation::get || operation == Operation::allgather;
}

}  // namespace

Result<Connection::Reply> Connection::exchange(wire::Request request, Deadline deadline,
                                               const LookAround& look_around) {
  const auto began = Deadline::Clock::now();
  Lock lock(mutex_);
  while (sending_ && lost_.ok() && !deadline.passed()) changed_.wait_until(lock, deadline.at());
  if (!lost_.ok()) return lost_;
  if (deadline.passed()) return call_timed_out(name_of(request.operation), request.key, url_);

  request.id = ++last_id_;
  std::string bytes;
  for (const std::uint64_t id : given_up_) bytes += wire::encode_request({.id = id, .operation = Operation::cancel});
  given_up_.clear();
  bytes += wire::encode_request(request);
  Pending pending(*this, lock, request.id);
  sending_ = true;
  send(lock, bytes, deadline);
  sending_ = false;
  changed_.notify_all();

  Status goes_on;
  Deadline next_look = Deadline::after(look_around_every);
  while (!pending.done && lost_.ok() && goes_on.ok() && !deadline.passed()) {
    const Deadline until = look_around ? earlier(deadline, next_look) : deadline;
    if (reading_) {
      changed_.wait_until(lock, until.at());
    } else {
      pump(lock, POLLIN, until);
    }
    if (!look_around || !next_look.passed() || pending.done) continue;
    lock.unlock();
    goes_on = look_around();
    lock.lock();
    next_look = Deadline::after(look_around_every);
  }
  if (pending.done) return std::move(pending.reply);
  if (!lost_.ok()) return lost_;
  if (waits(request.operation)) {
    given_up_.push_back(request.id);
    if (!goes_on.ok()) return goes_on;
    if (request.operation == Operation::get) return get_timed_out(request.key, url_, began);
    return call_timed_out(name_of(request.operation), request.key, url_);
  }
  return Status(Code::store_unreachable,
                fmt::format("the store {} did not answer {} {} before the deadline; see whether its process is stopped",
                            url_, name_of(request.operation), in_quotes(request.key)));
}

Status Connection::state() {
  Lock lock(mutex_);
  if (!reading_ && lost_.ok()) pump(lock, POLLIN, Deadline(Deadline::Clock::now()));
  return lost_;
}

void Connection::send(Lock& lock, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty() && lost_.ok()) {
    const iovec rest{const_cast<char*>(bytes.data()), bytes.size()};  // which is only read
    const ssize_t sent = socket_.send({&rest, 1});
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (deadline.passed()) return lose("it took no more requests before the deadline");
      pump(lock, POLLOUT, deadline);
    } else if (errno != EINTR) {
      return lose(std::strerror(errno));
    }
  }
  while (lost_.ok() && socket_.flushing()) {
    if (const int error = socket_.flush(); error != 0) return lose(std::strerror(error));
    if (!socket_.flushing()) return;
    if (deadline.passed()) return lose("it took no more requests before the deadline");
    pump(lock, POLLOUT, deadline);
  }
}

void Connection::pump(Lock& lock, short events, Deadline deadline) {
  const bool reads = !reading_;
  if (reads) reading_ = true;
  const int wait_ms = reads && socket_.pending() ? 0 : deadline.remaining_ms();
  pollfd entry{socket_.fd(), static_cast<short>(reads ? events | POLLIN : events), 0};
  lock.unlock();
  const bool failed = ::poll(&entry, 1, wait_ms) < 0 && errno != EINTR;
  const int error = errno;
  lock.lock();
  Status status;
  if (failed) status = Status(Code::store_unreachable, std::strerror(error));
  if (reads) {
    reading_ = false;
    const bool may_have_some = (entry.revents & (POLLIN | POLLHUP | POLLERR)) != 0 || socket_.pending();
    if (status.ok() && may_have_some) status = receive();
    const Status delivered = deliver();  // what came whole before the end counts
    if (status.ok()) status = delivered;
  }
  if (!status) lose(status.message());
  changed_.notify_all();
}

Status Connection::receive() {
  std::array<char, 65536> block;
  const iovec room{block.data(), block.size()};
  const ssize_t got = socket_.receive({&room, 1});
  if (got > 0) input_.append(block.data(), static_cast<std::size_t>(got));
  if (got == 0) return {Code::store_unreachable, "its process closed the connection or ended"};
  if (got < 0 && errno != EAGAIN && errno != EINTR) return {Code::store_unreachable, std::strerror(errno)};
  return {};
}

Status Connection::deliver() {
  std::size_t used = 0;
  for (;;) {
    const auto body = wire::parse_frame(std::string_view(input_).substr(used), wire::response_bytes_max);
    if (!body) return body.status();
    if (!*body) break;
    used += wire::frame_head_bytes + (*body)->size();
    const auto response = wire::parse_response(**body);
    if (!response) return response.status();
    const auto waiting = pending_.find(response->id);
    if (waiting == pending_.end()) continue;  // its caller gave up
    waiting->second->reply = {response->code, std::string(response->payload)};
    waiting->second->done = true;
  }
  input_.erase(0, used);
  return {};
}

void Connection::lose(std::string_view why) {
  if (!lost_.ok()) return;
  lost_ = Status(Code::store_unreachable, fmt::format("the connection to the store {} was lost: {}", url_, why));
}

}  // namespace hocket::store
