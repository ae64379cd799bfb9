// A newcomer's part in joining.
#include <fmt/format.h>

#include <thread>

#include "src/base/log.hpp"
#include "src/base/random.hpp"
#include "src/base/signals_blocked.hpp"
#include "src/comm/bootstrap.hpp"
#include "src/comm/joining_point.hpp"

namespace hocket::comm {
namespace {

constexpr Rank places_max = 65536;
constexpr std::chrono::milliseconds look_every{100};
constexpr std::chrono::seconds request_time{5};

Status take_place(Places& places, Deadline deadline) {
  for (Rank place = 0; place < places_max; ++place) {
    const auto standing = places.take(0, place, deadline);
    if (!standing.ok()) return standing.status();
    if (standing->holder == Places::Holder::this_creation) return {};
  }
  return {Code::out_of_resources, fmt::format("{} newcomers wait at one joining point", places_max)};
}

Result<Invitation> be_invited(JoiningPoint& point, Places& places, const JoinRequest& request, Deadline deadline,
                              const std::stop_token& stop) {
  const std::string key = point.invitation_key(places.token());
  const auto told = point.store().await(key, deadline, [&]() -> Status {
    if (stop.stop_requested()) return {Code::aborted, "the join was given up"};
    return places.beat(deadline);
  });
  if (told.status().code() == Code::timeout) {
    return Status(Code::timeout,
                  fmt::format("nobody took this newcomer in at the joining point \"{}\" of job \"{}\" in "
                              "{}: do the members call hocket_comm_join with that point and that store?",
                              request.point, request.options.name, point.store().url()));
  }
  if (!told.ok()) return told.status();
  (void)point.store().remove(key, deadline);
  if (const auto invitation = Invitation::parse(*told)) return *invitation;
  return Status(Code::protocol_error,
                fmt::format("the store {} holds no invitation under {}", point.store().url(), key));
}

// Meets the members, unless they give the attempt up.
Result<CommunicatorParts> meet(JoiningPoint& point, Places& places, const JoinRequest& request,
                               const Invitation& invitation, const RegionTable& regions, const std::stop_token& stop) {
  std::stop_source give_up;
  const std::stop_callback passed_on(stop, [&] { give_up.request_stop(); });
  const SignalsBlocked blocked;
  const std::jthread attendant([&](const std::stop_token& met) {
    for (; !met.stop_requested(); std::this_thread::sleep_for(look_every)) {
      const auto counts = point.decided(invitation.attempt, Deadline::after(request_time));
      (void)places.beat(Deadline::after(request_time));
      if (counts.ok() && *counts == false) give_up.request_stop();
    }
  });
  return bootstrap(point.meeting(request, invitation), regions, give_up.get_token());
}

// Waits for what the members decide; a newcomer that has failed decides against it.
Result<bool> counts(JoiningPoint& point, Places& places, const Invitation& invitation, bool made, Deadline deadline,
                    const std::stop_token& stop) {
  if (!made) return point.decide(invitation.attempt, false, Deadline::after(request_time));
  for (; !deadline.passed() && !stop.stop_requested(); std::this_thread::sleep_for(look_every / 10)) {
    const auto found = point.decided(invitation.attempt, Deadline::after(request_time));
    if (!found.ok()) return found.status();
    if (*found) return **found;
    if (Status there = places.beat(deadline); !there.ok()) return there;
  }
  return point.decide(invitation.attempt, false, Deadline::after(request_time));
}

bool may_come_again_after(Code code) {
  return code == Code::peer_lost || code == Code::timeout || code == Code::aborted;
}

}  // namespace

Result<CommunicatorParts> come_in(const JoinRequest& request, const RegionTable& regions, const std::stop_token& stop) {
  const auto deadline = Deadline::after(request.timeout);
  auto point = JoiningPoint::open(request, deadline, stop);
  if (!point.ok()) return point.status();
  for (;;) {
    Places places((*point)->store(), (*point)->job(), random_number(), stop);
    if (Status taken = take_place(places, deadline); !taken.ok()) return taken;
    const auto invitation = be_invited(**point, places, request, deadline, stop);
    if (!invitation.ok()) {
      places.release(Deadline::after(request_time));
      return invitation.status();
    }
    auto parts = meet(**point, places, request, *invitation, regions, stop);
    const auto made = counts(**point, places, *invitation, parts.ok(), Deadline::after(request.options.timeout), stop);
    places.release(Deadline::after(request_time));
    if (!made.ok()) return made.status();
    if (*made && parts.ok()) {
      for (Rank rank = 0; rank < invitation->size; ++rank) {
        parts->lineage.previous_ranks.push_back(rank < invitation->members ? rank : no_rank);
      }
      return parts;
    }
    if (!parts.ok() && (*made || stop.stop_requested() || !may_come_again_after(parts.status().code()))) {
      return parts.status();
    }
    log::info(fmt::format("a newcomer waits at the joining point \"{}\" again: {}", request.point,
                          parts.ok() ? "not all members made the communicator" : parts.status().message()));
  }
}

}  // namespace hocket::comm
