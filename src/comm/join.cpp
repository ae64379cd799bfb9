// The members' part in joining.
#include "src/comm/join.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "src/base/failure_code.hpp"
#include "src/base/log.hpp"
#include "src/base/random.hpp"
#include "src/base/signals_blocked.hpp"
#include "src/base/sized_struct.hpp"
#include "src/comm/bootstrap.hpp"
#include "src/comm/joining_point.hpp"

namespace hocket::comm {
namespace {

constexpr std::chrono::milliseconds look_every{20};
constexpr std::chrono::seconds request_time{5};

// What members tell each other.
struct Word {
  int code = 0;  // of a failure
  Rank newcomers = 0;
  std::uint64_t attempt = 0;
  std::array<char, 496> message{};

  static Word failed(const Status& why) {
    Word word{.code = static_cast<int>(why.code())};
    why.message().copy(word.message.data(), word.message.size() - 1);
    return word;
  }
  Status status() const {
    if (code == 0) return {};
    return {is_failure(code) ? static_cast<Code>(code) : Code::protocol_error, message.data()};
  }
};

class TakingIn {
 public:
  TakingIn(const Members& members, const JoinRequest& request, const std::stop_token& stop)
      : members_(members), request_(request), stop_(stop) {}

  Result<std::optional<CommunicatorParts>> run();

 private:
  const Membership& membership() const { return members_.parts.membership; }
  bool leads() const { return membership().rank() == 0; }
  Status broken() const { return members_.parts.link_set->executor().broken(); }
  Result<std::vector<Word>> tell(const Word& mine) const;
  Status open();
  Word choose();
  Status wait_for_newcomers();
  Result<CommunicatorParts> make(const Word& chosen);
  void attend(const std::stop_token& made, std::stop_source& give_up);
  bool counts(std::uint64_t attempt, bool made);

  const Members& members_;
  const JoinRequest& request_;
  const std::stop_token& stop_;
  const Deadline deadline_ = Deadline::after(request_.timeout);
  std::unique_ptr<JoiningPoint> point_;
  std::vector<Newcomer> chosen_;  // rank 0
};

// Rank 0 may be waiting for newcomers meanwhile.
Result<std::vector<Word>> TakingIn::tell(const Word& mine) const {
  std::vector<Word> all(static_cast<std::size_t>(membership().size()));
  all[static_cast<std::size_t>(membership().rank())] = mine;
  const auto deadline = Deadline::after(request_.timeout + membership().options().timeout);
  if (Status status = members_.allgather(std::as_writable_bytes(std::span(all)), deadline); !status.ok()) return status;
  return all;
}

Status TakingIn::open() {
  if (point_) return {};
  auto point = JoiningPoint::open(request_, deadline_, stop_);
  if (point.ok()) point_ = std::move(*point);
  return point.status();
}

Status TakingIn::wait_for_newcomers() {
  if (Status opened = open(); !opened.ok()) return opened;
  for (;;) {
    auto there = point_->newcomers(Deadline::after(request_time), stop_);
    if (!there.ok()) return there.status();
    chosen_ = std::move(*there);
    if (chosen_.size() >= static_cast<std::size_t>(request_.newcomers_min)) break;
    if (deadline_.passed() || stop_.stop_requested()) {
      return {Code::timeout,
              fmt::format("{} of {} newcomers came to the joining point \"{}\" of job \"{}\" in {}", chosen_.size(),
                          request_.newcomers_min, request_.point, request_.options.name, point_->store().url())};
    }
    members_.parts.link_set->look_at_links();
    if (Status status = broken(); !status.ok()) return status;
    std::this_thread::sleep_for(look_every);
  }
  chosen_.resize(std::min(chosen_.size(), static_cast<std::size_t>(request_.newcomers_max)));
  return {};
}

// Rank 0's word on who is to join. The others have nothing to say.
Word TakingIn::choose() {
  if (!leads()) return {};
  if (Status came = wait_for_newcomers(); !came.ok()) return Word::failed(came);
  const Word word{.newcomers = static_cast<Rank>(chosen_.size()), .attempt = random_number()};
  Invitation invitation{.attempt = word.attempt, .members = membership().size()};
  invitation.size = invitation.members + word.newcomers;
  for (invitation.rank = invitation.members; invitation.rank < invitation.size; ++invitation.rank) {
    const Newcomer& newcomer = chosen_[static_cast<std::size_t>(invitation.rank - invitation.members)];
    const Status told = point_->store().set(point_->invitation_key(newcomer.token), invitation.serialise(),
                                            Deadline::after(request_time));
    if (!told.ok()) return Word::failed(told);
  }
  return word;
}

// While this rank meets the others in the store, nothing there tells that one of them is gone.
void TakingIn::attend(const std::stop_token& made, std::stop_source& give_up) {
  for (; !made.stop_requested(); std::this_thread::sleep_for(look_every)) {
    members_.parts.link_set->look_at_links();
    const bool all_there = std::ranges::all_of(chosen_, [&](const Newcomer& newcomer) {
      const auto there = point_->is_there(newcomer, Deadline::after(request_time), made);
      return !there.ok() || *there;
    });
    if (!broken().ok() || !all_there) give_up.request_stop();
  }
}

Result<CommunicatorParts> TakingIn::make(const Word& chosen) {
  if (Status opened = open(); !opened.ok()) return opened;
  std::stop_source give_up;
  const std::stop_callback passed_on(stop_, [&] { give_up.request_stop(); });
  const SignalsBlocked blocked;
  const std::jthread attendant([&](const std::stop_token& made) { attend(made, give_up); });
  const Invitation mine{.attempt = chosen.attempt,
                        .members = membership().size(),
                        .size = membership().size() + chosen.newcomers,
                        .rank = membership().rank()};
  return bootstrap(point_->meeting(request_, mine), *members_.regions, give_up.get_token());
}

// Whether the attempt counts, on all members and newcomers alike: a member that cannot learn what rank 0 decided asks
// the store, where the first word stands.
bool TakingIn::counts(std::uint64_t attempt, bool made) {
  const auto all = tell(Word{.newcomers = made ? 1 : 0});
  const bool all_made = all.ok() && std::ranges::all_of(*all, [](const Word& word) { return word.newcomers == 1; });
  Word mine;
  if (leads()) {
    const auto decided =
        point_ ? point_->decide(attempt, all_made, Deadline::after(request_time)) : Result<bool>(false);
    mine.newcomers = decided.ok() && *decided ? 1 : 0;
  }
  const auto told = tell(mine);
  if (told.ok()) return (*told)[0].newcomers == 1;
  if (leads() || !point_) return mine.newcomers == 1;
  const auto decided = point_->decide(attempt, false, Deadline::after(request_time));
  return decided.ok() && *decided;
}

Result<std::optional<CommunicatorParts>> TakingIn::run() {
  const std::stop_callback abort_on_stop(
      stop_, [&] { members_.parts.link_set->abort(*members_.parts.context, "a join was given up"); });
  for (;;) {
    const auto told = tell(choose());
    if (!told.ok()) return told.status();
    const Word& chosen = told->front();
    if (Status status = chosen.status(); !status.ok()) return status;
    if (chosen.newcomers == 0) return std::optional<CommunicatorParts>();
    auto parts = make(chosen);
    if (counts(chosen.attempt, parts.ok())) {
      if (!parts.ok()) return parts.status();
      for (Rank rank = 0; rank < membership().size() + chosen.newcomers; ++rank) {
        parts->lineage.previous_ranks.push_back(rank < membership().size() ? rank : no_rank);
      }
      return std::optional<CommunicatorParts>(std::move(*parts));
    }
    if (Status status = broken(); !status.ok()) return status;
    log::info(fmt::format("rank {} of \"{}\" waits for newcomers again: {}", membership().rank(), membership().name(),
                          parts.ok() ? "another rank could not join" : parts.status().message()));
  }
}

Status check(const hocket_join_options& given) {
  const auto wrong = [](const char* field, std::int64_t value, const char* rule) {
    return Status(Code::invalid_argument, fmt::format("join.{} is {}; it must be {}", field, value, rule));
  };
  if (given.timeout_ms < 0) return wrong("timeout_ms", given.timeout_ms, "positive, or 0 for the default");
  if (given.newcomers_min < 0) return wrong("newcomers_min", given.newcomers_min, "0 or more");
  if (given.newcomers_max < 0 || (given.newcomers_max > 0 && given.newcomers_max < given.newcomers_min)) {
    return wrong("newcomers_max", given.newcomers_max, "at least newcomers_min, or 0 for that");
  }
  if (given.newcomers_min == 0 && given.newcomers_max == 0) {
    return {Code::invalid_argument, "join.newcomers_min and join.newcomers_max are both 0: nobody could join"};
  }
  if (given.point != nullptr && (*given.point == '\0' || std::string_view(given.point).size() > 128)) {
    return {Code::invalid_argument, "join.point must have 1 … 128 characters"};
  }
  return {};
}

}  // namespace

Result<JoinRequest> join_request(const hocket_join_options* join, const hocket_comm_options* options,
                                 std::optional<Rank> rank) {
  const hocket_join_options usual = HOCKET_JOIN_OPTIONS_INIT;
  const auto given = read_sized(join == nullptr ? &usual : join);
  if (!given) {
    return Status(Code::invalid_argument, "join.struct_size is wrong: begin with HOCKET_JOIN_OPTIONS_INIT");
  }
  if (Status sound = check(*given); !sound.ok()) return sound;
  const hocket_comm_options nothing = HOCKET_COMM_OPTIONS_INIT;
  auto copy = read_sized(options == nullptr ? &nothing : options);
  if (!copy) {
    return Status(Code::invalid_argument, "options.struct_size is wrong: begin with HOCKET_COMM_OPTIONS_INIT");
  }
  copy->world_size = 2;  // how many there will be is not known yet, but more than one
  copy->rank = rank == 0 ? 0 : 1;
  auto resolved = resolve_options(&*copy);
  if (!resolved.ok()) return resolved.status();
  if (resolved->store.empty() && !resolved->callbacks) {
    return Status(Code::invalid_environment,
                  "joining needs a store that does not end with a rank: start hocket-store and set HOCKET_STORE or "
                  "options.store to its address");
  }
  return JoinRequest{.options = *resolved,
                     .timeout = given->timeout_ms > 0 ? timeout_of(given->timeout_ms) : resolved->timeout,
                     .newcomers_min = given->newcomers_min,
                     .newcomers_max = std::max(given->newcomers_min, given->newcomers_max),
                     .point = given->point == nullptr ? "default" : given->point};
}

Result<std::optional<CommunicatorParts>> take_in(const Members& members, const JoinRequest& request,
                                                 const std::stop_token& stop) {
  return TakingIn(members, request, stop).run();
}

}  // namespace hocket::comm
