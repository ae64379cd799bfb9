#include "src/store/dial.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "src/base/fork.hpp"
#include "src/base/log.hpp"
#include "src/base/printable.hpp"
#include "src/store/endpoint.hpp"
#include "src/store/welcome.hpp"
#include "src/store/wire.hpp"

namespace hocket::store {
namespace {

using namespace std::chrono_literals;

constexpr auto first_pause = 1ms;
constexpr auto longest_pause = 500ms;
constexpr auto one_attempt = 5s;       // for one of several addresses that does not answer
constexpr auto silent_for = 5s;        // then the log says that the store is not there yet
constexpr int look_up_every_ms = 100;  // while waiting: has the caller given up
constexpr std::string_view nobody_listens = "nothing listens there";

Status unreachable(std::string message) {
  return {Code::store_unreachable, std::move(message)};
}

Status error_text(const char* what, int error) {
  if (error == ECONNREFUSED) return unreachable(std::string(nobody_listens));
  return unreachable(fmt::format("{} failed: {}", what, std::strerror(error)));
}

// Until when one attempt waits.
struct Patience {
  Deadline deadline;
  const std::stop_token& stop;

  bool over() const { return deadline.passed() || stop.stop_requested(); }
};

// 1: ready; 0: no more patience; -1: errno.
int wait_for(int socket, short events, const Patience& patience) {
  for (;;) {
    pollfd entry{socket, events, 0};
    const int longest = patience.deadline.remaining_ms();
    const int ready = ::poll(&entry, 1, patience.stop.stop_possible() ? std::min(longest, look_up_every_ms) : longest);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return ready;
    if (ready == 0 && patience.over()) return 0;
  }
}

// Linux connects a socket to itself when the port that it dials is the free one that it was just given.
bool is_own_echo(int socket) {
  Endpoint mine, theirs;
  mine.bytes = theirs.bytes = sizeof(sockaddr_storage);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&mine.address), &mine.bytes) != 0) return false;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&theirs.address), &theirs.bytes) != 0) return false;
  return mine.bytes == theirs.bytes && std::memcmp(&mine.address, &theirs.address, mine.bytes) == 0;
}

// A host that vanishes without a word is found out within about half a minute.
void configure(int socket) {
  const auto set = [&](int level, int option, int value) {
    (void)::setsockopt(socket, level, option, &value, sizeof value);  // each is an improvement, none a need
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

Result<UniqueFd> connect_to(const Endpoint& endpoint, const Patience& patience) {
  UniqueFd socket(::socket(endpoint.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket && (errno == EMFILE || errno == ENFILE)) {
    return Status(Code::out_of_resources, "no file descriptor is left for a socket; raise the limit (ulimit -n)");
  }
  if (!socket) return error_text("socket", errno);
  keep_from_children(socket.get());  // what this side has claimed there ends with it
  configure(socket.get());
  if (::connect(socket.get(), endpoint.get(), endpoint.bytes) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return error_text("connect", errno);
    const int ready = wait_for(socket.get(), POLLOUT, patience);
    if (ready < 0) return error_text("poll", errno);
    if (ready == 0) return unreachable("it does not answer");
    int error = 0;
    socklen_t bytes = sizeof error;
    (void)::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) return error_text("connect", error);
  }
  if (is_own_echo(socket.get())) {
    const linger reset{1, 0};  // leaves no TIME_WAIT behind that would keep the server off its port
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    return unreachable(std::string(nobody_listens));
  }
  return socket;
}

// Encrypts what follows, where this side has an identity.
Status secure(Socket& socket, const Patience& patience) {
  for (;;) {
    switch (socket.secure()) {
      case TlsStream::Handshake::done: return {};
      case TlsStream::Handshake::closed: return unreachable(socket.problem());
      case TlsStream::Handshake::failed:
        return {Code::mismatch, fmt::format("what listens there is not trusted: {}", socket.problem())};
      case TlsStream::Handshake::waiting: break;
    }
    const int ready = wait_for(socket.fd(), socket.flushing() ? POLLIN | POLLOUT : POLLIN, patience);
    if (ready < 0) return error_text("poll", errno);
    if (ready == 0) return unreachable("something accepts connections there but does not go through with TLS");
  }
}

Status say(Socket& socket, const wire::Greeting& greeting) {
  std::string bytes = wire::encode_greeting(wire::client_magic, greeting);
  const iovec whole{bytes.data(), bytes.size()};
  if (socket.send({&whole, 1}) == static_cast<ssize_t>(bytes.size())) return {};
  return error_text("send", errno);  // so few bytes always fit into a new socket
}

// Goes on with what has come. Whether the server has welcomed this side; `received` then holds what came after it.
Result<bool> converse(Socket& socket, Introduction& introduction, std::string& received) {
  while (true) {
    const auto greeting = wire::parse_greeting(received, wire::server_magic);
    if (!greeting && looks_like_tls(received)) {
      return Status(Code::mismatch, fmt::format("it speaks TLS, and this side does not: {}", how_to_speak_tls));
    }
    if (!greeting) {
      return Status(Code::protocol_error,
                    fmt::format("what listens there is no Hocket store: {}", greeting.status().message()));
    }
    if (!*greeting) return false;
    const Introduction::Step step = introduction.take(**greeting, socket.fd());
    if (step.next) {
      if (Status said = say(socket, *step.next); !said.ok()) return said;
    }
    if (!step.refused.ok()) return step.refused;
    received.erase(0, (*greeting)->size());
    if (step.welcome) return true;
  }
}

// Returns the bytes that arrived after the greeting.
Result<std::string> greet(Socket& socket, const Patience& patience, const Trust& trust) {
  Introduction introduction(trust);
  if (Status said = say(socket, introduction.first()); !said.ok()) return said;
  std::string received;
  for (;;) {
    const auto welcome = converse(socket, introduction, received);
    if (!welcome) return welcome.status();
    if (*welcome) return received;
    std::array<char, 4096> block;
    const iovec room{block.data(), block.size()};
    const ssize_t got = socket.receive({&room, 1});
    if (got > 0) {
      received.append(block.data(), static_cast<std::size_t>(got));
      continue;
    }
    if (got == 0) return unreachable("it closed the connection before it answered");
    if (errno == EPROTO)
      return Status(Code::mismatch, fmt::format("it does not trust this side: {}", socket.problem()));
    if (errno != EAGAIN && errno != EINTR) return error_text("recv", errno);
    const int ready = wait_for(socket.fd(), POLLIN, patience);
    if (ready < 0) return error_text("poll", errno);
    if (ready == 0) return unreachable("something accepts connections there but does not answer as a Hocket store");
  }
}

Result<Dialled> attempt(const std::string& host, std::uint16_t port, const Patience& patience, const Trust& trust) {
  const auto endpoints = resolve(host, port, patience.deadline);
  if (!endpoints) return endpoints.status();
  Status last = unreachable("it has no address");
  for (const Endpoint& endpoint : *endpoints) {
    const bool alone = endpoints->size() == 1;
    const Deadline its_deadline = alone ? patience.deadline : earlier(patience.deadline, Deadline::after(one_attempt));
    const Patience its_own{its_deadline, patience.stop};
    auto connected = connect_to(endpoint, its_own);
    if (!connected) {
      last = connected.status();
      continue;
    }
    Socket socket(std::move(*connected), trust.tls, TlsStream::Side::dialled);
    last = secure(socket, its_own);
    if (!last.ok()) continue;
    auto rest = greet(socket, its_own, trust);
    if (rest) return Dialled{std::move(socket), std::move(*rest)};
    last = Status(rest.status().code(), printable(rest.status().message()));  // with what listens there said
    if (last.message().ends_with(wire::no_room)) last = unreachable(last.message());
  }
  return last;
}

}  // namespace

Result<Dialled> dial(const std::string& host, std::uint16_t port, Deadline deadline, const std::stop_token& stop,
                     const Trust& trust) {
  const auto began = Deadline::Clock::now();
  const std::string where = host_and_port(host, port);
  Status last = unreachable("the deadline had passed before the first attempt");
  bool told = false;
  for (std::chrono::nanoseconds pause = first_pause; !deadline.passed();) {
    auto dialled = attempt(host, port, {deadline, stop}, trust);
    if (stop.stop_requested())
      return Status(Code::aborted, fmt::format("connecting to the store at {} was given up", where));
    if (dialled) return dialled;
    last = dialled.status();
    if (last.code() != Code::store_unreachable) break;
    if (!told && Deadline::Clock::now() - began > silent_for) {
      log::warn(fmt::format("still trying to reach the store at {}: {}", where, last.message()));
      told = true;
    }
    std::this_thread::sleep_for(std::min(pause, deadline.remaining()));
    pause = std::min<std::chrono::nanoseconds>(2 * pause, longest_pause);
  }
  // It is reached, and says what to do; or this process could not even try.
  if (last.code() == Code::mismatch || last.code() == Code::invalid_environment ||
      last.code() == Code::out_of_resources) {
    return Status(last.code(), fmt::format("cannot use the store at {}: {}", where, last.message()));
  }
  const std::chrono::duration<double> tried = Deadline::Clock::now() - began;
  return Status(last.code(), fmt::format("cannot reach the store at {} (tried for {:.1f} s): {}; start hocket-store or "
                                         "rank 0 there, or correct the address",
                                         where, tried.count(), last.message()));
}

Result<UniqueFd> dial_socket(const std::string& host, std::uint16_t port, Deadline deadline,
                             const std::stop_token& stop) {
  const auto endpoints = resolve(host, port, deadline);
  if (!endpoints) return endpoints.status();
  Status last = unreachable("it has no address");
  for (const Endpoint& endpoint : *endpoints) {
    auto connected = connect_to(endpoint, {deadline, stop});
    if (stop.stop_requested()) return Status(Code::aborted, "connecting was given up");
    if (connected) return connected;
    last = connected.status();
  }
  return last;
}

bool is_refused(const std::string& host, std::uint16_t port, Deadline deadline) {
  const auto endpoints = resolve(host, port, deadline);
  return endpoints && std::ranges::all_of(*endpoints, [&](const Endpoint& endpoint) {
           return connect_to(endpoint, {deadline, {}}).status().message() == nobody_listens;
         });
}

}  // namespace hocket::store
