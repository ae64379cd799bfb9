// The members' part in joining.
#include "src/comm/join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "src/base/caught.hpp"
#include "src/base/log.hpp"
#include "src/base/random.hpp"
#include "src/comm/attendant.hpp"
#include "src/comm/bootstrap.hpp"
#include "src/comm/join_word.hpp"
#include "src/comm/joining_point.hpp"

namespace hocket::comm {
namespace {

constexpr std::chrono::milliseconds look_at_links_every{20};
constexpr std::chrono::milliseconds look_for_newcomers_every{100};
constexpr int looks_at_newcomers = 5;  // one in so many looks is at the store

class TakingIn {
 public:
  TakingIn(const Members& members, const JoinRequest& request, const std::stop_token& stop)
      : members_(members), request_(request), stop_(stop) {}

  Result<std::optional<CommunicatorParts>> run();

 private:
  Result<std::optional<CommunicatorParts>> take_in();
  const Membership& membership() const { return members_.parts.membership; }
  bool leads() const { return membership().rank() == 0; }
  Executor& executor() const { return members_.parts.link_set->executor(); }
  Status broken() const { return executor().broken(); }
  Result<std::vector<JoinWord>> tell(const JoinWord& mine);
  Status agree();
  Status open();
  JoinWord choose();
  Status wait_for_newcomers();
  Result<bool> invite();
  void call_off();
  Result<CommunicatorParts> attempt();
  Result<CommunicatorParts> meet(std::optional<Attendant>& attendant, std::stop_source& give_up);
  void attend(const std::stop_token& over, std::stop_source& give_up);
  bool newcomers_are_there(const std::stop_token& over) const;
  Result<bool> decide(bool counts) const;
  Status outcome(const Status& made);

  const Members& members_;
  const JoinRequest& request_;
  const std::stop_token& stop_;
  const Deadline deadline_ = Deadline::after(request_.timeout);
  std::chrono::milliseconds patience_ = request_.timeout;  // of rank 0
  std::unique_ptr<JoiningPoint> point_;
  Invitation attempt_;        // the one under way, with this member's rank
  Status latest_;             // how the one before failed
  bool others_wait_ = false;  // for what this member tells next
  // Rank 0:
  std::vector<Newcomer> chosen_;
  std::optional<Places> place_;
};

// Rank 0 may be waiting for newcomers meanwhile, and others for the larger communicator.
Result<std::vector<JoinWord>> TakingIn::tell(const JoinWord& mine) {
  std::vector<JoinWord> all(static_cast<std::size_t>(membership().size()));
  all[static_cast<std::size_t>(membership().rank())] = mine;
  const auto deadline = Deadline::after(patience_ + request_.options.timeout + membership().options().timeout);
  if (Status status = members_.allgather(std::as_writable_bytes(std::span(all)), deadline); !status.ok()) return status;
  others_wait_ = true;
  return all;
}

// On where and how long to wait.
Status TakingIn::agree() {
  JoinWord mine{.timeout_ms = request_.timeout.count()};
  mine.say(request_.point);
  const auto all = tell(mine);
  if (!all.ok()) return all.status();
  patience_ = std::chrono::milliseconds(all->front().timeout_ms);
  for (const JoinWord& word : *all) {
    if (word.text == all->front().text) continue;
    const auto rank = static_cast<Rank>(&word - all->data());
    return Status(Cause{.code = Code::mismatch,
                        .message = fmt::format("rank 0 of \"{}\" takes newcomers in at the joining point \"{}\", but "
                                               "rank {} at \"{}\": give all ranks the same join.point",
                                               membership().name(), all->front().text.data(), rank, word.text.data()),
                        .peer = rank});
  }
  return {};
}

Status TakingIn::open() {
  if (point_) return {};
  auto point = JoiningPoint::open(request_, Deadline::after(request_.options.timeout), stop_);
  if (point.ok()) point_ = std::move(*point);
  return point.status();
}

Status TakingIn::wait_for_newcomers() {
  if (Status opened = open(); !opened.ok()) return opened;
  for (;;) {
    auto there = point_->newcomers(stop_);
    if (!there.ok()) return there.status();
    chosen_ = std::move(*there);
    const auto enough = static_cast<std::size_t>(request_.newcomers_min);
    if (chosen_.empty() && enough == 0) return {};
    const bool over = deadline_.passed();
    if (chosen_.size() >= enough && (latest_.ok() || !over)) {
      chosen_.resize(std::min(chosen_.size(), static_cast<std::size_t>(request_.newcomers_max)));
      const auto invited = invite();
      if (!invited.ok()) return invited.status();
      if (*invited) return {};
    } else if (over) {
      return {Code::timeout,
              fmt::format("{} of {} newcomers came to {} in time{}", chosen_.size(), enough, point_->describe(),
                          latest_.ok() ? "" : "; an attempt before had failed: " + latest_.message())};
    }
    members_.parts.link_set->look_at_links();
    if (Status status = broken(); !status.ok()) return status;
    sleep_unless_stopped(look_for_newcomers_every, stop_);
  }
}

// False: others invite here, too, and were faster. All come to the newcomers in the same order, so one of them gets on.
Result<bool> TakingIn::invite() {
  attempt_ = {.attempt = random_number(),
              .members = membership().size(),
              .size = membership().size() + static_cast<Rank>(chosen_.size()),
              .rank = 0};
  place_.emplace(point_->leader_place(attempt_.attempt, random_number(), stop_));
  if (const auto taken = place_->take(0, 0, {}, Deadline::after(request_time)); !taken.ok()) return taken.status();
  if (Status begun = point_->begin(attempt_.attempt); !begun.ok()) return begun;
  Invitation invitation = attempt_;
  invitation.rank = invitation.members;
  for (const Newcomer& newcomer : chosen_) {
    const auto invited = point_->invite(newcomer, invitation);
    if (!invited.ok()) return invited;
    if (!*invited) {
      call_off();
      return false;
    }
    ++invitation.rank;
  }
  return true;
}

// Before the other members know of the attempt, or where they are gone, or after an exception: then it may count
// already, and others have yet to read so. Where that cannot be said, newcomers find out by rank 0's place.
void TakingIn::call_off() {
  if (!place_) return;
  try {
    const auto counts = point_->decide(attempt_.attempt, false, Deadline::after(request_time), stop_);
    place_->release(Deadline::after(request_time));
    if (counts.ok()) point_->leave(attempt_, *counts, stop_);
  } catch (...) {
    log::info("a join was called off, and memory ran out for saying so");
  }
  place_.reset();
}

// Rank 0's word on who is to join. The others have nothing to say.
JoinWord TakingIn::choose() {
  chosen_.clear();
  if (!leads()) return {};
  const Status came = caught_in([this] { return wait_for_newcomers(); });
  if (came.ok()) return {.attempt = attempt_.attempt, .newcomers = static_cast<Rank>(chosen_.size())};
  call_off();
  return JoinWord::failed(came);
}

bool TakingIn::newcomers_are_there(const std::stop_token& over) const {
  const auto decided = point_->decided(attempt_.attempt);
  if (decided.ok() && *decided == false) return false;
  return std::ranges::all_of(chosen_, [&](const Newcomer& newcomer) {
    const auto there = point_->is_there(newcomer, over);
    return !there.ok() || *there;
  });
}

// While this rank meets the others in the store, nothing there tells that one of them is gone.
void TakingIn::attend(const std::stop_token& over, std::stop_source& give_up) {
  for (int look = 1; !over.stop_requested(); ++look, sleep_unless_stopped(look_at_links_every, over)) {
    members_.parts.link_set->look_at_links();
    if (!broken().ok()) give_up.request_stop();
    if (!leads() || look % looks_at_newcomers != 0) continue;
    (void)place_->beat(Deadline::after(request_time));
    if (!newcomers_are_there(over)) give_up.request_stop();
  }
}

Result<CommunicatorParts> TakingIn::meet(std::optional<Attendant>& attendant, std::stop_source& give_up) {
  if (Status opened = open(); !opened.ok()) return opened;
  auto started = Attendant::start([&](const std::stop_token& over) { attend(over, give_up); });
  if (!started.ok()) return started.status();
  attendant.emplace(std::move(*started));
  return bootstrap(point_->meeting(request_.options, attempt_), *members_.regions, give_up.get_token());
}

Result<CommunicatorParts> TakingIn::attempt() {
  std::stop_source give_up;
  const std::stop_callback passed_on(stop_, [&] { give_up.request_stop(); });
  std::optional<Attendant> attendant;
  auto parts = caught_in([&] { return meet(attendant, give_up); });
  const Status why = outcome(parts.status());
  attendant.reset();
  if (place_) place_->release(Deadline::after(request_time));
  place_.reset();
  if (point_) point_->leave(attempt_, why.ok(), stop_);
  if (why.ok()) return parts;
  if (parts.ok()) parts->link_set->abort(*parts->context, "its creation was given up");
  return why;
}

// Asks no longer than the others wait.
Result<bool> TakingIn::decide(bool counts) const {
  const auto deadline = Deadline::after(counts || !leads() ? request_.options.timeout : request_time);
  const auto decided = point_->decide(attempt_.attempt, counts, deadline, stop_);
  return decided.ok() ? decided : unknown_outcome(decided.status());
}

// Whether the attempt counts, on all members and newcomers alike: a member that cannot learn what rank 0 decided asks
// the store, where the first word stands. Rank 0 alone may say yes, so its no needs no answer.
Status TakingIn::outcome(const Status& made) {
  const auto all = tell(JoinWord::failed(made));
  Status why = all.ok() ? first_failure(*all) : all.status();
  if (leads() && point_) {
    const auto counts = decide(why.ok());
    if (why.ok() && !counts.ok()) why = counts.status();
    if (why.ok() && !*counts) why = Status(Code::aborted, "a newcomer could not join");
  }
  const auto told = tell(JoinWord::failed(why));
  if (told.ok()) return told->front().status(0);
  if (leads()) return why;
  if (!point_) return told.status();
  const auto counts = decide(false);
  if (!counts.ok()) return counts.status();
  return *counts ? Status() : told.status();
}

Result<std::optional<CommunicatorParts>> TakingIn::take_in() {
  if (Status agreed = agree(); !agreed.ok()) return agreed;
  for (;;) {
    const auto told = tell(choose());
    if (!told.ok()) {
      call_off();
      return told.status();
    }
    const JoinWord& word = told->front();
    if (Status status = word.status(0); !status.ok()) return status;
    if (word.newcomers == 0) return std::optional<CommunicatorParts>();
    attempt_ = {.attempt = word.attempt,
                .members = membership().size(),
                .size = membership().size() + word.newcomers,
                .rank = membership().rank()};
    auto parts = attempt();
    if (parts.ok()) {
      parts->lineage.previous_ranks = attempt_.previous_ranks();
      return std::optional<CommunicatorParts>(std::move(*parts));
    }
    latest_ = parts.status();
    if (!may_try_again_after(latest_)) return latest_;
    if (Status status = broken(); !status.ok()) return status;
    log::info(fmt::format("rank {} of \"{}\" waits for newcomers again: {}", membership().rank(), membership().name(),
                          latest_.message()));
  }
}

// A member that cannot tell the others, who wait for its word, breaks the communicator.
Result<std::optional<CommunicatorParts>> TakingIn::run() {
  const std::stop_callback abort_on_stop(
      stop_, [&] { members_.parts.link_set->abort(*members_.parts.context, "a join was given up"); });
  try {
    return take_in();
  } catch (...) {
    const Status why = caught.status();
    if (others_wait_) executor().abort(why, *members_.parts.context);
    call_off();
    return why;
  }
}

}  // namespace

Result<std::optional<CommunicatorParts>> take_in(const Members& members, const JoinRequest& request,
                                                 const std::stop_token& stop) {
  return TakingIn(members, request, stop).run();
}

}  // namespace hocket::comm
