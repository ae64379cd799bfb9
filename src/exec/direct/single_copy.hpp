// The single-copy path: everyone can read everyone's plain memory, so nothing is copied in. In rounds, each member
// reads what it combines or copies out where it lies. A member that gives something stays until all have read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/exec/counters.hpp"
#include "src/exec/direct/announcer.hpp"
#include "src/exec/direct/stage_counts.hpp"

namespace hocket {

class SingleCopyPath {
 public:
  SingleCopyPath(DirectRun& run, const Announcer& announcer, Counters& counters);

  // One stage of one round.
  bool advance(Counters& counters);
  bool done() const { return done_; }
  bool has_done_its_part(std::uint32_t member) const;
  // See Operation.
  MemberSet awaited_members() const;

 private:
  void count_what_others_read(Counters& counters) const;
  AwaitedByStage awaited_to_combine() const;
  AwaitedByStage awaited_to_copy_out() const;
  AwaitedByStage awaited_to_end() const;
  bool combine_own();
  bool combine_part(const Part& part);
  bool copy_out();
  bool copy_part(const Part& part, std::uint32_t index);
  bool fetch(std::uint32_t member, std::uintptr_t from, std::byte* to, std::size_t bytes);
  std::byte* fetch_slot(std::uint32_t member) const;
  std::byte* result_slot(std::uint32_t member, std::size_t round) const;

  DirectRun& run_;
  const Announcer& announcer_;
  StageCounts stage_counts_;
  std::size_t combined_ = 0, copied_out_ = 0;  // rounds
  bool done_ = false;
};

}  // namespace hocket
