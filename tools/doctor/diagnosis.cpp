#include "tools/doctor/diagnosis.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <span>

#include "tools/doctor/clocks.hpp"
#include "tools/doctor/latecomers.hpp"
#include "tools/doctor/process.hpp"
#include "tools/doctor/waits.hpp"

namespace hocket::doctor {
namespace {

// A rank that writes so much later than the others of a broken group was not there to hear of it.
constexpr double absent_seconds = 1.0;
constexpr std::size_t listed_max = 16;  // ranks in a sentence

std::string number_of(const Call& call) {
  return call.number == 0 && call.is_message() ? "" : fmt::format(" number {}", call.number);
}

std::string with(const Call& call) {
  if (!call.is_message() || call.peer == no_rank) return "";
  return fmt::format(" {} rank {}", call.kind == "send" ? "to" : "from", call.peer);
}

std::string name_of(const Call& call) {
  return fmt::format("{}{}{}", call.text, with(call), number_of(call));
}

// The cause that says most: what a rank did, then a death, then a deadline that passed.
const RecordedCause* cause_of(const Group& group) {
  const RecordedCause* best = nullptr;
  const auto place = [](const RecordedCause& cause) {
    return cause.code == "HOCKET_TIMEOUT" ? 2 : cause.code == "HOCKET_PEER_LOST" ? 1 : 0;
  };
  for (const auto& [rank, record] : group.records) {
    if (record.cause && (best == nullptr || place(*record.cause) < place(*best))) best = &*record.cause;
  }
  return best;
}

// ---- another call ---------------------------------------------------------------------------------------------------

struct Difference {
  std::map<std::string, std::vector<Rank>> callers;  // by what they called
  std::uint32_t number = 0;
};

// The first call of a communicator that is not the same on all ranks which have made it.
std::optional<Difference> first_difference(const Group& group) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, Difference> calls;
  for (const auto& [rank, record] : group.records) {
    for (const Call& call : record.calls) {
      if (call.is_message()) continue;
      Difference& same = calls[{call.communicator, call.number}];
      same.number = call.number;
      same.callers[fmt::format("{}{}", call.text, call.kind == "split" ? " for a split" : "")].push_back(rank);
    }
  }
  for (auto& [key, call] : calls) {
    if (call.callers.size() > 1) return call;
  }
  return std::nullopt;
}

std::string join(const std::vector<Rank>& ranks) {
  const auto listed = std::span(ranks).first(std::min(ranks.size(), listed_max));
  const std::string more = ranks.size() > listed_max ? fmt::format(" and {} more", ranks.size() - listed_max) : "";
  return fmt::format("{} {}{}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(listed, ", "), more);
}

Diagnosis of_mismatch(const Group& group, const RecordedCause& cause) {
  const auto difference = first_difference(group);
  if (!difference) {
    return {"mismatch", cause.peer, fmt::format("Two ranks made calls that do not fit together: {}.", cause.message)};
  }
  const auto few = std::ranges::min_element(difference->callers, {}, [](const auto& one) { return one.second.size(); });
  const auto many =
      std::ranges::max_element(difference->callers, {}, [](const auto& one) { return one.second.size(); });
  const bool even = few->second.size() == many->second.size();
  const auto other = even ? std::next(difference->callers.begin()) : many;
  const auto& odd = even ? *difference->callers.begin() : *few;
  return {"another call", odd.second.size() == 1 && !even ? odd.second.front() : cause.peer,
          fmt::format("Call number {} was not the same on all ranks: {} called {}, {} called {}.", difference->number,
                      join(odd.second), odd.first, join(other->second), other->first)};
}

// ---- ranks that are gone --------------------------------------------------------------------------------------------

Diagnosis of_lost(const Group& group, const RecordedCause& cause) {
  const Rank rank = cause.peer;
  if (cause.message.find("has left the ") != std::string::npos) {
    return {"left", rank,
            fmt::format("Rank {} destroyed its communicator while others still needed it in {}.", rank,
                        cause.operation.empty() ? "a call" : cause.operation)};
  }
  const ProcessState state = state_of(group, rank);
  const std::string in =
      cause.operation.empty() ? "" : fmt::format(" while rank {} was in {}", cause.rank, cause.operation);
  if (state.kind == ProcessState::Kind::unseen || state.kind == ProcessState::Kind::ended) {
    return {"dead", rank, fmt::format("Rank {} died first{}{}: {}", rank, state.describe_process(), in, cause.message)};
  }
  return {"out of reach", rank,
          fmt::format("Rank {}{} was lost although its process {}: {}", rank, state.describe_process(),
                      state.kind == ProcessState::Kind::stopped ? "is only stopped" : "still runs", cause.message)};
}

// ---- ranks that others wait for -------------------------------------------------------------------------------------

Diagnosis without_record(const Group& group, const Blocked& blocked) {
  const ProcessState state = state_of(group, blocked.culprit);
  const std::string rest = fmt::format("; rank {} has waited for it for {:.1f} s in {}", blocked.waiter->rank,
                                       blocked.wait->seconds, name_of(blocked.wait->call));
  const std::string who = fmt::format("Rank {}{}", blocked.culprit, state.describe_process());
  switch (state.kind) {
    case ProcessState::Kind::stopped:
      return {"stopped", blocked.culprit, who + " is stopped, by a signal or a debugger" + rest + "."};
    case ProcessState::Kind::ended: return {"dead", blocked.culprit, who + " has ended" + rest + "."};
    case ProcessState::Kind::runs:
      return {"silent", blocked.culprit, who + " runs but has written no record" + rest + "."};
    case ProcessState::Kind::unseen: break;
  }
  return {"silent", blocked.culprit, who + " has written no record: it is dead, stopped or out of reach" + rest + "."};
}

Diagnosis in_message(const Blocked& blocked, const Record& culprit) {
  const Call& call = blocked.wait->call;
  const bool receives = call.kind == "receive";
  std::uint32_t made = 0;
  for (const Call& theirs : culprit.calls) {
    const bool other_end = theirs.kind == (receives ? "send" : "receive");
    if (other_end && theirs.peer == blocked.waiter->rank) made = std::max(made, theirs.number);
  }
  if (made >= call.number) {
    return {"slow", culprit.rank,
            fmt::format("Rank {} is late: rank {} has waited for {:.1f} s in {}.", culprit.rank, blocked.waiter->rank,
                        blocked.wait->seconds, name_of(call))};
  }
  return {
      receives ? "no message" : "no receive", culprit.rank,
      fmt::format("Rank {} has waited for {:.1f} s in {}, which rank {} never {}: it has made {} of the other end's "
                  "calls.",
                  blocked.waiter->rank, blocked.wait->seconds, call.text + with(call), culprit.rank,
                  receives ? "sent" : "received", made)};
}

Diagnosis of_blocked(const Group& group, const Blocked& blocked);

// The culprit has a record: what did it do in place of what is awaited?
Diagnosis with_record(const Group& group, const Blocked& blocked, const Record& culprit) {
  const Call& call = blocked.wait->call;
  if (call.is_message()) return in_message(blocked, culprit);
  const auto clocks = align_clocks(group);
  const auto seconds = [&](const Record& one, std::int64_t at) {
    return static_cast<double>(at + clocks.at(one.rank).nanoseconds) / 1e9;
  };
  const Call* const awaited = blocked.waiter->collective(call.communicator, call.number);
  const Call* const made = culprit.collective(call.communicator, call.number);
  const double behind =
      seconds(culprit, culprit.steady) - seconds(*blocked.waiter, blocked.waiter->steady);  // in writing the record
  if (culprit.reason == "broken" && behind > absent_seconds) {
    return {
        "stopped", culprit.rank,
        fmt::format("Rank {} stood still: it heard {:.1f} s later than rank {} that the group broke, which had waited "
                    "for it for {:.1f} s in {}.",
                    culprit.rank, behind, blocked.waiter->rank, blocked.wait->seconds, name_of(call))};
  }
  if (made != nullptr && !made->ended && culprit.waits.empty()) {
    // It is in the call, and has not told yet for whom it waits there itself, if it does.
    const Rank absent = yet_to_come(group, *blocked.waiter, call);
    if (absent != no_rank) return of_blocked(group, {blocked.waiter, blocked.wait, absent});
  }
  if (made != nullptr) {
    // One that is through with the call was only waited for because it waited itself.
    const Record& last = made->ended ? last_to_begin(group, call) : culprit;
    const double late = awaited != nullptr ? seconds(last, last.collective(call.communicator, call.number)->began) -
                                                 seconds(*blocked.waiter, awaited->began)
                                           : 0;
    return {"slow", last.rank,
            fmt::format("Rank {} was slow: it began {} {:.3f} s after rank {}, which has waited for it for {:.1f} s.",
                        last.rank, name_of(call), std::max(late, 0.0), blocked.waiter->rank, blocked.wait->seconds)};
  }
  const auto communicator = culprit.communicators.find(call.communicator);
  const Call* const last = last_ended(culprit);
  if (is_past(culprit, call)) {
    return {
        "ahead", culprit.rank,
        fmt::format("Rank {} is at call number {}, long past {}, in which rank {} has waited for {:.1f} s: it needed "
                    "nothing of that rank, made another call, or wrote its record later.",
                    culprit.rank, last->number, name_of(call), blocked.waiter->rank, blocked.wait->seconds)};
  }
  if (communicator != culprit.communicators.end() && communicator->second.calls >= call.number) {
    return {
        "queued", culprit.rank,
        fmt::format("Rank {} has called {}, but the call waits for others before it; rank {} has waited for {:.1f} s.",
                    culprit.rank, name_of(call), blocked.waiter->rank, blocked.wait->seconds)};
  }
  const std::string before =
      last == nullptr ? "it has made no call before" : fmt::format("its last call was {}", name_of(*last));
  return {"never started", culprit.rank,
          fmt::format("Rank {} never called {}, in which rank {} has waited for {:.1f} s; {}.", culprit.rank,
                      name_of(call), blocked.waiter->rank, blocked.wait->seconds, before)};
}

Diagnosis of_blocked(const Group& group, const Blocked& blocked) {
  const Record* const culprit = group.of(blocked.culprit);
  return culprit == nullptr ? without_record(group, blocked) : with_record(group, blocked, *culprit);
}

// Each rank that somebody waits for waits itself, but in no plain circle.
Diagnosis all_wait(const Group& group, const Blocked& blocked) {
  std::vector<std::string> parts;
  for (const auto& [rank, record] : group.records) {
    const auto begun = std::ranges::find_if(record.waits, &Wait::begun);
    if (begun != record.waits.end()) parts.push_back(fmt::format("rank {} in {}", rank, name_of(begun->call)));
  }
  return {"deadlock", blocked.waiter->rank, fmt::format("Ranks wait for each other: {}.", fmt::join(parts, ", "))};
}

Diagnosis of_waits(const Group& group, Rank suspected) {
  if (const auto circle = circle_of_waits(group); !circle.empty()) {
    std::vector<std::string> parts;
    for (const Rank rank : circle) {
      parts.push_back(fmt::format("rank {} in {}", rank, name_of(group.of(rank)->waits.front().call)));
    }
    return {"deadlock", circle.front(),
            fmt::format("{} wait for each other: {}.", circle.size() == 1 ? "A rank waits for itself" : "Ranks",
                        fmt::join(parts, ", "))};
  }
  const auto blocked = find_blocked(group, suspected);
  if (!blocked) return {"unclear", suspected, "No record says which call waits, or for whom."};
  if (blocked->wait->call.kind == "receive" && blocked->wait->call.peer == no_rank) {
    return {"no message", blocked->waiter->rank,
            fmt::format("Rank {} has waited for {:.1f} s in {} from any rank, which nobody sent.",
                        blocked->waiter->rank, blocked->wait->seconds, blocked->wait->call.text)};
  }
  return blocked->culprit == no_rank ? all_wait(group, *blocked) : of_blocked(group, *blocked);
}

// ---- nothing broke --------------------------------------------------------------------------------------------------

Diagnosis of_working(const Group& group) {
  const auto waits = [](const auto& entry) { return !entry.second.waits.empty(); };
  if (std::ranges::any_of(group.records, waits)) return of_waits(group, no_rank);
  const auto missing = group.without_record();
  if (!missing.empty()) {
    return {"nothing", no_rank, fmt::format("Nothing waits, but {} wrote no record.", join(missing))};
  }
  return {"nothing", no_rank, fmt::format("Nothing broke and nothing waits{}.", latecomer(group))};
}

}  // namespace

Diagnosis diagnose(const Group& group) {
  const RecordedCause* const cause = cause_of(group);
  if (cause == nullptr) return of_working(group);
  if (cause->code == "HOCKET_MISMATCH") return of_mismatch(group, *cause);
  if (cause->code == "HOCKET_PEER_LOST") return of_lost(group, *cause);
  if (cause->code == "HOCKET_TIMEOUT") {
    if (first_difference(group)) return of_mismatch(group, *cause);
    Diagnosis found = of_waits(group, cause->peer);
    if (found.kind == "unclear") found.sentence += " The cause was: " + cause->message + ".";
    return found;
  }
  if (cause->code == "HOCKET_ABORTED") {
    return {"aborted", cause->rank, fmt::format("Rank {} ended it: {}.", cause->rank, cause->message)};
  }
  return {"failed", cause->rank, fmt::format("Rank {} failed first: {}.", cause->rank, cause->message)};
}

}  // namespace hocket::doctor
