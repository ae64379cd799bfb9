// Shrinking: one rank's way from a broken communicator to the next. Included by the sources of shrink.hpp only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "src/comm/regroup.hpp"
#include "src/comm/shrink.hpp"
#include "src/comm/standby.hpp"

namespace hocket::comm {

// Ranks are those of the standby, unless it says otherwise.
class Shrinking {
 public:
  // All outlive it. `from` has a standby.
  Shrinking(const CommunicatorParts& from, const Status& broken, const RegionTable* regions,
            const ShrinkRequest& request, const std::stop_token& stop);

  Result<CommunicatorParts> run();

 private:
  using Wish = Regroup::Wish;
  // Between two looks at who is alive, and whether this one is to stop.
  static constexpr std::chrono::milliseconds look_around{20};

  Result<CommunicatorParts> regroup();
  Regroup::Config config(const Status& broken);
  Rank standby_rank(Rank rank) const { return from_.lineage.standby_ranks[static_cast<std::size_t>(rank)]; }
  Rank rank_of(Rank standby_rank) const;
  const PeerInfo& info_of(Rank standby_rank) const;
  Status give_up() const;
  Status excluded() const;
  Status leave(const Status& why);
  bool may_begin_anew_after(const Status& failure) const;
  void send_notes();
  void take(const std::vector<News>& news);
  void look_who_is_alive();
  bool has_ended(Rank standby_rank);
  void be_patient();
  Options new_options() const;
  Status open();
  Result<CommunicatorParts> make();
  Result<CommunicatorParts> make_on_ring(const Options& options);
  Rank place_of(Rank member) const;
  // The failure that this member is missing in the group that is under way.
  Status without(Rank member, std::string_view what_it_did, bool ended) const;
  Status why_in_vain(const News& news) const;
  Status who_has_ended();
  void attend(const std::stop_token& made);
  void look_for_what_is_in_vain(const std::stop_token& made);
  // Until when a member of the group may keep the others waiting.
  Deadline patience_with_group() const { return earlier(deadline_, Deadline::after(request_.patience)); }
  Result<SharedPeerInfos> meet_neighbours(const Options& options);

  const CommunicatorParts& from_;
  const ShrinkRequest& request_;
  const RegionTable* const regions_;
  const std::stop_token& stop_;
  Standby& standby_;
  const Deadline deadline_;
  Rank suspect_ = no_rank;  // of the standby: whom the broken communicator blames
  Suspicion suspicion_ = Suspicion::none;
  Regroup regroup_;
  std::optional<std::pair<std::uint64_t, Deadline>> patience_;  // since which step of the regrouping, until when
  std::shared_ptr<LinkSet> link_set_;                           // of the group that is under way
  PeerInfo card_;                                               // of this rank there
  std::vector<News> missed_;                                    // what has come while this rank made a group
};

}  // namespace hocket::comm
