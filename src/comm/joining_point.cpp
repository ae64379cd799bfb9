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
      new JoiningPoint(std::move(store), fmt::format("{}/join/{}", options.name, request.point)));
}

std::string JoiningPoint::invitation_key(std::uint64_t token) const {
  return fmt::format("{}/invitation/{}", job_, token);
}

std::string JoiningPoint::attempt_key(std::uint64_t attempt) const {
  return fmt::format("{}/{}/counts", job_, attempt);
}

Options JoiningPoint::meeting(const JoinRequest& request, const Invitation& invitation) const {
  Options options = request.options;
  options.name = fmt::format("{}/{}", job_, invitation.attempt);
  options.rank = invitation.rank;
  options.size = invitation.size;
  return options;
}

Result<std::vector<Newcomer>> JoiningPoint::newcomers(Deadline deadline, const std::stop_token& stop) {
  const std::string prefix = job_ + "/0/place/";
  const auto keys = store_->list(prefix, deadline);
  if (!keys.ok()) return keys.status();
  std::vector<Newcomer> there;
  for (const std::string& key : *keys) {
    const char* const end = key.data() + key.size();
    Newcomer newcomer;
    const auto parsed = std::from_chars(key.data() + prefix.size(), end, newcomer.place);
    if (parsed.ec != std::errc() || parsed.ptr != end) continue;
    const auto text = store_->peek(key, deadline);
    if (!text.ok()) return text.status();
    const auto claim = *text ? Claim::parse(**text) : std::nullopt;
    if (!claim) continue;
    newcomer.token = claim->token;
    const auto stands = is_there(newcomer, deadline, stop);
    if (!stands.ok()) return stands.status();
    if (*stands) there.push_back(newcomer);
  }
  std::ranges::sort(there, {}, &Newcomer::place);
  return there;
}

Result<bool> JoiningPoint::is_there(const Newcomer& newcomer, Deadline deadline, const std::stop_token& stop) {
  const Places places(*store_, job_, newcomer.token, stop);
  const auto standing = places.look(0, newcomer.place, deadline);
  if (!standing.ok()) return standing.status();
  if (standing->holder == Places::Holder::nobody) return false;
  // `this_creation`: the one that these places are named for. Whether its process lives is a stranger's question.
  const Places strangers(*store_, job_, ~newcomer.token, stop);
  const auto seen = strangers.look(0, newcomer.place, deadline);
  if (!seen.ok()) return seen.status();
  return standing->holder == Places::Holder::this_creation && seen->holder != Places::Holder::nobody;
}

Result<bool> JoiningPoint::decide(std::uint64_t attempt, bool made, Deadline deadline) {
  const auto before = store_->compare_and_set(attempt_key(attempt), std::nullopt, made ? "yes" : "no", deadline);
  if (!before.ok()) return before.status();
  return *before ? **before == "yes" : made;
}

Result<std::optional<bool>> JoiningPoint::decided(std::uint64_t attempt, Deadline deadline) {
  const auto found = store_->peek(attempt_key(attempt), deadline);
  if (!found.ok()) return found.status();
  return *found ? std::optional<bool>(**found == "yes") : std::nullopt;
}

}  // namespace hocket::comm
