// The two halves of making a connection between two ranks of one host: Dial on the side that calls, Greeting on the
// side that is called. Each rank listens on a Unix socket whose abstract name follows from its group and rank, but
// tells nothing of them; the higher of two ranks dials the lower. Where there is a secret, each proves to the other
// that it knows it. Neither half waits: step() does what can be done now.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/base/challenge.hpp"
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

// What follows the zero byte of the name of the socket on which a rank listens.
std::string name_of(std::uint64_t group, Rank rank);
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

// What both sides of a challenge know, from the hello with which it begins.
std::string context_of(const Hello& hello);

// Dials a rank of this host until it answers.
class Dial {
 public:
  // `secret` may be empty.
  Dial(const Hello& hello, int wake_event, std::string secret = {})
      : hello_(hello), wake_event_(wake_event), secret_(std::move(secret)) {}

  Handshake step();
  // What step() waits for; a negative descriptor: nothing but time.
  pollfd interest() const { return {connection_.channel.fd(), POLLIN, 0}; }
  Connection take() { return std::move(connection_); }
  const std::string& problem() const { return problem_; }
  // Code::out_of_resources where it was for want of a descriptor, here or there.
  Code code() const { return code_; }
  // Whether it failed because nobody listens there.
  bool refused() const { return refused_; }

 private:
  Handshake begin();
  Handshake read(Packet& packet);
  Handshake prove(Packet& packet);
  bool take_wake_event(Packet& packet);
  Handshake fail(std::string problem, Code code = Code::peer_lost);

  Hello hello_;
  int wake_event_;  // this rank's
  std::string secret_;
  std::optional<Challenge> challenge_;  // where there is a secret
  bool proven_ = false;                 // this side has sent its proof
  Connection connection_;
  std::string problem_;
  Code code_ = Code::peer_lost;
  bool refused_ = false;
};

// A connection that a peer has begun, until it has said who it is, and proved it where there is a secret.
class Greeting {
 public:
  // `guard` says who may come, and outlives it. `wake_event`: this rank's.
  Greeting(UniqueFd fd, const AcceptGuard& guard, int wake_event);

  // After done, hello() is that of one who may come.
  Handshake step();
  pollfd interest() const { return {connection_.channel.fd(), POLLIN, 0}; }
  Deadline deadline() const { return deadline_; }
  const Hello& hello() const { return hello_; }
  pid_t pid() const { return connection_.pid; }
  uid_t uid() const { return uid_; }
  // Whether it has failed because this process may have no more descriptors.
  bool lacked_descriptors() const { return lacked_descriptors_; }
  // Empty where the peer left without a word.
  const std::string& problem() const { return problem_; }
  // Lets the peer in, and tells it.
  Connection welcome() &&;

 private:
  Handshake fail(std::string problem);
  Handshake distrust(Distrust why);
  Handshake take_hello(Packet& packet);
  Handshake take_proof(Packet& packet);

  const AcceptGuard* guard_;
  int own_wake_event_;
  Connection connection_;
  uid_t uid_;
  Deadline deadline_;
  Hello hello_;
  std::optional<Challenge> challenge_;  // once this side has answered the hello with it
  std::string their_nonce_;
  std::string problem_;
  bool lacked_descriptors_ = false;
};

}  // namespace hocket::shm
