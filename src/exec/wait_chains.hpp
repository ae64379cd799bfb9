// Who waits for whom. Ranks that have waited for a while say so; a rank that nobody has heard of does not wait in
// Hocket, and holds up all that wait for it, be it through others. So the end of each chain of waits is the rank at
// fault. Over links ranks tell each other what they know of that end; where all share a window, each shows for whom it
// waits, and all follow the chains themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>

#include "src/spi/transport.hpp"
#include "src/spi/window.hpp"

namespace hocket {

// How often a rank that waits says so, and after how long it is not believed to wait any more.
inline constexpr std::chrono::milliseconds telling_interval{500};
inline constexpr std::chrono::milliseconds silent_after{900};

// What a rank passes on that does not wait itself: so two that wait for the same one hear of each other though those
// between them do not wait yet. It carries this in place of a communicator's number.
inline constexpr std::uint32_t hearsay_number = UINT32_MAX;
inline bool is_hearsay(const Waiting& what) {
  return what.tag.communicator == hearsay_number;
}
inline Waiting hearsay_of(const Waiting& heard) {
  return {.tag = {.communicator = hearsay_number, .sequence = 0, .call = {}},
          .missing = heard.missing,
          .witness = heard.witness};
}

class WaitChains {
 public:
  virtual ~WaitChains() = default;

  // Whether the peer has said lately that it waits.
  virtual bool waits(Rank peer) const = 0;
  // The rank at the end of the chain that begins with a peer that waits; no_rank: not known, or it leads back.
  virtual Rank end_behind(Rank peer) const = 0;
  // The lowest rank, but for this one, that is known to wait for that end itself; no_rank: none.
  virtual Rank witness_of(Rank end) const = 0;
  // The lowest end of any chain of which this rank was told by those who wait on that communicator; no_rank: none. Who
  // is missing on another one need not hold up anybody here.
  virtual Rank some_end(std::uint32_t communicator) const = 0;
};

// As peers have told over links.
class ToldChains final : public WaitChains {
 public:
  explicit ToldChains(Rank self) : self_(self) {}

  // `size`: how many peers there are; what they tell is checked. Who passes on hearsay is not taken to wait.
  void hear(Rank peer, const Waiting& what, Rank size);
  // What the peer told last, while it is believed; null: nothing.
  const Waiting* told_by(Rank peer) const;
  // Calls `take` with each peer that is believed to wait.
  template <class Take>
  void for_each_that_waits(Take take) const {
    for (const auto& [peer, told] : told_) {
      if (waits(peer)) take(peer);
    }
  }

  bool waits(Rank peer) const override;
  Rank end_behind(Rank peer) const override;
  Rank witness_of(Rank end) const override;
  Rank some_end(std::uint32_t communicator) const override;

 private:
  struct Told {
    Waiting what;
    Deadline believed_until;
  };
  const Rank self_;
  struct Hearsay {
    Rank witness = no_rank;
    Deadline believed_until;
  };
  std::map<Rank, Told> told_;        // the latest of each peer
  std::map<Rank, Hearsay> hearsay_;  // by the rank that is missing
};

// As the members of a window, who are all peers, show in a control line each.
class LifeLines final : public WaitChains {
 public:
  explicit LifeLines(Window& window) : window_(window) {}

  // This member waits for that rank; no_rank: for none in particular.
  void show(Rank awaited);
  // It waits no more.
  void clear();

  bool waits(Rank peer) const override;
  Rank end_behind(Rank peer) const override;
  Rank witness_of(Rank end) const override;
  Rank some_end(std::uint32_t) const override { return no_rank; }  // each follows its own

 private:
  Rank size() const { return static_cast<Rank>(window_.size()); }
  Rank self() const { return static_cast<Rank>(window_.self()); }
  Rank awaited_by(Rank peer) const;

  Window& window_;
};

// Whose fault a wait is.
struct Blame {
  Rank missing = no_rank;  // the rank at the end of the chain; no_rank: not known
  Rank witness = no_rank;  // the lowest rank that waits for that one itself: it is the one to say so
  Rank through = no_rank;  // where the chain begins
};
// Of a rank that waits for these peers, and would hear if they waited. `unheard`: it waits for those, too, and has no
// connection with them, so they may wait in a call that does not need this rank, and could not say so: of these it
// knows nothing, and goes by what others know that wait on the same `communicator`.
Blame blame_for(std::span<const Rank> awaited, Rank self, const WaitChains& chains, std::span<const Rank> unheard = {},
                std::uint32_t communicator = 0);

}  // namespace hocket
