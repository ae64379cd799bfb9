// What transports that listen share: peers that dial this rank connect to its socket, say who they are, and are let in
// or refused.
#pragma once

#include <poll.h>

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
  // What the limit keeps this rank from, for messages.
  std::string shortage(Rank peer) const;
  // When it accepts again, if it does not now.
  std::optional<Deadline> opens_at() const { return open() ? std::nullopt : shut_until_; }

  // That newcomers have to know; empty: none.
  const std::string& secret() const { return config_.secret; }
  // Why a newcomer that says so is not let in; empty: that is no reason.
  std::string objection(std::uint64_t group, Rank from, Rank to) const;
  // Logs, once for each `stranger`, and for a few dozen of them at most; `name` is how it is called there.
  void log_refusal(std::string stranger, const std::string& name, const std::string& why);

 private:
  const TransportConfig& config_;
  std::optional<Deadline> shut_until_;  // no descriptor was left for a newcomer
  int error_ = 0;                       // of the latest time
  std::set<std::string> refused_;       // already logged
};

// Erases what is settled, at once: where `is_settled` throws, as for want of memory, all others stay as they are, which
// std::erase_if does not promise. Returns how many were.
template <class T>
std::size_t erase_each(std::vector<T>& all, const auto& is_settled) {
  const std::size_t before = all.size();
  for (auto at = all.begin(); at != all.end();) at = is_settled(*at) ? all.erase(at) : at + 1;
  return before - all.size();
}

// Goes on with the newcomers that have said something, or kept silent for too long: the kernel is asked once about all
// of them, so that many who are silent cost little. `admit` lets one in that has said who it is, or tells why not;
// `refuse` hears of that, and of what went wrong before. Returns how many are newcomers no more.
template <class Greeting>
std::size_t step_greetings(std::vector<Greeting>& greetings, const auto& admit, const auto& refuse) {
  if (greetings.empty()) return 0;
  std::vector<pollfd> interests;
  interests.reserve(greetings.size());
  for (const Greeting& greeting : greetings) interests.push_back(greeting.interest());
  ::poll(interests.data(), interests.size(), 0);
  auto interest = interests.begin();
  const auto time = Deadline::Clock::now();
  return erase_each(greetings, [&](Greeting& greeting) {
    if ((interest++)->revents == 0 && time < greeting.deadline().at()) return false;
    const Handshake now = greeting.step();
    if (now == Handshake::waiting) return false;
    const std::string problem = now == Handshake::done ? admit(greeting) : greeting.problem();
    if (!problem.empty()) refuse(greeting, problem);
    return true;
  });
}

// Makes room for a newcomer where there are as many as there may be: `step` goes on with those who have said something,
// and if nobody is through with it, the one that came first has to go.
template <class Greeting>
void make_room(std::vector<Greeting>& greetings, std::size_t most, const auto& step, const auto& refuse) {
  if (greetings.size() >= most) step();
  if (greetings.size() < most) return;
  refuse(greetings.front(), "too many others wait");
  greetings.erase(greetings.begin());
}

}  // namespace hocket
