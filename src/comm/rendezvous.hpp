// Rendezvous: how the ranks of a group find each other through the store, before they can speak.
//
// The ranks of a job meet in epochs. Rank 0 opens one, "<job>/epoch", and the others join it; while it gathers, a rank
// whose process has ended is replaced by the next process of that rank, and a new rank 0 opens the next epoch, into
// which those that wait follow. Below "<job>/<epoch>/" lie "place/<rank>" (whose the rank is, places.hpp),
// "card/<rank>" (what it tells about itself) and "verdict": once everyone's card is there, the gathering is complete,
// unless some rank has said before why it fails. An epoch with a verdict takes nobody in. So what an earlier meeting
// left behind, however it ended, never harms a later one, and the k-th communicators of a job's ranks meet each other.
// What ranks told is removed once everyone has read it.
//
// A rank that ends while the others wait for everyone's card fails the epoch. A server that holds the store says so at
// once, by what the rank bequeaths with its place; with other stores rank 0 looks after all, and all after rank 0,
// where they can see the process.
//
// A daemon that holds the store may be lost and come back with nothing, or with what it held a while ago. Ranks that
// have no place yet then come again. Those that have given their cards, which others may have read, stay in their
// epoch: they say again what they had said, also while they connect to each other, for those who still need it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "src/base/random.hpp"
#include "src/comm/attendant.hpp"
#include "src/comm/options.hpp"
#include "src/comm/peer_info.hpp"
#include "src/comm/places.hpp"
#include "src/spi/store.hpp"

namespace hocket::comm {

// What a rank knows of the store in which it is about to meet the others, and then of their meetings there.
struct Visit {
  // A store that rank 0 serves began with that: no failure in it is that of an earlier start.
  bool rank_0_serves = false;
  std::uint64_t epoch = 0;            // that it waits for, or has its place in
  std::optional<Status> missed = {};  // why the last one failed that this rank came too late for, and goes on without
};

class Rendezvous {
 public:
  // Takes this rank's place in an epoch. Errors: rank_taken, mismatch (another world size), timeout, those of stores,
  // and in a store that rank 0 serves, once, why an epoch failed that this rank came too late for. Waits for other
  // ranks end with aborted when `stop` is requested. `token` names this creation: one that comes again after it lost
  // the store takes its own place over. `visit`, where it is not null, outlives what is returned.
  static Result<std::unique_ptr<Rendezvous>> join(Store& store, const Options& options, Deadline deadline,
                                                  std::stop_token stop = {}, std::uint64_t token = random_number(),
                                                  Visit* visit = nullptr);

  std::uint64_t group() const { return epoch_.group; }
  // Waits for other ranks end, too, with what `look` fails with.
  void watch(LookAround look) { watched_ = std::move(look); }
  // What is to be in the store as long as ranks may join this epoch, besides what this class writes.
  void say(std::string key, std::string value) { said_.emplace_back(std::move(key), std::move(value)); }
  // Tells the others about this rank, waits until every rank has done so, and returns what those in `wanted` tell. A
  // timeout names all ranks that are missing. Called once.
  Result<std::vector<PeerInfo>> exchange(const PeerInfo& mine, const std::vector<Rank>& wanted);
  // Whether a wait ended because rank 0 began anew: then this rank must, too.
  bool superseded() const { return superseded_; }
  // That a rank has ended while the ranks met.
  static Status lost(Rank rank);
  // This rank has all that it needs. Does not wait for the store.
  void finish();
  // Tells the ranks that still wait why this one could not join. Returns that; but where this rank only lost or missed
  // others, why the first of them could not.
  Status fail(const Status& why);

 private:
  Rendezvous(Store& store, const Options& options, Deadline deadline, std::stop_token stop, std::uint64_t token,
             Visit* visit)
      : store_(store),
        options_(options),
        deadline_(deadline),
        stop_(std::move(stop)),
        places_(store, options.name, token, stop_),
        visit_(visit) {}

  Result<Places::Standing> take_place(std::uint64_t epoch);
  // Rank 0 opens an epoch, the others join one.
  Status lead();
  Status close_epoch_before(const Epoch& before);
  Status follow();
  Status come_too_late(std::uint64_t epoch, const Status& why);
  Result<bool> is_news(std::uint64_t epoch, Deadline deadline);
  Result<Epoch> epoch_after(std::uint64_t number);
  Result<bool> is_of_other_size_and_gathers(const Epoch& epoch);
  struct Missing {
    Rank rank = no_rank;
    std::string ended;  // the process that had the place, where it is known to have ended
  };
  Result<Allgathered> gather(const std::string& card, const std::vector<Rank>& wanted);
  Result<PeerInfo> parse_card(Rank rank, const std::optional<std::string>& card) const;
  Status expect_all_alive(const std::vector<std::string>& cards) const;
  Status look_around();
  Status look_after_others();
  // After the daemon was lost.
  Status say_again();
  Status say_epoch_again();
  void keep_saying(const std::string& card, const std::stop_token& stop) const;
  void say_to_the_next(const std::string& card, const std::stop_token& stop) const;
  Status begun_anew();

  Result<Epoch> current_epoch(Deadline deadline) const;
  Result<std::optional<Verdict>> verdict_of(std::uint64_t epoch) const;
  void pause() const;
  // Waits for a key, or for a later epoch than that one, and looks around meanwhile.
  Status wait_for(const std::string& key, std::uint64_t epoch);
  // What to do meanwhile in a wait for a key that may be removed once later epochs begin. Sets `later`, which is false
  // at first and outlives the wait.
  LookAround look_around_after(std::uint64_t epoch, bool& later);
  Status taken_by(const Places::Standing& holder) const;
  Status timed_out() const;
  // A request to the store that the deadline cut short says less than who is missing.
  Status explained(const Status& status) const;
  std::string describe_wait(std::string_view waits) const;
  Result<std::vector<Missing>> missing_ranks() const;
  std::string key(std::uint64_t epoch, std::string_view name) const;
  std::string card_key(Rank rank) const;
  std::string epoch_key() const;

  Store& store_;
  const Options options_;
  const Deadline deadline_;
  const std::stop_token stop_;
  Places places_;
  Epoch epoch_;
  Visit* const visit_;
  bool published_ = false, superseded_ = false;
  bool has_met_ = false;                     // then nobody is harmed if it ends
  bool leader_lived_ = false;                // when this rank joined its epoch; else that is of an earlier start
  std::map<Rank, ProcessIdentity> holders_;  // of places, as far as rank 0 knows them
  LookAround watched_ = [] { return Status(); };
  std::vector<std::pair<std::string, std::string>> said_;        // keys and values
  Deadline warned_ = Deadline::after(std::chrono::seconds(10));  // when the log next says who is missing
  std::optional<Attendant> keeper_;                              // says it again once the cards have been read
};

}  // namespace hocket::comm
