// The two halves of making a connection: Dial on the side that calls, Greeting on the side that is called. The higher
// of two ranks dials the lower, so they never call each other at once. Neither waits: step() does what can be done now.
#pragma once

#include <poll.h>

#include <cstddef>
#include <string>
#include <vector>

#include "hocket/spi/status.hpp"
#include "src/base/fd.hpp"
#include "transports/tcp/endpoint.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::tcp {

enum class Handshake { waiting, done, failed };

// Tries a peer's endpoints one after the other until one answers with the right welcome.
class Dial {
 public:
  Dial(const Hello& hello, std::vector<Endpoint> endpoints, Deadline deadline);

  Handshake step();
  // Whether step() has been called, so that interest() means something.
  bool started() const { return static_cast<bool>(fd_); }
  // What step() waits for.
  pollfd interest() const { return {fd_.get(), connected_ ? short{POLLIN} : short{POLLOUT}, 0}; }
  Deadline deadline() const { return earlier(deadline_, patience_); }

  // After done.
  UniqueFd take() { return std::move(fd_); }
  std::string address() const { return endpoints_[at_].text(); }
  // After failed: what each endpoint answered, and whether it was only time that ran out.
  const std::string& problem() const { return problem_; }
  bool timed_out() const { return timed_out_; }

 private:
  bool begin();
  bool give_up(const std::string& why);
  Handshake await_connection();
  Handshake await_welcome();
  Handshake next(const std::string& why) { return give_up(why) ? Handshake::waiting : Handshake::failed; }

  Hello hello_;
  std::vector<Endpoint> endpoints_;
  Deadline deadline_, patience_;
  std::size_t at_ = 0;
  UniqueFd fd_;
  bool connected_ = false;
  HelloFrame welcome_{};
  std::size_t have_ = 0;
  std::string problem_;
  bool timed_out_ = false;
};

// A newcomer at the door, until it has said who it is.
class Greeting {
 public:
  Greeting(UniqueFd fd, const Endpoint& from);

  // Reads; after done, hello() is well-formed (whether it is welcome is for the caller to say).
  Handshake step();
  pollfd interest() const { return {fd_.get(), POLLIN, 0}; }
  Deadline deadline() const { return deadline_; }
  const Hello& hello() const { return hello_; }
  const Endpoint& from() const { return from_; }
  // Why it failed; empty where the newcomer left without having said anything, as a port scanner does.
  const std::string& problem() const { return problem_; }
  // Answers. Nothing where the newcomer has gone meanwhile.
  UniqueFd welcome(Rank self) &&;

 private:
  UniqueFd fd_;
  Endpoint from_;
  Deadline deadline_;
  HelloFrame bytes_{};
  std::size_t have_ = 0;
  Hello hello_;
  std::string problem_;
};

}  // namespace hocket::tcp
