#include "transports/tcp/handshake.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "transports/tcp/sockets.hpp"

namespace hocket::tcp {
namespace {

using std::chrono_literals::operator""s;

constexpr auto stranger_patience = 10s;  // for a newcomer to say hello
constexpr auto endpoint_patience = 10s;  // for one of several endpoints to answer

enum class Filled { yes, not_yet, closed, error };

// Reads what is missing of a frame, and not a byte more.
Filled fill(int fd, HelloFrame& frame, std::size_t& have) {
  while (have < frame.size()) {
    const ssize_t taken = ::recv(fd, frame.data() + have, frame.size() - have, MSG_DONTWAIT);
    if (taken > 0) {
      have += static_cast<std::size_t>(taken);
    } else if (taken == 0) {
      return Filled::closed;
    } else if (errno != EINTR) {
      return errno == EAGAIN || errno == EWOULDBLOCK ? Filled::not_yet : Filled::error;
    }
  }
  return Filled::yes;
}

// A hello always fits into a fresh connection's buffer.
bool send_whole(int fd, const HelloFrame& frame) {
  return ::send(fd, frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(frame.size());
}

}  // namespace

Dial::Dial(const Hello& hello, std::vector<Endpoint> endpoints, Deadline deadline)
    : hello_(hello), endpoints_(std::move(endpoints)), deadline_(deadline), patience_(deadline) {}

// Starts on endpoint at_, or on the first after it that lets itself be started on.
bool Dial::begin() {
  while (at_ < endpoints_.size()) {
    connected_ = false;
    have_ = 0;
    patience_ = at_ + 1 < endpoints_.size() ? Deadline::after(endpoint_patience) : deadline_;
    auto started = start_connecting(endpoints_[at_]);
    if (started) {
      fd_ = std::move(*started);
      return true;
    }
    problem_ +=
        fmt::format("{}{}: {}", problem_.empty() ? "" : "; ", endpoints_[at_].text(), started.status().message());
    ++at_;
  }
  return false;
}

// Goes on to the next endpoint; false: there is none.
bool Dial::give_up(const std::string& why) {
  problem_ += fmt::format("{}{}: {}", problem_.empty() ? "" : "; ", endpoints_[at_].text(), why);
  fd_.reset();
  ++at_;
  return begin();
}

Handshake Dial::step() {
  if (!fd_) {
    if (endpoints_.empty()) problem_ = "it advertises no address";
    if (!begin()) return Handshake::failed;
  }
  if (deadline_.passed()) {
    timed_out_ = true;
    problem_ += fmt::format("{}{}: {}", problem_.empty() ? "" : "; ", endpoints_[at_].text(),
                            connected_ ? "it accepted the connection, but did not answer" : "no answer");
    fd_.reset();
    return Handshake::failed;
  }
  if (patience_.passed()) return next("no answer");
  if (!connected_) {
    if (const Handshake now = await_connection(); !connected_) return now;
  }
  return await_welcome();
}

Handshake Dial::await_connection() {
  pollfd ready = interest();
  if (::poll(&ready, 1, 0) <= 0) return Handshake::waiting;
  if (const int error = connect_error(fd_.get()); error != 0) return next(std::strerror(error));
  if (!send_whole(fd_.get(), encode(hello_))) return next("it closed the connection");
  connected_ = true;
  return Handshake::waiting;
}

Handshake Dial::await_welcome() {
  switch (fill(fd_.get(), welcome_, have_)) {
    case Filled::not_yet: return Handshake::waiting;
    case Filled::closed: return next("it refused us: no rank of this group listens there");
    case Filled::error: return next(std::strerror(errno));
    case Filled::yes: break;
  }
  const auto welcome = parse_hello(welcome_);
  if (!welcome) return next(welcome.status().message());
  const Hello right{HelloKind::welcome, hello_.group, hello_.to, hello_.from};
  if (!(*welcome == right)) return next("another group or rank listens there");
  return Handshake::done;
}

Greeting::Greeting(UniqueFd fd, const Endpoint& from)
    : fd_(std::move(fd)), from_(from), deadline_(Deadline::after(stranger_patience)) {}

Handshake Greeting::step() {
  const auto fail = [&](std::string problem) {
    problem_ = std::move(problem);
    return Handshake::failed;
  };
  switch (fill(fd_.get(), bytes_, have_)) {
    case Filled::yes: break;
    case Filled::not_yet: return deadline_.passed() ? fail("it did not say who it is") : Handshake::waiting;
    case Filled::closed:
    case Filled::error: return fail(have_ == 0 ? "" : "it left in the middle of its greeting");
  }
  auto hello = parse_hello(bytes_);
  if (!hello) return fail(hello.status().message());
  if (hello->kind != HelloKind::hello) return fail("its greeting is no hello");
  hello_ = *hello;
  return Handshake::done;
}

UniqueFd Greeting::welcome(Rank self) && {
  char byte;
  const bool gone = ::recv(fd_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
  if (gone || !send_whole(fd_.get(), encode(Hello{HelloKind::welcome, hello_.group, self, hello_.from}))) return {};
  tune(fd_.get());
  return std::move(fd_);
}

}  // namespace hocket::tcp
