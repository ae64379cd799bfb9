// The two halves of making a connection: Dial on the side that calls, Greeting on the side that is called. The higher
// of two ranks dials the lower, so they never call each other at once. Where there is a secret, each proves to the
// other that it knows it. Neither waits: step() does what can be done now.
#pragma once

#include <poll.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "src/base/fd.hpp"
#include "src/base/socket.hpp"
#include "src/spi/status.hpp"
#include "transports/common/accept_guard.hpp"
#include "transports/tcp/endpoint.hpp"
#include "transports/tcp/hello_reader.hpp"
#include "transports/tcp/settings.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::tcp {

// What poll(2) must watch of a connection that says something.
inline short interest_in(const Socket& socket) {
  return socket.flushing() ? POLLIN | POLLOUT : POLLIN;
}

// Calls at a peer's endpoints until one answers with the right welcome. Begins with the next one as soon as one has
// failed, or when none has accepted for a while, and goes on with those under way (as RFC 8305 does); says hello to one
// at a time, so that the peer never sees two callers. `settings` must live as long as this; `secret` may be empty.
class Dial {
 public:
  Dial(const Hello& hello, std::vector<Endpoint> endpoints, Deadline deadline, const Settings& settings,
       std::string secret = {});

  Handshake step();
  // Whether step() has been called, so that watch() means something.
  bool started() const { return !attempts_.empty(); }
  // Whether it has said hello to somebody and awaits the answer: the peer may count it as connected already.
  bool has_greeted() const;
  // Appends what step() waits for.
  void watch(std::vector<pollfd>& interests) const;
  // Grows whenever watch() would append others.
  std::uint64_t watch_epoch() const { return watch_epoch_; }
  // When step() must be called even so.
  Deadline deadline() const;

  // After done.
  Socket take() { return std::move(attempts_.front().socket); }
  const Endpoint& endpoint() const { return endpoints_[attempts_.front().endpoint]; }
  // After failed: what each endpoint answered, and whether it was only time that ran out.
  const std::string& problem() const { return problem_; }
  bool timed_out() const { return timed_out_; }
  // Code::out_of_resources where this process may have no more descriptors.
  Code code() const { return code_; }
  // Whether it failed because nobody listens at any of the endpoints, as their kernels say.
  bool refused() const { return !endpoints_.empty() && refusals_ == endpoints_.size(); }

 private:
  struct Attempt {
    std::size_t endpoint;
    Socket socket;
    bool connected = false;
    bool secured = false;                   // at once, where nothing is encrypted
    std::optional<Deadline> patience = {};  // for the welcome; set once this side has said hello
  };

  Attempt* greeted();
  bool others_remain() const { return attempts_.size() > 1 || next_ < endpoints_.size(); }
  void begin_next();
  // Both say what went wrong; nothing: no news.
  std::optional<std::string> look_at(Attempt& attempt);
  std::optional<std::string> await_welcome(Attempt& attempt);
  std::optional<std::string> prove(Attempt& attempt);
  bool say_hello(Attempt& attempt);
  std::string no_connection(int error) {
    refusals_ += error == ECONNREFUSED ? 1 : 0;
    return std::strerror(error);
  }
  void note(std::size_t endpoint, const std::string& why);
  void end(std::size_t attempt, const std::string& why);
  bool greet_one();
  Handshake run_out_of_time();

  Hello hello_;
  std::vector<Endpoint> endpoints_;
  Deadline deadline_, next_at_;
  const Settings* settings_;
  std::size_t next_ = 0;  // endpoint to begin with next
  std::vector<Attempt> attempts_;
  std::string secret_;
  std::optional<Challenge> challenge_;  // of the one that has been said hello to, where there is a secret
  bool proven_ = false;                 // both sides of it
  HelloReader reader_;
  bool done_ = false;
  std::uint64_t watch_epoch_ = 0;
  std::string problem_;
  bool timed_out_ = false;
  Code code_ = Code::peer_lost;
  std::size_t refusals_ = 0;
};

// A connection that a peer has begun, until it has said who it is, and proved it where there is a secret.
class Greeting {
 public:
  // `guard` says who may come, and outlives it.
  Greeting(UniqueFd fd, const Endpoint& from, const AcceptGuard& guard, const Settings& settings);

  // Reads; after done, hello() is that of one who may come.
  Handshake step();
  pollfd interest() const { return {socket_.fd(), interest_in(socket_), 0}; }
  Deadline deadline() const { return deadline_; }
  const Hello& hello() const { return hello_; }
  const Endpoint& from() const { return from_; }
  // Why it failed; empty where the peer left without having said anything, as a port scanner does.
  const std::string& problem() const { return problem_; }
  // Answers. Nothing where the newcomer has gone meanwhile.
  Socket welcome(Rank self, const Settings& settings) &&;

 private:
  Handshake fail(std::string problem);
  Handshake distrust(Distrust why);
  std::optional<Handshake> secure();
  std::optional<Handshake> read();
  Handshake take_hello();
  Handshake take_proof();

  Socket socket_;
  bool secured_ = false;
  Endpoint from_;
  const AcceptGuard* guard_;
  Deadline deadline_;
  HelloReader reader_;
  Hello hello_;
  std::optional<Challenge> challenge_;  // once this side has answered the hello with it
  std::string their_nonce_;
  std::string problem_;
};

}  // namespace hocket::tcp
