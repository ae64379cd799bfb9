// Where the direct paths give way to one another: data of a machine class, as in src/plan/tables/direct. A file has a
// line for each of these, in any order:
//
//   one_shot=allreduce:32K,512K         # up to this much work each rank does all by itself; the last is for all others
//   alone=16K                           # the same where ranks share cores
//   pool=128K                           # up to this much input, ranks that share cores take parts from a pool
//   mapped=4K                           # from here on registered buffers are read where they lie
//   single_copy=allgather:64K+,send:64K-1M   # where plain memory is read where it lies; or never. The size of send
//                                       # is that of each message, of scatter_v, gather_v and alltoall_v of each block
//   read_ratio=2.5                      # if a read takes at most so many times as long as a copy (2.5): with 2 ranks,
//                                       # one for another core, measured as they go; else one that stays in the caches
//
// Below a line "[3+ ranks]" stands what is different where so many ranks meet, or more; below "[5+ ranks]", what
// changes once more.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "src/plan/machine_class.hpp"
#include "src/spi/byte_range.hpp"
#include "src/spi/status.hpp"
#include "src/spi/types.hpp"

namespace hocket {

struct DirectThresholds {
  std::size_t one_shot_work_max = 0;
  std::array<std::size_t, std::size(collective_table)> one_shot_work_max_of{};  // by number; 0: as of all others
  std::size_t alone_work_max = 0;
  std::size_t pool_input_max = 0;
  std::size_t mapped_min = 0;
  // By number. For send it is the size of each message, for scatter_v, gather_v and alltoall_v of each block.
  std::array<ByteRange, std::size(collective_table)> single_copy{};
  // Where a read of others' plain memory takes more times as long as a copy, two copies are faster, by two members at
  // the same time.
  double read_ratio_max = 2.5;

  std::size_t one_shot_work_max_for(Collective collective) const {
    const std::size_t own = is_known(collective) ? one_shot_work_max_of[static_cast<std::size_t>(collective)] : 0;
    return own != 0 ? own : one_shot_work_max;
  }
  ByteRange single_copy_of(Collective collective) const {
    return is_known(collective) ? single_copy[static_cast<std::size_t>(collective)] : ByteRange();
  }
  friend bool operator==(const DirectThresholds&, const DirectThresholds&) = default;
};

struct DirectThresholdsByRanks {
  struct Part {
    std::size_t ranks_min = 0;
    DirectThresholds thresholds;
  };
  std::vector<Part> parts;  // at least one, of any ranks; each of more than the one before

  // `name` is that of the file: mistakes are told with it and the line.
  static Result<DirectThresholdsByRanks> parse(std::string_view text, std::string_view name);

  const DirectThresholds& of(std::size_t ranks) const;
};

// Of the library's own files, for so many ranks that meet; lives as long as the program.
const DirectThresholds& direct_thresholds(const MachineClass& machine, std::size_t ranks);
// The same for ranks on one host of which nothing else is known but whether they outnumber its cores.
const DirectThresholds& direct_thresholds_on_one_host(bool shares_cores, std::size_t ranks);

}  // namespace hocket
