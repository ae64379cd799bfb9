#include "src/exec/direct/announcer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/exec/direct/gpu_path.hpp"

namespace hocket {
namespace {

constexpr int polls_before_waking = 8;

}  // namespace

void WindowUse::Call::become(const Signature& call, std::uint32_t its_communicator) {
  signature = call;
  communicator = its_communicator;
  announced = AnnouncedCall(call);
  hash = Hash().add(announced.what()).add(announced.how_much()).add(call.digest).add(communicator).value();
}

std::optional<std::uint32_t> WindowUse::Call::number_behind(std::uint32_t other_digest, const Call& before) const {
  constexpr std::uint32_t farthest = 1000;
  for (std::uint32_t away = 1; away <= farthest; ++away) {
    for (const std::uint32_t number : {sequence - away, sequence + away}) {
      if (digest_after(before, number) == other_digest) return number;
    }
  }
  return std::nullopt;
}

void Announcer::begin(const Tag& tag) {
  WindowUse& use = run_.use;
  run_.turn = ++use.turn;
  const std::uint32_t communicator = tag.communicator & Announcement::communicator_max;
  use.call(run_.turn).follow(use.call(run_.turn - 1), tag.call, communicator, tag.sequence);
  next_member_ = 0;
  state_ = State::waits;
}

// ---- announcing -----------------------------------------------------------------------------------------------------

// The turn that all others must have begun before this member begins its own. A large payload slot is used again after
// two turns, so everyone must have left the one before last.
std::uint64_t Announcer::turn_before() const {
  const std::uint64_t back = run_.rule.has_payload() && !run_.rule.small_payload ? 1 : direct::run_ahead_max;
  return run_.turn > back ? run_.turn - back : 0;
}

// A member that has come as far as this one is heard up to here, so that the next look can wait.
bool Announcer::may_announce() {
  WindowUse& use = run_.use;
  const std::uint64_t before = turn_before();
  if (use.everyone_heard >= before) return true;
  for (; next_member_ < run_.members; ++next_member_) {
    if (next_member_ == run_.self || use.heard[next_member_] >= before) continue;
    if (hear(next_member_, run_.turn - 1)) continue;
    if (!run_.failure.ok() || !hear(next_member_, before)) return false;
  }
  next_member_ = 0;
  use.everyone_heard = run_.turn - 1;
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (member != run_.self) use.everyone_heard = std::min(use.everyone_heard, use.heard[member]);
  }
  return true;
}

bool Announcer::announce(Counters& counters) {
  if (!may_announce()) return false;
  Announcement& own = run_.announcements[run_.self];
  const WindowUse::Call& call = run_.use.call(run_.turn);
  own.call = call.announced;
  own.list_digest = call.signature.digest;
  own.communicator = call.communicator;
  own.digest = call.digest;
  ControlLine* const lines = &run_.lines[run_.self][direct::announcement_line(run_.turn)];
  if (run_.goes_in_line && !run_.binding.device) {
    const std::size_t bytes = run_.exchange.input_bytes(run_.self);
    own.flags = Announcement::inlined;
    own.write_with_input(lines, run_.turn, run_.binding.input, bytes);
    count_payload(bytes, counters);
  } else {
    own.flags = 0;
    own.input = own.output = {};
    if (!run_.binding.device) {
      describe_data(own, counters);
    } else if (Status offered = GpuPath::offer(run_, own); !offered.ok()) {
      run_.fail(offered);
      return false;
    }
    own.write(lines, run_.turn);
  }
  polls_to_waking_ = run_.use.setting.shares_work ? 0 : polls_before_waking;
  state_ = State::announced;
  return true;
}

void Announcer::describe_data(Announcement& own, Counters& counters) {
  const std::size_t in = run_.exchange.input_bytes(run_.self), out = run_.exchange.output_bytes(run_.self);
  const bool worth_mapping = run_.rule.worth_mapping(in, out);
  if (worth_mapping) {
    if (in != 0) own.input = run_.window().locate(run_.binding.input, in);
    if (out != 0) own.output = run_.window().locate(run_.binding.output, out);
  }
  const bool located = (in == 0 || own.input.region != 0) && (out == 0 || own.output.region != 0);
  if (worth_mapping && located) own.flags |= Announcement::mapped;
  if (run_.rule.plain) {
    own.flags |= Announcement::plain;
    own.input_at = reinterpret_cast<std::uintptr_t>(run_.binding.input);
    own.output_at = reinterpret_cast<std::uintptr_t>(run_.binding.output);
  } else if (run_.rule.has_payload() && (own.flags & Announcement::mapped) == 0) {
    put_payload(own, counters);
  }
}

// Puts this member's input, which is too long for the line, where the others can read it.
void Announcer::put_payload(Announcement& own, Counters& counters) {
  const std::size_t bytes = run_.exchange.input_bytes(run_.self);
  own.flags |= Announcement::staged;
  if (bytes != 0) std::memcpy(run_.payload_slot(run_.self), run_.binding.input, bytes);
  count_payload(bytes, counters);
}

void Announcer::count_payload(std::size_t bytes, Counters& counters) {
  counters.steps += 1;
  counters.bytes_sent += bytes;
}

void Announcer::settle_waking() {
  if (polls_to_waking_ >= 0) run_.window().wake_others();
  polls_to_waking_ = -1;
}

void Announcer::withdraw() {
  if (!announced()) return;
  run_.word(run_.self, direct::announcement_line(run_.turn)).store(direct::withdrawn, std::memory_order_release);
}

// ---- hearing the others ---------------------------------------------------------------------------------------------

// Whether this member needs another one's data, or its word that it has begun.
bool Announcer::needs(std::uint32_t member) const {
  if (!run_.rule.one_way) return true;
  return run_.exchange.collective().is_from_root() ? member == run_.exchange.root() : run_.self == run_.exchange.root();
}

bool Announcer::hear_all() {
  for (; next_member_ < run_.members; ++next_member_) {
    if (next_member_ == run_.self || !needs(next_member_) || hear(next_member_, run_.turn)) continue;
    if (polls_to_waking_ >= 0 && polls_to_waking_-- == 0) run_.window().wake_others();
    return false;
  }
  if (!run_.rule.one_way) run_.use.everyone_heard = run_.turn;
  settle_waking();
  state_ = State::heard_all;
  return true;
}

// Reads and checks what `member` has announced as its turn `turn`, and with it all that it called before. False: it
// does not stand there yet, or something was wrong.
bool Announcer::hear(std::uint32_t member, std::uint64_t turn) {
  const ControlLine* lines = &run_.lines[member][direct::announcement_line(turn)];
  const std::uint64_t told = lines->words[0].load(std::memory_order_acquire);
  if (told < turn || told == direct::withdrawn) return false;
  Announcement& theirs = run_.announcements[member];
  theirs.read(lines);
  const WindowUse::Call& mine = run_.use.call(turn);
  if (theirs.call != mine.announced || theirs.digest != mine.digest) {
    find_mismatch(member, turn);
    return false;
  }
  run_.use.heard[member] = turn;
  return true;
}

// Fails with the first of the calls up to `turn` that differs.
void Announcer::find_mismatch(std::uint32_t member, std::uint64_t turn) {
  WindowUse& use = run_.use;
  std::uint64_t at = use.heard[member];
  Announcement& theirs = run_.announcements[member];
  do {
    theirs.read(&run_.lines[member][direct::announcement_line(++at)]);
  } while (at < turn && theirs.call == use.call(at).announced && theirs.digest == use.call(at).digest);
  const WindowUse::Call& mine = use.call(at);
  const Rank rank = run_.window().rank_of(member), here = run_.window().rank_of(run_.self);
  const auto on = [&](std::uint32_t communicator) {
    if (theirs.communicator == mine.communicator || use.names == nullptr) return std::string();
    return " on " + use.names->describe_communicator(communicator, rank);
  };
  const Signature call = theirs.call.signature(theirs.list_digest);
  std::string numbers;
  if (theirs.call == mine.announced && call.digest == mine.signature.digest &&
      theirs.communicator == mine.communicator) {
    const auto number = mine.number_behind(theirs.digest, use.call(at - 1));
    numbers = number ? fmt::format("; these are calls number {} and {}", *number, mine.sequence)
                     : "; these are calls of different numbers";
    numbers += ": all ranks must make the same calls in the same order";
  }
  run_.fail(Status(
      Cause{.code = Code::mismatch,
            .message = fmt::format("rank {} called {}{} while rank {} called {}{}{}{}", rank, describe(call),
                                   on(theirs.communicator), here, describe(mine.signature), on(mine.communicator),
                                   at == run_.turn ? "" : fmt::format(", {} calls ago", run_.turn - at), numbers),
            .peer = rank,
            .operation = {}}));
}

Announced Announcer::common() const {
  std::uint32_t all = ~std::uint32_t{0};
  bool payloads = true;
  for (const Announcement& announcement : run_.announcements) {
    all &= announcement.flags;
    payloads &= (announcement.flags & (Announcement::inlined | Announcement::staged)) != 0;
  }
  return {.payloads = payloads,
          .mapped = (all & Announcement::mapped) != 0,
          .plain = (all & Announcement::plain) != 0,
          .gpu = (all & Announcement::device) != 0 && GpuPath::are_joined(run_)};
}

bool Announcer::someone_has_withdrawn() const {
#ifndef __SANITIZE_THREAD__                             // which knows no fences
  std::atomic_thread_fence(std::memory_order_acquire);  // not before what was read until now
#endif
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    const auto& turn = run_.word(member, direct::announcement_line(run_.turn));
    if (turn.load(std::memory_order_relaxed) == direct::withdrawn) return true;
  }
  return false;
}

// ---- who is missing -------------------------------------------------------------------------------------------------

bool Announcer::has_announced(std::uint32_t member, std::uint64_t turn) const {
  return run_.word(member, direct::announcement_line(turn)).load(std::memory_order_acquire) >= turn;
}

// Who has announced and left has also finished.
bool Announcer::has_come(Rank peer, std::uint64_t turns_later) const {
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (run_.window().rank_of(member) == peer) return has_announced(member, run_.turn + turns_later);
  }
  return true;
}

// Whether this member waits for an announcement of that one.
bool Announcer::is_awaited(std::uint32_t member) const {
  if (!announced()) return !has_announced(member, turn_before());
  return needs(member) && !has_announced(member, run_.turn);
}

Operation::Missing Announcer::missing(const std::function<bool(std::uint32_t member)>& has_done_its_part) const {
  Operation::Missing missing;
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (member == run_.self) continue;
    if (state_ == State::heard_all ? has_done_its_part(member) : !is_awaited(member)) continue;
    missing.peers.push_back(run_.window().rank_of(member));
    missing.text += fmt::format("{} rank {}", missing.text.empty() ? "waiting for" : ",", missing.peers.back());
  }
  if (missing.text.empty()) missing.text = "waiting for ranks that have begun but not finished their part";
  return missing;
}

}  // namespace hocket
