#include "transports/tcp/handshake.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "transports/tcp/sockets.hpp"

namespace hocket::tcp {
namespace {

using namespace std::chrono_literals;

constexpr auto stranger_patience = 10s;  // for a newcomer to say hello
constexpr auto endpoint_patience = 10s;  // for the welcome of one of several endpoints
constexpr auto next_after = 250ms;       // for one of several endpoints to accept, before another is called as well

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

Dial::Dial(const Hello& hello, std::vector<Endpoint> endpoints, Deadline deadline, const Settings& settings)
    : hello_(hello), endpoints_(std::move(endpoints)), deadline_(deadline), next_at_(deadline), settings_(&settings) {
  if (endpoints_.empty()) problem_ = "it advertises no address that this rank may use";
}

void Dial::note(std::size_t endpoint, const std::string& why) {
  problem_ += fmt::format("{}{}: {}", problem_.empty() ? "" : "; ", endpoints_[endpoint].text(), why);
}

void Dial::end(std::size_t attempt, const std::string& why) {
  note(attempts_[attempt].endpoint, why);
  attempts_.erase(attempts_.begin() + static_cast<std::ptrdiff_t>(attempt));
  ++watch_epoch_;
}

Dial::Attempt* Dial::greeted() {
  const auto found =
      std::find_if(attempts_.begin(), attempts_.end(), [](const Attempt& one) { return one.patience.has_value(); });
  return found == attempts_.end() ? nullptr : &*found;
}

// Calls the next endpoint that lets itself be called.
void Dial::begin_next() {
  while (next_ < endpoints_.size()) {
    const std::size_t endpoint = next_++;
    auto started = start_connecting(endpoints_[endpoint], *settings_);
    if (!started) {
      note(endpoint, started.status().message());
      continue;
    }
    attempts_.push_back({endpoint, std::move(*started)});
    ++watch_epoch_;
    next_at_ = Deadline::after(next_after);
    return;
  }
}

Handshake Dial::step() {
  if (deadline_.passed()) return run_out_of_time();
  for (std::size_t i = 0; i < attempts_.size();) {
    const auto problem = look_at(attempts_[i]);
    if (!problem) {
      ++i;
    } else {
      end(i, *problem);
    }
  }
  while (!greeted() && greet_one()) continue;
  if (Attempt* const attempt = greeted()) {
    if (const auto problem = await_welcome(*attempt)) {
      end(static_cast<std::size_t>(attempt - attempts_.data()), *problem);
    } else if (done_) {
      std::swap(attempts_.front(), *attempt);
      attempts_.resize(1);
      return Handshake::done;
    }
  }
  if (attempts_.empty() || (!greeted() && next_at_.passed())) begin_next();
  return attempts_.empty() ? Handshake::failed : Handshake::waiting;
}

// Whether its connecting has ended.
std::optional<std::string> Dial::look_at(Attempt& attempt) {
  if (attempt.connected) return std::nullopt;
  pollfd ready{attempt.fd.get(), POLLOUT, 0};
  if (::poll(&ready, 1, 0) <= 0) return std::nullopt;
  if (const int error = connect_error(attempt.fd.get()); error != 0) return std::strerror(error);
  attempt.connected = true;
  ++watch_epoch_;
  return std::nullopt;
}

// Says hello to the first that has accepted. Whether another may be tried at once: this one has hung up.
bool Dial::greet_one() {
  for (std::size_t i = 0; i < attempts_.size(); ++i) {
    if (!attempts_[i].connected) continue;
    have_ = 0;
    if (!send_whole(attempts_[i].fd.get(), encode(hello_))) {
      end(i, "it closed the connection");
      return true;
    }
    attempts_[i].patience = Deadline::after(endpoint_patience);
    ++watch_epoch_;
    return false;
  }
  return false;
}

std::optional<std::string> Dial::await_welcome(Attempt& attempt) {
  switch (fill(attempt.fd.get(), welcome_, have_)) {
    case Filled::not_yet:
      if (attempt.patience->passed() && others_remain()) return "it accepted the connection, but did not answer";
      return std::nullopt;
    case Filled::closed: return "it refused us: no rank of this group listens there";
    case Filled::error: return std::strerror(errno);
    case Filled::yes: break;
  }
  const auto welcome = parse_hello(welcome_);
  if (!welcome) return welcome.status().message();
  const Hello right{HelloKind::welcome, hello_.group, hello_.to, hello_.from, hello_.stream};
  if (!(*welcome == right)) return "another group or rank listens there";
  done_ = true;
  return std::nullopt;
}

Handshake Dial::run_out_of_time() {
  timed_out_ = true;
  for (const Attempt& attempt : attempts_) {
    note(attempt.endpoint, attempt.patience ? "it accepted the connection, but did not answer" : "no answer");
  }
  attempts_.clear();
  ++watch_epoch_;
  return Handshake::failed;
}

bool Dial::has_greeted() const {
  return std::ranges::any_of(attempts_, [](const Attempt& attempt) { return attempt.patience.has_value(); });
}

void Dial::watch(std::vector<pollfd>& interests) const {
  for (const Attempt& attempt : attempts_) {
    if (attempt.connected && !attempt.patience) continue;  // accepted, but another one was first
    interests.push_back({attempt.fd.get(), attempt.connected ? short{POLLIN} : short{POLLOUT}, 0});
  }
}

Deadline Dial::deadline() const {
  Deadline next = deadline_;
  const auto spoken_to = [](const Attempt& one) { return one.patience.has_value(); };
  const auto greeted = std::find_if(attempts_.begin(), attempts_.end(), spoken_to);
  if (greeted != attempts_.end()) {
    if (others_remain()) next = earlier(next, *greeted->patience);
  } else if (next_ < endpoints_.size()) {
    next = earlier(next, next_at_);
  }
  return next;
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

UniqueFd Greeting::welcome(Rank self, const Settings& settings) && {
  char byte;
  const bool gone = ::recv(fd_.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
  if (gone || !send_whole(fd_.get(), encode(Hello{HelloKind::welcome, hello_.group, self, hello_.from, hello_.stream})))
    return {};
  tune(fd_.get(), settings);
  return std::move(fd_);
}

}  // namespace hocket::tcp
