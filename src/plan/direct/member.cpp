#include "src/plan/direct/member.hpp"

#include <algorithm>
#include <cmath>

#include "src/base/arithmetic.hpp"
#include "src/plan/direct/one_shot_work.hpp"
#include "src/plan/direct/staging.hpp"
#include "src/spi/window.hpp"

namespace hocket {

MemberRules::MemberRules(const DirectCall& call, DirectPath path, const DirectSetting& setting, bool reads_plain_memory)
    : path_(path),
      setting_(setting),
      rule_(direct_rule(call.exchange(), setting)),
      in_place_(call.in_place),
      exchange_(call.exchange(grain_of(path, call.exchange(), setting.staging_bytes))),
      fetch_block_(static_cast<double>(fetch_block_bytes(setting.staging_bytes, exchange_.members()))) {
  rule_.plain = rule_.plain && reads_plain_memory;
  rule_.one_way &= path == DirectPath::one_shot;  // another one is looked at only if it is asked for
}

// ---- what is seen ---------------------------------------------------------------------------------------------------

bool MemberRules::others_seen(const WindowMember& member, const WindowCall& call, std::size_t sign,
                              std::size_t count) const {
  if (count == 0) return true;
  const std::vector<std::uint32_t>& seen = call.seen[sign];
  const std::uint32_t all = seen.size() < count ? 0 : seen[count - 1];
  return all - (member.seen[sign] >= count ? 1 : 0) == exchange_.members() - 1;
}

bool MemberRules::others_announced(const WindowMember& member, const std::vector<WindowCall>& row,
                                   std::size_t call) const {
  const std::vector<std::uint32_t>& seen = row[call].seen[announced];
  const std::uint32_t all = seen.empty() ? 0 : seen.front();
  return all - (member.announcements_seen > call ? 1 : 0) == exchange_.members() - 1;
}

bool MemberRules::puts_payload(std::size_t bytes) const {
  return (path_ == DirectPath::one_shot || path_ == DirectPath::pooled) && bytes > direct::inline_bytes_max;
}

// As Announcer::turn_before() has it: of payloads in the staging area, all before the latest call that everyone has
// announced make room.
bool MemberRules::may_enter(const WindowMember& member, const std::vector<WindowCall>& row) const {
  std::size_t back = rule_.plain ? direct::run_ahead_max_with_second_line : direct::run_ahead_max;
  if (const std::size_t bytes = exchange_.input_bytes(member.self); puts_payload(bytes)) {
    const std::size_t length = round_up(bytes, cache_line_bytes);
    const std::size_t near = direct::near_payload_bytes / length;
    const std::size_t far = (direct::payload_bytes - direct::near_payload_bytes) / length;
    back = std::min(back, near + far - 1);
  }
  return member.call < back || others_announced(member, row, member.call - back);
}

// ---- meeting --------------------------------------------------------------------------------------------------------

std::optional<DirectAction> MemberRules::next(WindowMember& member, std::vector<WindowCall>& row) const {
  if (!member.entered) {
    if (!may_enter(member, row)) return std::nullopt;
    member.entered = true;
    const std::size_t bytes = exchange_.input_bytes(member.self);
    DirectAction announce{.calls = true, .tells = announced};
    if (puts_payload(bytes)) announce.work.copied = static_cast<double>(bytes);
    return announce;
  }
  if (!member.heard) return hear(member, row);
  WindowCall& call = row[member.call];
  return path_ == DirectPath::staged || path_ == DirectPath::single_copy ? stage(member, call) : parts(member, call);
}

// Of a call that goes one way: whether all have announced whose data this member needs.
bool MemberRules::needed_seen(WindowMember& member, const WindowCall& call) const {
  const Members needed = exchange_.needed_by(member.self);
  const auto is_seen = [&](std::uint32_t other) {
    return other == member.self || (other < call.announced_by.size() && call.announced_by[other]);
  };
  std::uint32_t& next = member.next_needed;
  for (next = std::max(next, needed.from); next < needed.until && is_seen(next);) ++next;
  return next >= needed.until;
}

// Who needs nobody's data has nothing to hear. On the one-shot path, all is done then.
std::optional<DirectAction> MemberRules::hear(WindowMember& member, const std::vector<WindowCall>& row) const {
  const bool all_seen =
      rule_.one_way ? needed_seen(member, row[member.call]) : others_announced(member, row, member.call);
  if (!all_seen) return std::nullopt;
  member.heard = true;
  double heard = others();
  if (rule_.one_way) {
    const Members needed = exchange_.needed_by(member.self);
    heard = needed.count() - (needed.has(member.self) ? 1 : 0);
  }
  const bool from_root = rule_.one_way && exchange_.only_root_gives();
  const std::uint32_t source = from_root ? exchange_.root() : exchange_.root() + 1;
  DirectAction action{.work = {.lines = heard * static_cast<double>(announcement_lines(path_))}};
  if (path_ != DirectPath::one_shot) return action;
  const auto longest = static_cast<double>(std::max(exchange_.input_bytes(source), exchange_.input_bytes(member.self)));
  if (longest > direct::inline_bytes_max) action.work.lines *= 2;  // the data lies in lines of its own
  const DirectWork output = one_shot_output(exchange_, member.self, in_place_);
  action.work.combined = output.combined;
  action.work.copied = output.copied;
  action.ends_call = true;
  return action;
}

// ---- staged and single copy: stages, the last first: that frees the most --------------------------------------------

std::optional<DirectAction> MemberRules::stage(WindowMember& member, const WindowCall& call) const {
  const bool staged = path_ == DirectPath::staged;
  const std::size_t rounds = exchange_.rounds();
  const std::size_t out = member.told[sign_of(Stage::copied_out)];
  if (out == rounds) {  // what is read where it lies stays there until all have read it
    const bool stays = !staged && exchange_.input_bytes(member.self) > 0;
    if (stays && !others_seen(member, call, sign_of(Stage::copied_out), out)) return std::nullopt;
    return DirectAction{.ends_call = true, .round = rounds};
  }
  std::optional<DirectAction> action = copy_out(member, call);
  if (!action) action = combine_own(member, call);
  if (!action && staged) action = copy_in(member, call);
  return action;
}

bool MemberRules::slot_is_free(const WindowMember& member, const WindowCall& call, std::size_t round,
                               Stage last_use) const {
  return round < direct::rounds_in_flight ||
         others_seen(member, call, sign_of(last_use), round - direct::rounds_in_flight + 1);
}

std::optional<DirectAction> MemberRules::copy_in(const WindowMember& member, const WindowCall& call) const {
  const std::size_t round = member.told[sign_of(Stage::copied_in)];
  const bool combines = exchange_.combines();
  if (round == exchange_.rounds()) return std::nullopt;
  if (!slot_is_free(member, call, round, combines ? Stage::combined : Stage::copied_out)) return std::nullopt;
  DirectAction action{.tells = sign_of(Stage::copied_in), .round = round};
  if (!combines) action.work.lines = others();
  for (std::uint32_t index = 0; index < exchange_.parts(); ++index) {
    const Part part = exchange_.part(round, index);
    const bool for_others = combines ? index != member.self : part.target != member.self;
    if (part.comes_from(member.self) && for_others) action.work.copied += static_cast<double>(part.bytes);
  }
  return action;
}

std::optional<DirectAction> MemberRules::combine_own(const WindowMember& member, const WindowCall& call) const {
  const std::size_t round = member.told[sign_of(Stage::combined)];
  const bool staged = path_ == DirectPath::staged;
  if (!exchange_.combines() || round == (staged ? member.told[sign_of(Stage::copied_in)] : exchange_.rounds())) {
    return std::nullopt;
  }
  if (staged && !others_seen(member, call, sign_of(Stage::copied_in), round + 1)) return std::nullopt;
  const Part part = exchange_.part(round, member.self);
  const bool takes_slot = staged || !part.goes_to(member.self);
  if (takes_slot && !slot_is_free(member, call, round, Stage::copied_out)) return std::nullopt;
  DirectAction action{.tells = sign_of(Stage::combined), .round = round};
  const auto bytes = static_cast<double>(part.bytes);
  action.work.combined = others() * bytes;
  if (staged) {
    action.work.lines = others();
    if (part.target == everyone) action.work.copied = bytes;  // it goes to two places
  } else {
    action.work.read = others() * bytes;
    action.work.reads = others() * std::ceil(bytes / fetch_block_);
  }
  return action;
}

std::optional<DirectAction> MemberRules::copy_out(const WindowMember& member, const WindowCall& call) const {
  const bool combines = exchange_.combines(), staged = path_ == DirectPath::staged;
  const std::size_t round = member.told[sign_of(Stage::copied_out)];
  const Stage before = combines ? Stage::combined : Stage::copied_in;
  if (combines || staged) {
    if (round == member.told[sign_of(before)]) return std::nullopt;
    if (!others_seen(member, call, sign_of(before), round + 1)) return std::nullopt;
  }
  DirectAction action{.tells = sign_of(Stage::copied_out), .round = round};
  if (combines || staged) action.work.lines = others();
  for (std::uint32_t index = 0; index < exchange_.parts(); ++index) {
    const Part part = exchange_.part(round, index);
    if (part.bytes == 0 || !part.goes_to(member.self) || (combines && index == member.self)) continue;
    const auto bytes = static_cast<double>(part.bytes);
    const bool own = !combines && part.source == member.self;
    const bool lies_there = combines ? part.goes_to(index) : !own;  // in a member's own memory
    if (!staged && lies_there) {
      action.work.read += bytes;
      ++action.work.reads;
    } else if (!(own && in_place_)) {
      action.work.copied += bytes;
    }
  }
  return action;
}

// ---- pooled and mapped: parts ---------------------------------------------------------------------------------------

DirectWork MemberRules::work_on(const Part& part) const {
  const double bytes = static_cast<double>(part.bytes), all = others() + 1;
  if (path_ == DirectPath::pooled) return {.combined = others() * bytes};  // into one place
  double targets = part.target == everyone ? all : 1;
  if (exchange_.combines()) return {.copied = (targets - 1) * bytes, .combined = others() * bytes};
  if (in_place_ && part.goes_to(part.source)) --targets;
  return {.copied = targets * bytes};
}

std::optional<DirectAction> MemberRules::parts(WindowMember& member, WindowCall& call) const {
  const std::size_t all = exchange_.rounds() * exchange_.parts();
  const bool shared = setting_.shares_work || path_ == DirectPath::pooled;
  if (!member.did_own) {
    std::size_t& next = shared ? call.claimed : member.next_part;
    const std::size_t number = shared ? next++ : member.self + exchange_.members() * next++;
    if (number < all) {
      const Part part =
          exchange_.part(number / exchange_.parts(), static_cast<std::uint32_t>(number % exchange_.parts()));
      DirectAction action{.work = work_on(part), .finishes_part = shared, .round = number / exchange_.parts()};
      if (shared) action.work.lines = static_cast<double>(counters_per_shared_part);
      return action;
    }
    member.did_own = true;
    if (!shared) return DirectAction{.tells = sign_of(Stage::parts_done), .round = exchange_.rounds()};
  }
  const auto output = static_cast<double>(exchange_.output_bytes(member.self));
  const bool leaves = path_ == DirectPath::pooled && output == 0;
  const bool all_done = shared ? call.finished_seen + member.unseen_finished == all
                               : others_seen(member, call, sign_of(Stage::parts_done), 1);
  if (!leaves && !all_done) return std::nullopt;
  DirectAction action{.ends_call = true, .round = exchange_.rounds()};
  if (path_ == DirectPath::pooled) action.work.copied = output;
  if (!shared) action.work.lines = others();
  return action;
}

}  // namespace hocket
