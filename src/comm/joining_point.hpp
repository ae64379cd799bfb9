// What lies in the store at a joining point, below "<job>/join/<point>/": "0/place/<n>", the newcomers' places;
// "invitation/<token>", to the newcomer with that token; and below "<attempt>/" "0/place/0", by which the members' rank
// 0 shows that it lives, "counts", whether the attempt counts, "left", how many have learned that, and the keys of the
// rendezvous in which all meet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/process_identity.hpp"
#include "src/comm/join.hpp"
#include "src/comm/places.hpp"
#include "src/spi/store.hpp"

namespace hocket::comm {

// What a request to the store may take once it has answered before.
inline constexpr std::chrono::seconds request_time{5};

// One attempt to make the larger communicator, as a newcomer is told of it.
struct Invitation {
  std::uint64_t attempt = 0;
  Rank members = 0, size = 0, rank = 0;

  std::string serialise() const;
  static std::optional<Invitation> parse(std::string_view text);
  // Of each rank of the larger communicator, which member it was; no_rank: a newcomer.
  std::vector<Rank> previous_ranks() const;
};

struct Newcomer {
  Rank place = 0;
  std::uint64_t token = 0;
  ProcessIdentity process = {};
};

// After such a failure another attempt may succeed: somebody was missing.
bool may_try_again_after(const Status& failure);

// What a join ends with where decide() has failed with `why`, so that nobody knows whether others go on. They lose this
// rank at once if they do. Code::store_unreachable.
Status unknown_outcome(const Status& why);

// Any thread.
class JoiningPoint {
 public:
  static Result<std::unique_ptr<JoiningPoint>> open(const JoinRequest& request, Deadline deadline,
                                                    const std::stop_token& stop);
  // The one in this store, whatever the request says of that.
  static std::unique_ptr<JoiningPoint> in(std::unique_ptr<Store> store, const JoinRequest& request);

  std::string describe() const;
  // The options with which all meet.
  Options meeting(const Options& given, const Invitation& invitation) const;

  // The newcomers' places, in epoch 0, and that of an attempt's leader, likewise, with rank 0.
  Places places(std::uint64_t token, const std::stop_token& stop) const { return {*store_, job_, token, stop}; }
  Places leader_place(std::uint64_t attempt, std::uint64_t token, const std::stop_token& stop) const {
    return {*store_, attempt_prefix(attempt), token, stop};
  }

  // Those who wait and are not invited yet, in the order of their places.
  Result<std::vector<Newcomer>> newcomers(const std::stop_token& stop) const;
  Result<bool> is_there(const Newcomer& newcomer, const std::stop_token& stop) const;
  // False: it was invited already, by others.
  Result<bool> invite(const Newcomer& newcomer, const Invitation& invitation) const;
  Result<Invitation> await_invitation(std::uint64_t token, Deadline deadline, const LookAround& look_around) const;
  void remove_invitation(std::uint64_t token) const;

  // Before anybody is invited: from here on it may be decided whether the attempt counts.
  Status begin(std::uint64_t attempt) const;
  // Says whether the attempt counts, unless that has been said; returns what counts. Where the answer is lost with the
  // connection, it asks again until the deadline, or until `stop` is requested: a failure means that nobody knows.
  Result<bool> decide(std::uint64_t attempt, bool counts, Deadline deadline, const std::stop_token& stop) const;
  // Nothing: it is not decided yet.
  Result<std::optional<bool>> decided(std::uint64_t attempt) const;
  Result<bool> await_decision(std::uint64_t attempt, Deadline deadline, const LookAround& look_around) const;
  // Looks no more at an attempt that has been decided.
  void leave(const Invitation& invitation, bool counts, const std::stop_token& stop) const;

 private:
  JoiningPoint(std::unique_ptr<Store> store, std::string job, std::string name)
      : store_(std::move(store)), job_(std::move(job)), name_(std::move(name)) {}
  std::string attempt_prefix(std::uint64_t attempt) const;
  std::string decision_key(std::uint64_t attempt) const { return attempt_prefix(attempt) + "/counts"; }
  std::string invitation_key(std::uint64_t token) const;
  void clear_away(std::uint64_t attempt) const;

  const std::unique_ptr<Store> store_;
  const std::string job_;   // of the places
  const std::string name_;  // of the point
};

}  // namespace hocket::comm
