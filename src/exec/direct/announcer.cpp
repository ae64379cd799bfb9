#include "src/exec/direct/announcer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/exec/direct/gpu_path.hpp"

namespace hocket {
namespace {

struct Stretch {
  std::size_t from = 0, until = 0;
};

// Whether an input is cut into blocks, each for one member.
bool gives_blocks(const Exchange& exchange) {
  return !exchange.collective().is_vector() && exchange.collective().input.held != Held::own_chunk;
}

// Whether these may be stored past the caches.
bool gives_long_blocks(const Exchange& exchange) {
  return gives_blocks(exchange) && exchange.block_bytes() >= SharedCopy::long_copy_min;
}

// What of its input a member alone takes on the one-shot path.
Stretch kept_of_input(const Exchange& exchange, std::uint32_t member) {
  const bool is_last_of_prefix = exchange.collective().is_prefix() && member + 1 == exchange.members();
  if (is_last_of_prefix || (exchange.only_root_takes() && member == exchange.root())) {
    return {0, exchange.input_bytes(member)};
  }
  if (!gives_blocks(exchange)) return {};
  const std::size_t from = exchange.input_offset(member);
  return {from, from + exchange.block_bytes(member)};
}

}  // namespace

std::optional<std::uint32_t> ComparedCall::number_behind(std::uint32_t digest, std::uint32_t before,
                                                         std::uint32_t number) const {
  constexpr std::uint32_t farthest = 1000;
  for (std::uint32_t away = 1; away <= farthest; ++away) {
    for (const std::uint32_t other : {number - away, number + away}) {
      if (digest_after(before, other) == digest) return other;
    }
  }
  return std::nullopt;
}

// ---- announcing -----------------------------------------------------------------------------------------------------

// Who is as far ahead as may be looks mostly whether the others have come a quarter of the way nearer: then it need not
// look again for a while, and takes no lines from those who write them.
bool Announcer::may_announce_now() {
  const std::uint64_t before = turn_before();
  if (hear_of(before + (run_.turn - 1 - before) / 4)) return true;
  return run_.failure.ok() && ++looks_ % looks_per_near_look == 0 && hear_of(before);
}

// Whether all others have begun the turn `before`. One that has come as far as this member, or half as far as it must,
// is heard up to there, so that the next look can wait.
bool Announcer::hear_of(std::uint64_t before) {
  WindowUse& use = run_.use;
  const std::uint64_t latest = run_.turn - 1;
  for (next_member_ = 0; next_member_ < run_.members; ++next_member_) {
    if (next_member_ == run_.self || use.heard[next_member_] >= before) continue;
    bool heard = false;
    for (const std::uint64_t turn : {latest, before + (latest - before) / 2, before}) {
      heard = has_called_alike(next_member_, turn);
      if (heard) break;
      if (!run_.failure.ok()) return false;
    }
    if (!heard) return false;
  }
  use.everyone_heard = latest;
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (member != run_.self) use.everyone_heard = std::min(use.everyone_heard, use.heard[member]);
  }
  return true;
}

// What is no payload in the line.
bool Announcer::announce_data(Counters& counters) {
  Announcement& own = run_.announcements[run_.self];
  own.flags = 0;
  own.input = own.output = {};
  if (!run_.binding.device) {
    if (!describe_data(own, counters)) return false;
  } else if (Status offered = GpuPath::offer(run_, own); !offered.ok()) {
    run_.fail(offered);
    return false;
  }
  own.write(run_.announcement_of(run_.self, run_.turn), run_.compared, run_.use.digest);
  ask_for_line();
  payloads_ = own.has_payload();
  return true;
}

// False: there is no room for it yet.
bool Announcer::describe_data(Announcement& own, Counters& counters) {
  const std::size_t in = run_.exchange.input_bytes(run_.self), out = run_.exchange.output_bytes(run_.self);
  const bool worth_mapping = run_.rule.worth_mapping(in, out);
  if (worth_mapping) {
    if (in != 0) own.input = run_.window().locate(run_.binding.input, in);
    if (out != 0) own.output = run_.window().locate(run_.binding.output, out);
  }
  const bool located = (in == 0 || own.input.region != 0) && (out == 0 || own.output.region != 0);
  if (worth_mapping && located) own.flags |= Announcement::mapped;
  if (run_.makes_single_copies()) {
    own.flags |= Announcement::plain;
    own.input_at = reinterpret_cast<std::uintptr_t>(run_.binding.input);
    own.output_at = reinterpret_cast<std::uintptr_t>(run_.binding.output);
  } else if (run_.rule.fits && (own.flags & Announcement::mapped) == 0) {
    return put_payload(own, counters);
  }
  return true;
}

// Puts this member's payload, which is too long for the line, where the others can read it.
bool Announcer::put_payload(Announcement& own, Counters& counters) {
  const std::size_t bytes = run_.payload_bytes;
  const bool all_take = run_.path_of_payloads != DirectPath::one_shot;  // whoever is awake combines for all
  const bool is_whole = all_take || run_.blocks.packs();
  const Stretch kept = is_whole ? Stretch{} : kept_of_input(run_.exchange, run_.self);
  const bool puts = kept.until - kept.from < bytes;
  const auto room = puts ? room_for(bytes) : 0;
  if (!room) return false;
  own.flags |= Announcement::staged;
  own.payload_at = *room;
  std::byte* const payload = puts ? run_.window().staging(run_.self) + *room : nullptr;
  if (run_.blocks.packs()) {
    run_.blocks.pack(payload,
                     [this](std::byte* to, std::size_t from, std::size_t n) { run_.put(to, from, n, everyone); });
  } else if (puts && gives_long_blocks(run_.exchange)) {
    put_blocks(payload);
  } else if (puts) {
    const std::uint32_t reader = run_.exchange.only_root_takes() ? run_.exchange.root() : everyone;
    run_.put(payload, 0, kept.from, reader);
    run_.put(payload + kept.until, kept.until, bytes - kept.until, reader);
  }
  if (puts) prefetch_to_write(payload + round_up(bytes, cache_line_bytes));  // mostly the next one lies behind
  count_payload(counters);
  return true;
}

// Each for its reader, as some may share a core with this member and others be far from it.
void Announcer::put_blocks(std::byte* payload) {
  const Exchange& exchange = run_.exchange;
  for (std::uint32_t reader = 0; reader < run_.members; ++reader) {
    if (reader == run_.self) continue;
    const std::size_t offset = exchange.input_offset(reader);
    run_.put(payload + offset, offset, exchange.block_bytes(reader), reader);
  }
}

// Who runs ahead does not hear of the others, so it looks now and then whether it is far ahead.
std::optional<std::size_t> Announcer::room_for(std::size_t bytes) {
  constexpr std::uint64_t turns_between_looks = 32;
  WindowUse& use = run_.use;
  auto room = use.payloads.take_near(run_.turn, bytes, use.everyone_heard);
  if (!room && run_.turn >= next_look_) {
    next_look_ = run_.turn + turns_between_looks;
    const bool near = hear_of(run_.turn > turns_between_looks ? run_.turn - turns_between_looks : 0);
    if (!run_.failure.ok()) return std::nullopt;
    if (near) room = use.payloads.take_near(run_.turn, bytes, use.everyone_heard);
  }
  if (!room) room = use.payloads.take_far(run_.turn, bytes, use.everyone_heard);
  if (!room) room_after_ = use.payloads.oldest() + 1;
  return room;
}

void Announcer::withdraw() {
  if (!announced()) return;
  run_.word(run_.self, direct::announcement_line(run_.turn)).store(direct::withdrawn, std::memory_order_release);
}

// ---- hearing the others ---------------------------------------------------------------------------------------------

void Announcer::hear_place_of_data(std::uint32_t member, Announcement::Written theirs) {
  Announcement& heard = run_.announcements[member];
  heard.read(theirs);
  payloads_ &= heard.has_payload();
  const std::byte* const payload = run_.window().staging(member) + heard.payload_at;
  run_.payloads[member] = payload;
  if (!run_.rule.one_way) return;  // else who is behind finds the next ones on their way
  prefetch_to_read(payload + round_up(run_.exchange.input_bytes(member), cache_line_bytes));
}

bool Announcer::has_called_alike(std::uint32_t member, std::uint64_t turn) {
  const Announcement::Written theirs = run_.announcement_of(member, turn);
  if (!stands_there(theirs)) return false;
  if (!Announcement::tell_the_same(theirs, run_.announcement_of(run_.self, turn))) {
    find_mismatch(member, turn);
    return false;
  }
  run_.use.heard[member] = turn;
  return true;
}

// Fails with the first of the calls up to `turn` that differs.
void Announcer::find_mismatch(std::uint32_t member, std::uint64_t turn) {
  WindowUse& use = run_.use;
  std::uint64_t at = use.heard[member] + 1;
  const auto differs = [&](std::uint64_t there) {
    return !Announcement::tell_the_same(run_.announcement_of(member, there), run_.announcement_of(run_.self, there));
  };
  while (at < turn && !differs(at)) ++at;
  const auto written = run_.announcement_of(member, at);
  const ComparedCall theirs = Announcement::call_in(written);
  const ComparedCall mine = Announcement::call_in(run_.announcement_of(run_.self, at));
  const Rank rank = run_.window().rank_of(member), here = run_.window().rank_of(run_.self);
  const auto on = [&](std::uint32_t communicator) {
    if (theirs.communicator == mine.communicator || use.names == nullptr) return std::string();
    return " on " + use.names->describe_communicator(communicator, rank);
  };
  std::string numbers;
  if (theirs == mine) {
    const std::uint32_t before = Announcement::digest_in(run_.announcement_of(run_.self, at - 1));
    const auto number = mine.number_behind(Announcement::digest_in(written), before, use.sequence(at));
    numbers = number ? fmt::format("; these are calls number {} and {}", *number, use.sequence(at))
                     : "; these are calls of different numbers";
    numbers += ": all ranks must make the same calls in the same order";
  }
  run_.fail(Status(Cause{
      .code = Code::mismatch,
      .message = fmt::format("rank {} called {}{} while rank {} called {}{}{}{}", rank, describe(theirs.signature()),
                             on(theirs.communicator), here, describe(mine.signature()), on(mine.communicator),
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
  return run_.needed.has(member) && !has_announced(member, run_.turn);
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
