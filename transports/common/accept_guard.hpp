// What transports that listen share: peers that dial this rank connect to its socket, say who they are, and are let in
// or refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/spi/transport.hpp"

namespace hocket {

// How far one side of a connection has come.
enum class Handshake { waiting, done, failed };

class AcceptGuard {
 public:
  // The configuration outlives it.
  explicit AcceptGuard(const TransportConfig& config) : config_(config) {}

  bool open() const { return !shut_until_ || shut_until_->passed(); }
  // accept(2) has failed with `error` for want of a descriptor or memory: accepts nothing for a while. Logs the first
  // time.
  void shut(int error);
  // When it accepts again, if it does not now.
  std::optional<Deadline> opens_at() const { return open() ? std::nullopt : shut_until_; }

  // Why a newcomer that says so is not let in; empty: that is no reason.
  std::string objection(std::uint64_t group, Rank from, Rank to) const;
  // Logs, once for each `stranger`, and for a few dozen of them at most; `name` is how it is called there.
  void log_refusal(std::string stranger, const std::string& name, const std::string& why);

 private:
  const TransportConfig& config_;
  std::optional<Deadline> shut_until_;  // no descriptor was left for a newcomer
  std::set<std::string> refused_;       // already logged
};

// Goes on with all newcomers. `admit` lets one in that has said who it is, or tells why not; `refuse` hears of that,
// and of what went wrong before. Returns how many are newcomers no more.
template <class Greeting>
std::size_t step_greetings(std::vector<Greeting>& greetings, const auto& admit, const auto& refuse) {
  return std::erase_if(greetings, [&](Greeting& greeting) {
    const Handshake now = greeting.step();
    if (now == Handshake::waiting) return false;
    const std::string problem = now == Handshake::done ? admit(greeting) : greeting.problem();
    if (!problem.empty()) refuse(greeting, problem);
    return true;
  });
}

}  // namespace hocket
