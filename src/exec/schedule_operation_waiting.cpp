// What an operation says while it waits.
#include <fmt/format.h>

#include <algorithm>

#include "src/exec/schedule_operation.hpp"

namespace hocket {

// All peers, not only those it waits for: a peer that waits for this rank must learn that it is alive.
void ScheduleOperation::tell_waiting(Rank missing, Rank witness) {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const auto same_link = [&](const ChannelState& other) { return other.link == channels_[i].link; };
    const auto end = channels_.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(channels_.begin(), end, same_link)) continue;
    channels_[i].link->tell_waiting({.tag = tag_, .missing = missing, .witness = witness});
  }
}

Operation::Missing ScheduleOperation::missing() const {
  Missing missing;
  for (const bool outgoing : {false, true}) {  // a rank that should have sent is the likelier culprit
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      if (channels_[i].outstanding == 0 || directions_[i].outgoing != outgoing) continue;
      const Rank peer = directions_[i].peer;
      missing.peers.push_back(peer);
      missing.text += fmt::format("{}{} rank {}", missing.text.empty() ? "" : ", ",
                                  outgoing ? "sending to" : "receiving from", peer);
    }
  }
  return missing;
}

Rank ScheduleOperation::awaited() const {
  for (const bool outgoing : {false, true}) {
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      if (channels_[i].outstanding == 0 || directions_[i].outgoing != outgoing) continue;
      return plan_->program.channels[i].peer;
    }
  }
  return no_rank;
}

}  // namespace hocket
