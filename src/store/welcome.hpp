// How a server and a client of the store greet each other, and whom they trust. Nothing here reads or writes; but where
// there is no secret, the kernel is asked who is at the other end of the socket.
#pragma once

#include <optional>
#include <string>

#include "src/base/challenge.hpp"
#include "src/base/trust.hpp"
#include "src/store/wire.hpp"

namespace hocket::store {

// The server's side of one connection. `trust` outlives it.
class Welcome {
 public:
  explicit Welcome(const Trust& trust) : trust_(&trust) {}

  struct Answer {
    wire::Verdict verdict = wire::Verdict::welcome;
    std::string text = {};     // of the answer; empty, of a starved server: it says that itself
    std::string problem = {};  // why the client is refused, for this side's log
    bool tells_client = true;  // false: it knows, and the connection just ends
  };
  // Answers one greeting, of this version; `socket` is the client's.
  Answer take(const wire::Greeting& greeting, int socket);

 private:
  const Trust* trust_;
  std::optional<Challenge> challenge_;
  std::string their_nonce_;
};

// The client's side.
class Introduction {
 public:
  // `trust` outlives it.
  explicit Introduction(const Trust& trust);

  // The first greeting. Points into this.
  wire::Greeting first() const;
  struct Step {
    std::optional<wire::Greeting> next = std::nullopt;  // to send; points into this
    bool welcome = false;
    Status refused = {};  // why this is the end; `next` may be there even so
  };
  // What follows the server's greeting, which came through `socket`.
  Step take(const wire::Greeting& greeting, int socket);

 private:
  Step take_challenge(std::string_view text);

  const Trust* trust_;
  std::optional<Challenge> challenge_;
  Mac proof_{};
  bool proven_ = false;  // both sides
};

}  // namespace hocket::store
