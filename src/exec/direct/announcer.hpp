// Announcer: the beginning of every direct operation, and what its members tell each other outside the data. It
// announces the call, compares what the others announced with it, and knows who is missing.
//
// Every member announces an operation with one control line: its turn (the number of the operation on this window), the
// call's signature, and where its data is. That line is the ready flag, the address and the check for mismatches in
// one.
//
// A member may be many operations ahead of another, but for two things. It begins none before it has heard the others
// begin what lies run_ahead_max back, and leave what lay where its payload is to lie. And it leaves none that needs
// data of everyone before it has heard everyone begin it, so that everyone has left the one before. What it has not
// waited for it checks when it hears it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

#include "src/base/arithmetic.hpp"
#include "src/base/copy_small.hpp"
#include "src/base/prefetch.hpp"
#include "src/exec/counters.hpp"
#include "src/exec/direct/direct_run.hpp"

namespace hocket {

class Announcer {
 public:
  explicit Announcer(DirectRun& run) : run_(run) { run.use.heard.resize(run.members); }

  // Counts the run. `sequence`: the call's number in its communicator.
  void begin(std::uint32_t sequence) {
    WindowUse& use = run_.use;
    run_.turn = ++use.turn;
    use.digest = run_.compared.digest_after(use.digest, sequence);
    use.sequence(run_.turn) = sequence;
    next_member_ = 0;
    room_after_ = 0;
    state_ = State::waits;
  }
  // Announces the call, once the others have come far enough. False: they have not, or something was wrong.
  [[gnu::always_inline]] bool announce(Counters& counters) {
    if (!may_announce()) return false;
    run_.payloads[run_.self] = run_.binding.input;
    if (run_.puts_in_line) {
      announce_in_line(counters);
    } else if (!announce_data(counters)) {
      return false;
    }
    next_member_ = run_.needed.from;
    polls_to_waking_ = run_.polls_before_waking;
    state_ = State::announced;
    return true;
  }
  bool announced() const { return state_ != State::waits; }
  // Reads what everyone whom this member needs has announced; then settle_waking() or leave_waking() is due. False:
  // somebody has not, or something was wrong.
  [[gnu::always_inline]] bool hear_all() {
    const DirectRun& run = run_;
    const std::uint32_t until = run.needed.until;
    for (std::uint32_t member = next_member_; member < until; ++member) {
      if (member == run.self) continue;
      if (!hear(member)) {
        next_member_ = member;
        if (polls_to_waking_ >= 0 && polls_to_waking_-- == 0) run_.window().wake_others();
        return false;
      }
    }
    if (!run_.rule.one_way) run_.use.everyone_heard = run_.turn;
    state_ = State::heard_all;
    return true;
  }
  // Whether everyone's payload goes with its announcement. Requires that hear_all() has succeeded.
  bool payloads_go_along() const { return payloads_; }
  // The path that follows from what all announced. Requires that hear_all() has succeeded.
  DirectPath path() const { return payloads_ ? run_.path_of_payloads : path_of(common()); }

  // Waking costs a fence, which holds up the first looks at the others' announcements; so these come first.
  void settle_waking() {
    if (polls_to_waking_ >= 0) run_.window().wake_others();
    polls_to_waking_ = -1;
  }
  // The caller wakes them.
  void leave_waking() { polls_to_waking_ = -1; }
  // The look that follows is the last one.
  void before_sleep() {
    settle_waking();
    looks_ = looks_per_near_look - 1;
  }
  // Takes the announcement back: the others must not do this member's part for it any more.
  void withdraw();
  bool someone_has_withdrawn() const;

  // Whether the peer, if it is a member, has announced this run, or the one so many turns later.
  bool has_come(Rank peer, std::uint64_t turns_later = 0) const;
  // Whom this member waits for. `has_done_its_part`: of members who have announced, when all were heard.
  Operation::Missing missing(const std::function<bool(std::uint32_t member)>& has_done_its_part) const;
  // Until all were heard: the first whose announcement is missing; run.members: that is not known.
  std::uint32_t next_member() const { return next_member_; }
  // See Operation.
  MemberSet awaited_members() const {
    return state_ == State::announced && next_member_ < run_.members ? set_of(next_member_) : all_members;
  }

 private:
  enum class State { waits, announced, heard_all };
  static constexpr std::uint32_t looks_per_near_look = 8;
  static constexpr std::uint64_t prefetched_turns = 2;  // how far the lines are asked for ahead

  Announced common() const;
  DirectPath path_of(const Announced& all) const { return direct_path(run_.exchange, run_.rule, all); }
  [[gnu::always_inline]] bool may_announce() { return run_.use.everyone_heard >= turn_before() || may_announce_now(); }
  bool may_announce_now();
  bool hear_of(std::uint64_t before);
  // The turn that all others must have begun before this member begins its own.
  std::uint64_t turn_before() const {
    return std::max(run_.turn > run_.runs_ahead ? run_.turn - run_.runs_ahead : 0, room_after_);
  }
  // With a payload that stands in the line.
  [[gnu::always_inline]] void announce_in_line(Counters& counters) {
    ask_for_line();
    const Announcement::Written to = run_.announcement_of(run_.self, run_.turn);
    std::byte* const payload = Announcement::payload_in(to);
    if (run_.blocks.packs()) {
      run_.blocks.pack(payload, [this](std::byte* block, std::size_t from, std::size_t n) {
        copy_small(block, run_.binding.input + from, n);
      });
    } else {
      copy_small(payload, run_.binding.input, run_.payload_bytes);
    }
    Announcement::write_around_payload(to, run_.compared, run_.use.digest);
    count_payload(counters);
    payloads_ = true;
  }
  // Where this member will announce before long.
  void ask_for_line() const {
    prefetch_to_write(&run_.announcement_of(run_.self, run_.turn + prefetched_turns).line());
  }
  bool announce_data(Counters& counters);
  bool describe_data(Announcement& own, Counters& counters);
  bool put_payload(Announcement& own, Counters& counters);
  void put_blocks(std::byte* payload);
  std::optional<std::size_t> room_for(std::size_t bytes);
  [[gnu::always_inline]] void count_payload(Counters& counters) const {
    counters.steps += 1;
    counters.bytes_sent += run_.payload_input_bytes;
  }
  // Whether the member has announced that turn.
  [[gnu::always_inline]] static bool stands_there(const Announcement::Written& theirs) {
    // One comparison: a withdrawn one is the largest number.
    return theirs.line().words[0].load(std::memory_order_acquire) + 1 > theirs.turn;
  }
  // Reads and checks what `member` has announced as this turn, and with it all that it called before. False: it does
  // not stand there yet, or something was wrong.
  [[gnu::always_inline]] bool hear(std::uint32_t member) {
    DirectRun& run = run_;
    const Announcement::Written theirs = run.announcement_of(member, run.turn);
    if (!stands_there(theirs)) return false;
    if (!Announcement::tells(theirs, run.compared, run.use.digest)) {
      find_mismatch(member, run.turn);
      return false;
    }
    if (Announcement::flags_in(theirs) == Announcement::inlined) [[likely]] {
      run.announcements[member].flags = Announcement::inlined;
      run.payloads[member] = Announcement::data_in(theirs);
    } else {
      hear_place_of_data(member, theirs);
    }
    run.use.heard[member] = run.turn;
    // Who is behind finds the next ones on their way.
    if (run.rule.one_way) prefetch_to_read(&run.announcement_of(member, run.turn + prefetched_turns).line());
    return true;
  }
  // What `member` has announced where its payload does not stand in the line.
  void hear_place_of_data(std::uint32_t member, Announcement::Written theirs);
  // Checks what it has called up to the turn `turn`, one before this.
  bool has_called_alike(std::uint32_t member, std::uint64_t turn);
  [[gnu::cold, gnu::noinline]] void find_mismatch(std::uint32_t member, std::uint64_t turn);
  bool has_announced(std::uint32_t member, std::uint64_t turn) const;
  bool is_awaited(std::uint32_t member) const;

  DirectRun& run_;
  State state_ = State::waits;
  int polls_to_waking_ = -1;       // until the others are woken; -1: they have been
  std::uint32_t next_member_ = 0;  // first whose announcement has not been read
  std::uint32_t looks_ = 0;        // at members that are far behind
  std::uint64_t next_look_ = 0;    // the turn in which to look whether the others have come nearer
  std::uint64_t room_after_ = 0;   // the turn that all others must have begun so that there is room for the payload
  bool payloads_ = false;          // the inputs of all who were heard, and the own one, go with the announcements
};

}  // namespace hocket
