#include "src/comm/joining_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "src/base/random.hpp"
#include "src/base/sleep.hpp"
#include "src/base/words.hpp"
#include "src/store/callback_store.hpp"
#include "src/store/open_store.hpp"

namespace hocket::comm {
namespace {

// Whether an attempt counts.
constexpr std::string_view undecided = "undecided", yes = "yes", no = "no";
constexpr std::chrono::milliseconds ask_again_after{20};

}  // namespace

std::string Invitation::serialise() const {
  return fmt::format("{} {} {} {}", attempt, members, size, rank);
}

std::optional<Invitation> Invitation::parse(std::string_view text) {
  Invitation told;
  Words fields(text);
  told.attempt = fields.number<std::uint64_t>();
  told.members = fields.number<Rank>();
  told.size = fields.number<Rank>();
  told.rank = fields.number<Rank>();
  const bool sound = fields.ok() && 0 < told.members && told.members <= told.rank && told.rank < told.size;
  return sound ? std::optional(told) : std::nullopt;
}

std::vector<Rank> Invitation::previous_ranks() const {
  std::vector<Rank> previous;
  for (Rank now = 0; now < size; ++now) previous.push_back(now < members ? now : no_rank);
  return previous;
}

bool may_try_again_after(const Status& failure) {
  return failure.code() == Code::peer_lost || failure.code() == Code::timeout || failure.code() == Code::aborted;
}

Status unknown_outcome(const Status& why) {
  return {Code::store_unreachable,
          fmt::format("whether this join counts could not be learned, so it is given up here, and where others go on "
                      "with it, their communicator is aborted: {}",
                      why.message())};
}

Result<std::unique_ptr<JoiningPoint>> JoiningPoint::open(const JoinRequest& request, Deadline deadline,
                                                         const std::stop_token& stop) {
  const Options& options = request.options;
  std::unique_ptr<Store> store;
  if (options.callbacks) {
    store = std::make_unique<CallbackStore>(*options.callbacks);
  } else {
    auto opened = open_store(options.store, deadline, stop, options.trust);
    if (!opened.ok()) return opened.status();
    store = std::move(*opened);
  }
  return in(std::move(store), request);
}

std::unique_ptr<JoiningPoint> JoiningPoint::in(std::unique_ptr<Store> store, const JoinRequest& request) {
  const std::string& job = request.options.name;
  return std::unique_ptr<JoiningPoint>(new JoiningPoint(std::move(store), fmt::format("{}/join/{}", job, request.point),
                                                        fmt::format("\"{}\" of job \"{}\"", request.point, job)));
}

std::string JoiningPoint::describe() const {
  return fmt::format("the joining point {} in {}", name_, store_->url());
}

std::string JoiningPoint::attempt_prefix(std::uint64_t attempt) const {
  return fmt::format("{}/{}", job_, attempt);
}

std::string JoiningPoint::invitation_key(std::uint64_t token) const {
  return fmt::format("{}/invitation/{}", job_, token);
}

Options JoiningPoint::meeting(const Options& given, const Invitation& invitation) const {
  Options options = given;
  options.name = attempt_prefix(invitation.attempt);
  options.rank = invitation.rank;
  options.size = invitation.size;
  return options;
}

Result<std::vector<Newcomer>> JoiningPoint::newcomers(const std::stop_token& stop) const {
  const std::string prefix = job_ + "/0/place/";
  const auto keys = store_->list(prefix, Deadline::after(request_time));
  if (!keys.ok()) return keys.status();
  std::vector<Newcomer> waiting;
  for (const std::string& key : *keys) {
    const char* const end = key.data() + key.size();
    Newcomer newcomer;
    const auto parsed = std::from_chars(key.data() + prefix.size(), end, newcomer.place);
    if (parsed.ec != std::errc() || parsed.ptr != end) continue;
    const auto text = store_->peek(key, Deadline::after(request_time));
    if (!text.ok()) return text.status();
    const auto claim = *text ? Claim::parse(**text) : std::nullopt;
    if (!claim) continue;
    newcomer.token = claim->token;
    newcomer.process = claim->process;
    const auto invitation = store_->peek(invitation_key(newcomer.token), Deadline::after(request_time));
    if (!invitation.ok()) return invitation.status();
    const auto there = *invitation ? Result<bool>(false) : is_there(newcomer, stop);
    if (!there.ok()) return there.status();
    if (*there) waiting.push_back(newcomer);
  }
  std::ranges::sort(waiting, {}, &Newcomer::place);
  return waiting;
}

Result<bool> JoiningPoint::is_there(const Newcomer& newcomer, const std::stop_token& stop) const {
  const auto own = places(newcomer.token, stop).look(0, newcomer.place, Deadline::after(request_time));
  if (!own.ok()) return own.status();
  if (own->holder != Places::Holder::this_creation) return false;
  // With its own token a newcomer is taken to be alive; whether it is shows with another one.
  const auto seen = places(~newcomer.token, stop).look(0, newcomer.place, Deadline::after(request_time));
  if (!seen.ok()) return seen.status();
  return seen->holder != Places::Holder::nobody;
}

Result<bool> JoiningPoint::invite(const Newcomer& newcomer, const Invitation& invitation) const {
  const auto before = store_->compare_and_set(invitation_key(newcomer.token), std::nullopt, invitation.serialise(),
                                              Deadline::after(request_time));
  if (!before.ok()) return before.status();
  return !before->has_value();
}

Result<Invitation> JoiningPoint::await_invitation(std::uint64_t token, Deadline deadline,
                                                  const LookAround& look_around) const {
  const auto told = store_->await(invitation_key(token), deadline, look_around);
  if (!told.ok()) return told.status();
  if (const auto invitation = Invitation::parse(*told)) return *invitation;
  return Status(Code::protocol_error,
                fmt::format("{} holds no invitation under {}", store_->url(), invitation_key(token)));
}

void JoiningPoint::remove_invitation(std::uint64_t token) const {
  (void)store_->remove(invitation_key(token), Deadline::after(request_time));
}

Status JoiningPoint::begin(std::uint64_t attempt) const {
  return store_->compare_and_set(decision_key(attempt), std::nullopt, undecided, Deadline::after(request_time))
      .status();
}

// A request that was carried out before its answer was lost finds its own word, which stands.
Result<bool> JoiningPoint::decide(std::uint64_t attempt, bool counts, Deadline deadline,
                                  const std::stop_token& stop) const {
  for (;;) {
    const auto before = store_->compare_and_set(decision_key(attempt), undecided, counts ? yes : no, deadline);
    if (before.ok()) return *before == undecided ? counts : *before == yes;
    if (before.status().code() != Code::store_unreachable) return before.status();
    (void)store_->reconnect(deadline, stop);
    if (deadline.passed() || stop.stop_requested()) return before.status();
    sleep_unless_stopped(ask_again_after, stop);  // also where it is connected: a server may refuse for a while
  }
}

Result<std::optional<bool>> JoiningPoint::decided(std::uint64_t attempt) const {
  const auto found = store_->peek(decision_key(attempt), Deadline::after(request_time));
  if (!found.ok()) return found.status();
  return *found == undecided ? std::nullopt : std::optional(*found == yes);
}

Result<bool> JoiningPoint::await_decision(std::uint64_t attempt, Deadline deadline,
                                          const LookAround& look_around) const {
  for (;;) {
    const auto found = decided(attempt);
    if (!found.ok()) return found.status();
    if (*found) return **found;
    if (deadline.passed()) return Status(Code::timeout, "nobody said in time whether a join counts");
    if (Status status = look_around(); !status.ok()) return status;
    std::this_thread::sleep_for(ask_again_after);
  }
}

// While rank 0 is there, others may still meet.
void JoiningPoint::leave(const Invitation& invitation, bool counts, const std::stop_token& stop) const {
  if (counts) {
    const auto left = store_->add(attempt_prefix(invitation.attempt) + "/left", 1, Deadline::after(request_time));
    if (left.ok() && *left == invitation.size) clear_away(invitation.attempt);
  } else if (invitation.rank == 0) {
    clear_away(invitation.attempt);
  } else {
    const auto leader =
        leader_place(invitation.attempt, random_number(), stop).look(0, 0, Deadline::after(request_time));
    if (leader.ok() && leader->holder == Places::Holder::nobody) clear_away(invitation.attempt);
  }
}

void JoiningPoint::clear_away(std::uint64_t attempt) const {
  const auto keys = store_->list(attempt_prefix(attempt) + "/", Deadline::after(request_time));
  if (!keys.ok()) return;
  for (const std::string& key : *keys) (void)store_->remove(key, Deadline::after(request_time));
}

}  // namespace hocket::comm
