// WindowHandshake: how a window opens. Each member publishes its segment, maps those of all others, and confirms; or
// says why there will be no window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/spi/status.hpp"
#include "transports/shm/window_group.hpp"

namespace hocket::shm {

class WindowHandshake {
 public:
  explicit WindowHandshake(WindowGroup& group);

  // In this order, when all members are connected.
  Status publish_own();
  bool all_published() const;
  Status confirm();  // this member has mapped all segments
  bool all_confirmed() const;

  bool confirmed(std::size_t member) const { return states_[member].confirmed; }
  // Why a member cannot take part; ok: none has said so.
  const Status& refusal() const { return refusal_; }
  // Tells the members, unless they have been told the contrary, that there is no window. Returns why as they see it.
  Status give_up(const Status& why);
  // The first member of whom nothing has come yet.
  Rank missing() const;
  // Whether each member's plain memory can be read. Requires that confirm() has succeeded.
  bool reads_plain_memory() const { return reads_plain_memory_; }

  // What other members say. False: it makes no sense.
  bool take_segment(std::size_t member, Packet& packet);
  bool take_confirmation(std::size_t member, const Packet& packet);
  // `from` counts this rank among the members of its window, but is none of this one's.
  void refuse_stranger(Rank from);

 private:
  struct State {
    bool published = false;
    bool confirmed = false;
    UniqueFd segment = {};  // until it is mapped
  };

  WindowGroup& group_;
  std::vector<State> states_;  // by member
  std::uint64_t fingerprint_;  // of the list of members
  Status refusal_;
  PlainMemoryOwner plain_memory_;
  bool reads_plain_memory_ = false;
};

}  // namespace hocket::shm
