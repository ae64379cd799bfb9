#include "src/store/acceptors.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "src/base/fork.hpp"
#include "src/base/log.hpp"

namespace hocket::store {

using asio::ip::tcp;

namespace {

using namespace std::chrono_literals;

constexpr auto resolve_timeout = 30s;
constexpr auto pause_after_failure = 200ms;
constexpr int attempts_to_choose = 16;
constexpr int accepted_at_once = 64;  // then those that have come before get their turn

tcp::endpoint to_asio(const Endpoint& endpoint) {
  tcp::endpoint converted;
  converted.resize(endpoint.bytes);
  std::memcpy(converted.data(), endpoint.get(), endpoint.bytes);
  return converted;
}

asio::error_code last_error() {
  return {errno, asio::system_category()};
}

// Asio makes and accepts sockets that programs inherit which are started meanwhile, so it is given those made here.
template <class Owner>
asio::error_code hand_over(UniqueFd socket, const tcp& protocol, Owner& to) {
  if (!socket) return last_error();
  keep_from_children(socket.get());
  asio::error_code error;
  to.assign(protocol, socket.get(), error);
  if (!error) socket.release();
  return error;
}

asio::error_code open(tcp::acceptor& acceptor, tcp::endpoint endpoint, std::uint16_t port) {
  endpoint.port(port);
  const tcp protocol = endpoint.protocol();
  UniqueFd made(::socket(protocol.family(), protocol.type() | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol.protocol()));
  asio::error_code error = hand_over(std::move(made), protocol, acceptor);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error && endpoint.address().is_v6()) {
    const bool all = endpoint.address().is_unspecified();
    acceptor.set_option(asio::ip::v6_only(!all), error);
  }
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  return error;
}

// Without a descriptor, accept(2) does not say.
bool somebody_waits_at(tcp::acceptor& acceptor) {
  pollfd entry{acceptor.native_handle(), POLLIN, 0};
  return ::poll(&entry, 1, 0) > 0;
}

UniqueFd accept_from(tcp::acceptor& acceptor) {
  for (;;) {
    UniqueFd accepted(::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (accepted || (errno != EINTR && errno != ECONNABORTED)) return accepted;
  }
}

}  // namespace

Status Acceptors::listen(std::uint16_t port) {
  if (host_.empty()) {
    return {Code::invalid_environment, "the address to bind is empty; give one of this machine's, or 0.0.0.0 for all"};
  }
  const Deadline deadline = Deadline::after(resolve_timeout);
  auto endpoints = resolve(host_, port, deadline);
  for (const std::string& address : besides_) {
    const auto more = endpoints.ok() ? resolve(address, port, deadline) : endpoints;
    if (!more.ok()) endpoints = more;
    if (endpoints.ok()) endpoints->insert(endpoints->end(), more->begin(), more->end());
  }
  if (!endpoints) return {Code::invalid_environment, "cannot serve the store: " + endpoints.status().message()};
  Status status;
  for (int attempt = 0; attempt < attempts_to_choose; ++attempt) {
    status = listen_on(*endpoints, port);
    // A port that was free on the first address may be taken on the second: let the system choose another.
    if (status.ok() || port != 0 || status.code() != Code::address_in_use) break;
  }
  return status;
}

Status Acceptors::listen_on(const std::vector<Endpoint>& endpoints, std::uint16_t port) {
  listeners_.clear();
  asio::error_code skipped;
  for (const Endpoint& endpoint : endpoints) {
    Listener& listener = listeners_.emplace_back(context_);
    const asio::error_code error = open(listener.acceptor, to_asio(endpoint), port);
    if (!error) {
      port = port_ = listener.acceptor.local_endpoint().port();
      continue;
    }
    listeners_.pop_back();
    if (error == asio::error::address_in_use || error == asio::error::no_descriptors) return explain(error, port);
    skipped = error;  // "localhost" names ::1 also where IPv6 is switched off
  }
  return listeners_.empty() ? explain(skipped, port) : Status();
}

Status Acceptors::explain(const asio::error_code& error, std::uint16_t port) const {
  const std::string where = host_and_port(host_, port);
  if (error == asio::error::address_in_use) {
    return {Code::address_in_use,
            fmt::format("cannot serve the store at {}: another process listens there; stop it or choose another port "
                        "(0: any free one)",
                        where)};
  }
  if (error == asio::error::no_descriptors) {
    return {
        Code::out_of_resources,
        fmt::format("cannot serve the store at {}: no file descriptor is left; raise the limit (ulimit -n)", where)};
  }
  return {
      Code::invalid_environment,
      fmt::format("cannot serve the store at {}: {}; bind an address of this machine, and a port that this user may "
                  "take",
                  where, error.message())};
}

void Acceptors::accept(std::function<void(tcp::socket)> admit, std::function<bool(tcp::socket)> admit_last,
                       std::function<void()> let_go) {
  admit_ = std::move(admit);
  admit_last_ = std::move(admit_last);
  let_go_ = std::move(let_go);
  keep_spare();
  for (Listener& listener : listeners_) accept_at(listener);
}

void Acceptors::accept_at(Listener& listener) {
  listener.acceptor.async_wait(tcp::acceptor::wait_read, [this, &listener](const asio::error_code& error) {
    if (!listener.acceptor.is_open()) return;
    const asio::error_code ended = error ? error : take_some(listener);
    if (!ended || ended == asio::error::would_block || !listener.acceptor.is_open()) return accept_at(listener);
    // Memory has run out, most likely: the client stays in the queue meanwhile.
    complain(ended);
    listener.timer.expires_after(pause_after_failure);
    listener.timer.async_wait([this, &listener](const asio::error_code& cancelled) {
      if (!cancelled) accept_at(listener);
    });
  });
}

void Acceptors::complain(const asio::error_code& error) {
  if (std::exchange(complained_, true)) return;
  log::error(fmt::format("the store at {} takes no more clients for now: {}; raise the limit (ulimit -n)",
                         host_and_port(host_, port_), error.message()));
}

// Why no more can be taken now; nothing: there may be more.
asio::error_code Acceptors::take_some(Listener& listener) {
  const tcp protocol = listener.acceptor.local_endpoint().protocol();
  for (int taken = 0; taken < accepted_at_once && listener.acceptor.is_open(); ++taken) {
    UniqueFd accepted = accept_from(listener.acceptor);
    asio::error_code error = accepted ? asio::error_code() : last_error();
    if (error == asio::error::no_descriptors && !spare_ && somebody_waits_at(listener.acceptor)) let_go_();
    const bool is_last = error == asio::error::no_descriptors && spare_;
    if (is_last) {
      spare_.reset();
      accepted = accept_from(listener.acceptor);
      error = accepted ? asio::error_code() : last_error();
    }
    tcp::socket socket(context_);
    if (accepted) error = hand_over(std::move(accepted), protocol, socket);
    if (socket.is_open()) admit(std::move(socket), is_last);
    keep_spare();
    if (error) return error;
  }
  return {};
}

void Acceptors::admit(tcp::socket socket, bool is_last) {
  if (!is_last) return admit_(std::move(socket));
  if (!admit_last_(std::move(socket))) complain(asio::error::no_descriptors);
}

void Acceptors::keep_spare() {
  if (!spare_) spare_ = UniqueFd(::eventfd(0, EFD_CLOEXEC));
}

void Acceptors::close() {
  for (Listener& listener : listeners_) {
    asio::error_code ignored;
    (void)::shutdown(listener.acceptor.native_handle(), SHUT_RDWR);  // whoever else holds it
    listener.acceptor.close(ignored);
    listener.timer.cancel(ignored);
  }
}

}  // namespace hocket::store
