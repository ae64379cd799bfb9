#include "src/comm/joining_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>

#include "src/store/callback_store.hpp"
#include "src/store/open_store.hpp"

namespace hocket::comm {

std::string Invitation::serialise() const {
  return fmt::format("{} {} {} {}", attempt, members, size, rank);
}

std::optional<Invitation> Invitation::parse(std::string_view text) {
  Invitation told;
  std::istringstream fields{std::string(text)};
  fields >> told.attempt >> told.members >> told.size >> told.rank;
  const bool sound = fields && 0 < told.members && told.members <= told.rank && told.rank < told.size;
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
  return std::unique_ptr<JoiningPoint>(
      new JoiningPoint(std::move(store), fmt::format("{}/join/{}", options.name, request.point),
                       fmt::format("\"{}\" of job \"{}\"", request.point, options.name)));
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

void JoiningPoint::vacate(Places& places, Rank place) const {
  places.release(Deadline::after(request_time));
  if (store_->claims_end_with_owner()) (void)store_->remove(places.key(0, place), Deadline::after(request_time));
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

// Where the answer is lost with the connection, it is asked for again: the first word stands.
Result<bool> JoiningPoint::decide(std::uint64_t attempt, bool counts) const {
  const auto deadline = Deadline::after(request_time);
  for (;;) {
    const auto before = store_->compare_and_set(decision_key(attempt), std::nullopt, counts ? "yes" : "no", deadline);
    if (before.ok()) return *before ? **before == "yes" : counts;
    if (before.status().code() != Code::store_unreachable || !store_->reconnect(deadline, {}).ok()) {
      return before.status();
    }
  }
}

Result<std::optional<bool>> JoiningPoint::decided(std::uint64_t attempt) const {
  const auto found = store_->peek(decision_key(attempt), Deadline::after(request_time));
  if (!found.ok()) return found.status();
  return *found ? std::optional<bool>(**found == "yes") : std::nullopt;
}

Result<bool> JoiningPoint::await_decision(std::uint64_t attempt, Deadline deadline,
                                          const LookAround& look_around) const {
  const auto found = store_->await(decision_key(attempt), deadline, look_around);
  if (!found.ok()) return found.status();
  return *found == "yes";
}

void JoiningPoint::leave(const Invitation& invitation, Rank how_many) const {
  const std::string prefix = attempt_prefix(invitation.attempt) + "/";
  const auto left = store_->add(prefix + "left", how_many, Deadline::after(request_time));
  if (!left.ok() || *left != invitation.size) return;
  const auto keys = store_->list(prefix, Deadline::after(request_time));
  if (!keys.ok()) return;
  for (const std::string& key : *keys) (void)store_->remove(key, Deadline::after(request_time));
}

}  // namespace hocket::comm
