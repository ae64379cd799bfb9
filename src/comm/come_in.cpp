// A newcomer's part in joining.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/random.hpp"
#include "src/comm/attendant.hpp"
#include "src/comm/bootstrap.hpp"
#include "src/comm/joining_point.hpp"

namespace hocket::comm {
namespace {

constexpr Rank places_max = 65536;

// One stay at the joining point, from taking a place to what comes of the first invitation.
class ComingIn {
 public:
  ComingIn(const JoiningPoint& point, const JoinRequest& request, const RegionTable& regions,
           const std::stop_token& stop)
      : point_(point), request_(request), regions_(regions), stop_(stop) {}
  ~ComingIn() {
    try {
      leave();
    } catch (...) {  // memory ran out: the members find out as of a newcomer that has died
    }
  }
  ComingIn(const ComingIn&) = delete;
  ComingIn& operator=(const ComingIn&) = delete;

  Result<CommunicatorParts> run(Deadline deadline);

 private:
  Status take_place(Deadline deadline);
  Status be_invited(Deadline deadline);
  Status look_around(const std::stop_token& over);
  void give_up();
  Result<CommunicatorParts> make();
  void leave();

  const JoiningPoint& point_;
  const JoinRequest& request_;
  const RegionTable& regions_;
  const std::stop_token& stop_;
  Places places_ = point_.places(random_number(), stop_);
  std::optional<Invitation> invitation_;
  bool counts_ = false;  // the attempt
};

Status ComingIn::take_place(Deadline deadline) {
  for (Rank place = 0; place < places_max; ++place) {
    const auto standing = places_.take(0, place, {}, deadline);
    if (!standing.ok()) return standing.status();
    if (standing->holder != Places::Holder::this_creation) continue;
    return {};
  }
  return {Code::out_of_resources, fmt::format("{} newcomers wait at one joining point", places_max)};
}

Status ComingIn::be_invited(Deadline deadline) {
  const auto told = point_.await_invitation(places_.token(), deadline, [&]() -> Status {
    if (stop_.stop_requested()) return {Code::aborted, "the join was given up"};
    return places_.beat(deadline);
  });
  if (told.ok()) invitation_ = *told;
  // It was stopped for so long that another newcomer has its place.
  if (told.status().code() == Code::rank_taken) return {Code::aborted, "this newcomer has lost its place"};
  if (told.status().code() != Code::timeout) return told.status();
  return {Code::timeout,
          fmt::format("nobody took this newcomer in at {}: do the members call hocket_comm_join with that "
                      "point and that store?",
                      point_.describe())};
}

// While this newcomer waits for what the members decide. Without their rank 0 nobody may know of the attempt.
Status ComingIn::look_around(const std::stop_token& over) {
  if (over.stop_requested()) return {Code::aborted, "the join was given up"};
  (void)places_.beat(Deadline::after(request_time));
  const auto leader =
      point_.leader_place(invitation_->attempt, places_.token(), over).look(0, 0, Deadline::after(request_time));
  if (leader.ok() && leader->holder == Places::Holder::nobody) give_up();
  return {};
}

// For all, unless the attempt counts already. The others find out by themselves where that cannot be said.
void ComingIn::give_up() {
  (void)point_.decide(invitation_->attempt, false, Deadline::after(request_time), stop_);
}

// Meets the members, unless they give the attempt up; a newcomer that has failed gives it up for all.
Result<CommunicatorParts> ComingIn::make() {
  std::stop_source stop;
  const std::stop_callback passed_on(stop_, [&] { stop.request_stop(); });
  const auto patience = Deadline::after(2 * request_.options.timeout);  // the members' meeting may have begun later
  Result<bool> counts = Status(Code::timeout, "nothing is known yet");
  auto attendant = Attendant::start([&](const std::stop_token&) {
    counts = point_.await_decision(invitation_->attempt, patience, [&] { return look_around(stop.get_token()); });
    if (!counts.ok() || !*counts) stop.request_stop();
  });
  auto parts = attendant.ok() ? bootstrap(point_.meeting(request_.options, *invitation_), regions_, stop.get_token())
                              : attendant.status();
  if (!parts.ok()) {
    give_up();
    stop.request_stop();
  }
  attendant = Status(Code::aborted, "it has returned");
  if (!parts.ok()) return parts;
  if (!counts.ok()) {
    counts = point_.decide(invitation_->attempt, false, Deadline::after(request_.options.timeout), stop_);
    if (!counts.ok()) counts = unknown_outcome(counts.status());
  }
  counts_ = counts.ok() && *counts;
  if (counts_) return parts;
  parts->link_set->abort(*parts->context, "its creation was given up");
  return counts.ok() ? Status(Code::aborted, "not all members made the communicator") : counts.status();
}

Result<CommunicatorParts> ComingIn::run(Deadline deadline) {
  if (Status taken = take_place(deadline); !taken.ok()) return taken;
  if (Status invited = be_invited(deadline); !invited.ok()) return invited;
  auto parts = make();
  if (parts.ok()) parts->lineage.previous_ranks = invitation_->previous_ranks();
  return parts;
}

// The place first: without it nobody invites this newcomer any more.
void ComingIn::leave() {
  places_.release(Deadline::after(request_time));
  point_.remove_invitation(places_.token());
  if (invitation_) point_.leave(*invitation_, counts_, stop_);
}

}  // namespace

Result<CommunicatorParts> come_in(const JoinRequest& request, const RegionTable& regions, const std::stop_token& stop) {
  const auto deadline = Deadline::after(request.timeout);
  const auto point = JoiningPoint::open(request, deadline, stop);
  if (!point.ok()) return point.status();
  for (Status before;;) {
    auto parts = ComingIn(**point, request, regions, stop).run(deadline);
    if (parts.ok()) return parts;
    const Status why = parts.status();
    if (stop.stop_requested() || !may_try_again_after(why)) return why;
    if (deadline.passed()) {
      return before.ok() ? why
                         : Status(why.code(), why.message() + "; an attempt before had failed: " + before.message());
    }
    log::info(fmt::format("a newcomer waits at {} again: {}", (*point)->describe(), why.message()));
    before = why;
  }
}

}  // namespace hocket::comm
