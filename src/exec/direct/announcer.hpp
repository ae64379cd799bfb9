// Announcer: the beginning of every direct operation, and what its members tell each other outside the data. It
// announces the call, compares what the others announced with it, and knows who is missing.
//
// Every member announces an operation with one control line: its turn (the number of the operation on this window), the
// call's signature, and where its data is. That line is the ready flag, the address and the check for mismatches in
// one.
//
// A member may be some operations ahead of another, but for two things. It begins none before it has heard the others
// begin what lies run_ahead_max back. And it leaves none that needs data of everyone before it has heard everyone begin
// it, so that everyone has left the one before. What it has not waited for it checks when it hears it.
#pragma once

#include <cstdint>
#include <functional>

#include "src/exec/counters.hpp"
#include "src/exec/direct/direct_run.hpp"

namespace hocket {

class Announcer {
 public:
  explicit Announcer(DirectRun& run) : run_(run) { run.use.heard.resize(run.members); }

  // Counts the run. `tag`: of the call that is announced, of which the run may be a part.
  void begin(const Tag& tag);
  // Announces the call, once the others have come far enough. False: they have not, or something was wrong.
  bool announce(Counters& counters);
  bool announced() const { return state_ != State::waits; }
  // Reads what everyone whom this member needs has announced. False: somebody has not, or something was wrong.
  bool hear_all();
  // What all announced. Requires that hear_all() has succeeded.
  Announced common() const;

  // Waking costs a fence, which holds up the first looks at the others' announcements; so these come first.
  void settle_waking();
  // Takes the announcement back: the others must not do this member's part for it any more.
  void withdraw();
  bool someone_has_withdrawn() const;

  // Whether the peer, if it is a member, has announced this run, or the one so many turns later.
  bool has_come(Rank peer, std::uint64_t turns_later = 0) const;
  // Whom this member waits for. `has_done_its_part`: of members who have announced, when all were heard.
  Operation::Missing missing(const std::function<bool(std::uint32_t member)>& has_done_its_part) const;
  // Until all were heard: the first whose announcement is missing; run.members: none, or that is not known.
  std::uint32_t next_member() const { return next_member_; }

 private:
  enum class State { waits, announced, heard_all };

  bool may_announce();
  std::uint64_t turn_before() const;
  bool needs(std::uint32_t member) const;
  void describe_data(Announcement& own, Counters& counters);
  void put_payload(Announcement& own, Counters& counters);
  static void count_payload(std::size_t bytes, Counters& counters);
  bool hear(std::uint32_t member, std::uint64_t turn);
  void find_mismatch(std::uint32_t member, std::uint64_t turn);
  bool has_announced(std::uint32_t member, std::uint64_t turn) const;
  bool is_awaited(std::uint32_t member) const;

  DirectRun& run_;
  State state_ = State::waits;
  int polls_to_waking_ = -1;       // until the others are woken; -1: they have been
  std::uint32_t next_member_ = 0;  // first whose announcement has not been read
};

}  // namespace hocket
