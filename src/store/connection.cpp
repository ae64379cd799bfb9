#include "src/store/connection.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "src/store/keys.hpp"

namespace hocket::store {

using wire::Operation;

Result<Connection::Reply> Connection::exchange(wire::Request request, Deadline deadline) {
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
  Pending pending;
  pending_.emplace(request.id, &pending);
  sending_ = true;
  send(lock, bytes, deadline);
  sending_ = false;
  changed_.notify_all();

  while (!pending.done && lost_.ok() && !deadline.passed()) {
    if (reading_) {
      changed_.wait_until(lock, deadline.at());
    } else {
      pump(lock, POLLIN, deadline);
    }
  }
  pending_.erase(request.id);
  if (pending.done) return std::move(pending.reply);
  if (!lost_.ok()) return lost_;
  if (request.operation == Operation::get) {
    given_up_.push_back(request.id);
    return get_timed_out(request.key, url_, began);
  }
  return Status(Code::store_unreachable,
                fmt::format("the store {} did not answer {} {} before the deadline; see whether its process is stopped",
                            url_, name_of(request.operation), quoted(request.key)));
}

void Connection::send(Lock& lock, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty() && lost_.ok()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      if (deadline.passed()) return lose("it took no more requests before the deadline");
      pump(lock, POLLOUT, deadline);
    } else if (errno != EINTR) {
      return lose(std::strerror(errno));
    }
  }
}

void Connection::pump(Lock& lock, short events, Deadline deadline) {
  const bool reads = !reading_;
  if (reads) reading_ = true;
  lock.unlock();
  pollfd entry{socket_.get(), static_cast<short>(reads ? events | POLLIN : events), 0};
  Status status;
  if (::poll(&entry, 1, deadline.remaining_ms()) < 0 && errno != EINTR) {
    status = Status(Code::store_unreachable, std::strerror(errno));
  } else if (reads && (entry.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
    status = receive();
  }
  lock.lock();
  if (reads) {
    reading_ = false;
    const Status delivered = deliver();  // what came whole before the end counts
    if (status.ok()) status = delivered;
  }
  if (!status) lose(status.message());
  changed_.notify_all();
}

Status Connection::receive() {
  std::array<char, 65536> block;
  const ssize_t got = ::recv(socket_.get(), block.data(), block.size(), MSG_DONTWAIT);
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
