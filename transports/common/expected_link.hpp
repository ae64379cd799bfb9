// A link of a transport that is not connected yet: what waits for it, until when, and what is said where it never is.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/spi/status.hpp"
#include "src/spi/types.hpp"
#include "transports/common/accept_guard.hpp"

namespace hocket {

// `Link` has peer(), fail(why, tell_peer) and leave(why).
template <class Link, class Dial>
struct ExpectedLink {
  Link* link;
  Deadline::Clock::time_point since;
  Deadline deadline;
  bool needed;                  // by somebody who waits
  std::optional<Dial> dial;     // nothing: the peer dials, or it was in vain
  std::string problem = {};     // why it was in vain; told at the deadline
  Code kind = Code::peer_lost;  // and what kind of problem
  bool ended = false;           // see Cause

  // Dialling was in vain. A peer whose communicator broke, for the end of another rank, closes its listening socket:
  // that news may still be on its way, and is better than what this rank could say.
  void doubt(std::string why, Code of_kind = Code::peer_lost, bool has_ended = false) {
    problem = std::move(why);
    kind = of_kind;
    ended = has_ended;
    deadline = earlier(deadline, Deadline::after(std::chrono::milliseconds(200)));
    dial.reset();
  }
  // The deadline has passed: ends the link with the problem, if dialling was in vain, else with `message`.
  void time_out(Rank self, const std::string& message) {
    if (problem.empty()) {
      give_up(self, Code::timeout, message);
    } else {
      give_up(self, kind, problem);
    }
  }
  void give_up(Rank self, Code code, const std::string& message) {
    const std::chrono::duration<double> elapsed = Deadline::Clock::now() - since;
    const Status why(Cause{.code = code,
                           .message = message,
                           .rank = self,
                           .peer = link->peer(),
                           .operation = {},
                           .sequence = 0,
                           .elapsed_seconds = elapsed.count(),
                           .ended = ended});
    if (needed) {
      link->fail(why, true);
    } else {
      link->leave(why);
    }
  }
};

// accept(2) has failed with `error` for want of a descriptor or memory: peers that are expected to dial this rank
// cannot come.
template <class Expected>
void lack_descriptors(int error, AcceptGuard& guard, std::vector<Expected>& all_expected) {
  guard.shut(error);
  for (Expected& expected : all_expected) {
    if (expected.dial || !expected.problem.empty()) continue;
    expected.doubt(guard.shortage(expected.link->peer()), Code::out_of_resources);
  }
}

}  // namespace hocket
