// The mapped path: everyone's buffers are registered, so members share out the parts, and each reads all inputs and
// writes all outputs of its parts: 2·S bytes of memory traffic per rank for an allreduce, the least possible.
#pragma once

#include <optional>

#include "src/exec/counters.hpp"
#include "src/exec/direct/announcer.hpp"
#include "src/exec/direct/shared_parts.hpp"
#include "src/exec/direct/stage_counts.hpp"

namespace hocket {

class MappedPath {
 public:
  MappedPath(DirectRun& run, const Announcer& announcer);
  MappedPath(const MappedPath&) = delete;
  MappedPath& operator=(const MappedPath&) = delete;

  // One part, so that other things can be looked at between parts. None where someone has given up: a rank that was
  // stopped must not go on writing into others' memory.
  bool advance(Counters& counters);
  bool done() const { return done_; }
  // Members that share the work do not say which parts are theirs.
  bool has_done_its_part(std::uint32_t member) const { return stage_counts_.reached(member, Stage::parts_done, 1); }

 private:
  std::optional<std::size_t> next_part();
  bool map_buffers();
  void move(const Part& part, Counters& counters);
  bool all_finished() const;

  DirectRun& run_;
  const Announcer& announcer_;
  StageCounts stage_counts_;
  SharedParts shared_;  // where members share the work
  std::size_t next_;    // else: this member's next part
  bool buffers_mapped_ = false;
  bool own_parts_done_ = false;
  bool done_ = false;
};

}  // namespace hocket
