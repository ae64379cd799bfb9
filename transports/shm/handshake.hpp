// The two halves of making a connection between two ranks of one host: Dial on the side that calls, Greeting on the
// side that is called. Each rank listens on a Unix socket whose abstract name follows from its group and rank; the
// higher of two ranks dials the lower. Neither half waits: step() does what can be done now.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/fd.hpp"
#include "src/spi/transport.hpp"
#include "transports/common/accept_guard.hpp"
#include "transports/shm/channel.hpp"

namespace hocket::shm {

// Equal for exactly the processes that can reach each other: one boot of one kernel, one namespace of network and of
// users, one user, one HOCKET_HOST_ID. Code::unsupported where the kernel does not say.
Result<Address> local_address();
// Whether processes with these addresses run on one kernel, and have no HOCKET_HOST_ID that pretends otherwise.
bool on_one_kernel(std::string_view one, std::string_view other);

// Code::address_in_use where another process listens there, Code::out_of_resources where there is no socket.
Result<UniqueFd> listen_as(std::uint64_t group, Rank rank);

// A connection that stands, before it is a link's.
struct Connection {
  Channel channel;
  UniqueFd wake_event;  // the peer's: ends its poll(2)
  pid_t pid = 0;        // the peer's; 0: not visible from here
};

struct Hello {
  std::uint64_t group = 0;
  Rank from = no_rank;
  Rank to = no_rank;
};

// Dials a rank of this host until it answers.
class Dial {
 public:
  Dial(const Hello& hello, int wake_event) : hello_(hello), wake_event_(wake_event) {}

  Handshake step();
  // What step() waits for; a negative descriptor: nothing but time.
  pollfd interest() const { return {connection_.channel.fd(), POLLIN, 0}; }
  Connection take() { return std::move(connection_); }
  const std::string& problem() const { return problem_; }

 private:
  Handshake begin();
  Handshake fail(std::string problem);

  Hello hello_;
  int wake_event_;  // this rank's
  Connection connection_;
  std::string problem_;
};

// A connection that a peer has begun, until it has said who it is.
class Greeting {
 public:
  explicit Greeting(UniqueFd fd);

  // After done, hello() is well-formed (whether it is welcome is for the caller to say).
  Handshake step();
  pollfd interest() const { return {connection_.channel.fd(), POLLIN, 0}; }
  Deadline deadline() const { return deadline_; }
  const Hello& hello() const { return hello_; }
  pid_t pid() const { return connection_.pid; }
  uid_t uid() const { return uid_; }
  // Empty where the peer left without a word.
  const std::string& problem() const { return problem_; }
  // Answers.
  Connection welcome(int wake_event) &&;

 private:
  Connection connection_;
  uid_t uid_;
  Deadline deadline_;
  Hello hello_;
  std::string problem_;
};

}  // namespace hocket::shm
