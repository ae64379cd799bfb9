// The pooled path: the inputs lie in the staging areas, and any member that is awake combines the next part, for
// everybody; then each member copies out what it needs.
#pragma once

#include "src/exec/counters.hpp"
#include "src/exec/direct/shared_parts.hpp"
#include "src/exec/direct/stage_counts.hpp"

namespace hocket {

class PooledPath {
 public:
  explicit PooledPath(DirectRun& run);
  PooledPath(const PooledPath&) = delete;
  PooledPath& operator=(const PooledPath&) = delete;

  bool advance(Counters& counters);
  bool done() const { return done_; }
  // Those who wait for the end do not say which parts they did.
  bool has_done_its_part(std::uint32_t member) const { return stage_counts_.reached(member, Stage::parts_done, 1); }

 private:
  void combine_part(std::size_t number);
  void copy_out();

  DirectRun& run_;
  StageCounts stage_counts_;
  SharedParts shared_;
  std::byte* results_;  // at member 0, each where its operands lie in the inputs
  bool done_ = false;
};

}  // namespace hocket
