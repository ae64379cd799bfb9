// The GPU path: everyone's buffers lie on GPUs that reach each other's memory; mostly, on one. Each member's stream
// says when its data is ready. The first member on each GPU is an executor: its stream waits for all members, does its
// GPU's share of the work, with everyone's inputs and outputs, and says when that is done. All go on when all
// executors' work is done. The hosts only meet, and put into streams what is to be done: a call is complete before its
// work is.
#pragma once

#include <bit>
#include <cstdint>

#include "src/exec/counters.hpp"
#include "src/exec/direct/announcer.hpp"
#include "src/exec/direct/stage_counts.hpp"
#include "src/spi/gpu.hpp"

namespace hocket {

class GpuPath {
 public:
  // Whether calls with this signature may take it, which is the same on all members. `root`: a member's number.
  static bool takes(const Signature& call, std::uint32_t root, const WindowUse& use);
  // Before the announcement: says where this member's data lies, and has its stream say when it is ready. Leaves the
  // announcement without the flag where the memory cannot be shared; then the call is staged on all.
  static Status offer(DirectRun& run, Announcement& own);
  // Whether the GPUs whose memory all members have announced reach all of it; the same on all members.
  static bool are_joined(const DirectRun& run);

  GpuPath(DirectRun& run, const Announcer& announcer);
  GpuPath(const GpuPath&) = delete;
  GpuPath& operator=(const GpuPath&) = delete;

  bool advance(Counters& counters);
  bool done() const { return done_; }
  // Whether only work before this is waited for, of whose end nobody tells.
  bool waits_for_device() const { return waits_for_work_; }
  bool has_done_its_part(std::uint32_t member) const {
    return !executors_.has(member) || stage_counts_.reached(member, Stage::parts_done, 1);
  }

 private:
  // Of members.
  class Set {
   public:
    void add(std::uint32_t member) { members_ |= std::uint64_t{1} << member; }
    bool has(std::uint32_t member) const { return (members_ >> member & 1) != 0; }
    std::size_t size() const { return static_cast<std::size_t>(std::popcount(members_)); }
    // How many are before it.
    std::size_t place_of(std::uint32_t member) const {
      return static_cast<std::size_t>(std::popcount(members_ & ((std::uint64_t{1} << member) - 1)));
    }

   private:
    static_assert(gpu_reduction_buffers_max <= 64);
    std::uint64_t members_ = 0;
  };

  std::size_t bytes_of(std::uint32_t member, bool output) const {
    return output ? run_.exchange.output_bytes(member) : run_.exchange.input_bytes(member);
  }
  bool fail(const Status& status);
  Status release();
  Status wait_for_executors();
  Result<bool> open_buffers();
  bool may_be_lost(const Status& status);
  void meet_buffers_of(std::uint32_t member);
  Status find_buffers_of(std::uint32_t member);
  Status work_for_all(Counters& counters);
  Status move(const Part& part, Counters& counters);
  Status combine(std::size_t bytes);
  Status copy(std::size_t bytes);

  DirectRun& run_;
  const Announcer& announcer_;
  StageCounts stage_counts_;
  Set executors_;
  Status failure_;  // of memory that may be a lost process's
  Deadline gives_up_ = Deadline::never();
  bool waits_for_work_ = false, has_worked_ = false, done_ = false;
};

}  // namespace hocket
