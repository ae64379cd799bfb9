// The GPU path: everyone's buffers lie on one GPU. Each member's stream says when its data is ready; the first member's
// stream waits for all, does the work of everyone, and says when that is done; then the others go on. The hosts only
// meet, and put into streams what is to be done: a call is complete before its work is.
#pragma once

#include "src/exec/counters.hpp"
#include "src/exec/direct/announcer.hpp"
#include "src/exec/direct/stage_counts.hpp"

namespace hocket {

class GpuPath {
 public:
  static constexpr std::uint32_t executor = 0;  // the member that does the work

  // Whether calls with this signature may take it, which is the same on all members. `root`: a member's number.
  static bool takes(const Signature& call, std::uint32_t root, const WindowUse& use);
  // Before the announcement: says where this member's data lies, and has its stream say when it is ready. Leaves the
  // announcement without the flag where the memory cannot be shared; then the call is staged on all.
  static Status offer(DirectRun& run, Announcement& own);

  GpuPath(DirectRun& run, const Announcer& announcer) : run_(run), announcer_(announcer), stage_counts_(run) {}
  GpuPath(const GpuPath&) = delete;
  GpuPath& operator=(const GpuPath&) = delete;

  bool advance(Counters& counters);
  bool done() const { return done_; }
  // Whether only work before this is waited for, of whose end nobody tells.
  bool waits_for_device() const { return waits_for_work_; }
  bool has_done_its_part(std::uint32_t member) const {
    return member != executor || stage_counts_.reached(member, Stage::parts_done, 1);
  }

 private:
  std::size_t bytes_of(std::uint32_t member, bool output) const {
    return output ? run_.exchange.output_bytes(member) : run_.exchange.input_bytes(member);
  }
  Result<bool> work_for_all(Counters& counters);
  void meet_buffers();
  Status find_buffers();
  Status find_buffers_of(std::uint32_t member);
  Status move(const Part& part, Counters& counters);

  DirectRun& run_;
  const Announcer& announcer_;
  StageCounts stage_counts_;
  bool waits_for_work_ = false, done_ = false;
};

}  // namespace hocket
