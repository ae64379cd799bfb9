// Simulation: a run of the very schedules that the executor runs, on a described network, as discrete events. It does
// what the executor does (dependencies, slices side by side, two groups in flight, channels first in, first out) and
// takes the time of each part from the network. Same arguments, same result, to the picosecond.
//
// What a message costs: the sender's processor (send + bytes · send_per_byte), then the links, each when it is free,
// then the latency, then the receiver's processor as soon as the receive has been reached (receive + bytes ·
// (receive_per_byte, and reduce_per_byte where it reduces)). A send is complete when its bytes have left; receivers
// take in what comes early at no cost. A rank's processor does one thing at a time, in the order in which it came up
// (a channel's next message comes up when the one before is done), and only while it has one of its host's cores.
// Nothing is ever lost, and nobody else uses the network.
//
// What comes to one place at one time is taken up in an order that follows from the schedules and the network, not from
// the numbers of the ranks. So ranks that are alike (symmetry.hpp) do the same at the same times, and only one of them
// is simulated: the result is that of all, to the last digit, with a memory that does not grow with their number.
#pragma once

#include <cstdint>
#include <vector>

#include "src/plan/network.hpp"
#include "src/plan/program.hpp"

namespace hocket {

struct SimulatedCall {
  const Algorithm* algorithm = nullptr;
  Rank root = 0;
  std::size_t count = 0;  // as in the C API: elements of the vector, or of one block
  std::size_t element_bytes = 4;
  std::size_t slice_bytes = 0;  // 0: one slice
  Placement placement = Placement::out_of_place;
  WireFormat wire = WireFormat::exact;
  std::size_t calls = 1;  // in a row: a rank begins the next one as soon as it is done with one. At least 1
  bool record = false;    // activities and the critical path, which take memory for each step
  std::size_t activities_max = 30'000'000;  // to record: about 2 GB. Where there are more, they are thinned out
  bool every_rank = false;                  // simulates each rank, also where some are alike
};

// What the critical path spent its time with. The sum is the time of the whole run.
struct TimeShares {
  Picoseconds processor = 0;
  Picoseconds processor_wait = 0;  // ready, but the rank or all cores of its host were busy
  Picoseconds wire = 0;
  Picoseconds link_wait = 0;  // ready, but a link was busy
  Picoseconds latency = 0;

  Picoseconds sum() const { return processor + processor_wait + wire + link_wait + latency; }
  friend bool operator==(const TimeShares&, const TimeShares&) = default;
};

inline constexpr std::uint32_t no_activity = UINT32_MAX;

// A recorded activity, but of the rank that is `turn` ranks further on (after the last comes the first) than the one
// that stands for it; so is its peer.
struct ActivityRef {
  std::uint32_t index = no_activity;
  Rank turn = 0;

  friend auto operator<=>(const ActivityRef&, const ActivityRef&) = default;
};

// Something that took time: a step's work on its rank's processor, or a sent message on its way (latency and all).
struct Activity {
  Rank rank = no_rank;     // whose step it is
  std::uint32_t step = 0;  // in the rank's schedule as compiled
  StepKind kind = StepKind::copy;
  bool on_wire = false;
  Rank peer = no_rank;
  std::size_t bytes = 0;
  Picoseconds begin = 0, end = 0;
  ActivityRef after{};  // what it waited for last
};

// Of all calls together.
struct Simulation {
  Picoseconds time = 0;                           // until the last rank is done
  std::uint64_t steps = 0;                        // done by all ranks, in all slices; without those of empty chunks
  std::uint64_t messages = 0;                     // of all ranks
  std::uint64_t bytes = 0;                        // sent by all ranks
  std::uint64_t messages_max = 0, bytes_max = 0;  // sent by the rank that sends the most
  Rank last_rank = no_rank;                       // whose end came last
  std::uint32_t last_step = 0;                    // of that rank
  TimeShares critical_path;
  Picoseconds processor_bound = 0;      // work of the busiest host's ranks / its cores: no schedule can beat it there
  Rank ranks = 0;                       // of the group
  Rank period = 0;                      // the lowest of them that were simulated: each other is like one of these
  std::vector<Activity> activities{};   // recorded, of ranks below `period`
  std::vector<ActivityRef> critical{};  // recorded: the critical path from its first part to its last
  std::uint32_t every = 1;              // recorded: one of so many parts of every path, where they were thinned out

  Activity activity(const ActivityRef& ref) const {
    Activity found = activities[ref.index];
    found.rank = (found.rank + ref.turn) % ranks;
    if (found.peer != no_rank) found.peer = (found.peer + ref.turn) % ranks;
    return found;
  }
};

// invalid_argument: send and recv, which are no collectives, and encoded algorithms without a wire format.
// out_of_resources: see write_programs(), or most ranks send to most others at once, and there are thousands, or those
// that are simulated send more than 600 million messages. internal: the schedules do not come to an end (run verify()).
Result<Simulation> simulate(const Network& network, const SimulatedCall& call);

}  // namespace hocket
