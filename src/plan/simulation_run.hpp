// One run of the simulator: what ranks, channels and links are doing, and the events to come.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

#include "src/plan/event_queue.hpp"
#include "src/plan/layout.hpp"
#include "src/plan/shared_programs.hpp"
#include "src/plan/simulate.hpp"
#include "src/plan/slicing.hpp"

namespace hocket {

class SimulationRun {
 public:
  // The network, the call and the layout outlive it.
  SimulationRun(const Network& network, const SimulatedCall& call, const Layout& layout, std::uint32_t interleave)
      : network_(network),
        call_(call),
        layout_(layout),
        interleave_(interleave),
        groups_per_call_((layout.slices() + interleave - 1) / interleave),
        groups_(groups_per_call_ * call.calls),
        link_free_(network.links()),
        work_by_host_(static_cast<std::size_t>(network.hosts())),
        cores_(network.cores_per_host() == 0 ? 0 : static_cast<std::size_t>(network.hosts())),
        crowded_(network.is_crowded()) {
    for (Cores& cores : cores_) {
      for (Rank core = 0; core < network.cores_per_host(); ++core) cores.push(0);
    }
  }

  // internal: somebody sends to a rank that receives nothing from it. out_of_resources: too many channels or
  // messages.
  Status prepare(std::vector<RankProgram> programs);
  // Once, after prepare(). internal: the schedules do not come to an end.
  Result<Simulation> run();

 private:
  // How something came about: what the time until now was spent with, and the last activity.
  struct Cause {
    TimeShares shares;
    std::uint32_t activity = no_activity;
  };

  // One step of one rank, for one of the groups in flight: half · instructions + instruction.
  struct Place {
    Rank rank = 0;
    std::uint32_t slot = 0;
  };

  struct Task {
    std::uint32_t slot = 0;
    std::size_t bytes = 0;
    Picoseconds ready = 0;
    Cause cause;
  };

  struct ChannelState {
    std::size_t group = 0;       // of the next message
    std::uint32_t position = 0;  // of the next message in its group
    std::uint32_t arrived = 0;   // incoming: messages that nobody has received yet
    std::uint32_t far_end = 0;   // outgoing: the peer's channel
    bool has_task = false;       // the processor has one of its messages to do; those behind wait for that
  };

  struct RankState {
    RankProgram program;
    std::vector<std::uint64_t> complete;  // a bit for each slot
    std::vector<ChannelState> channels;
    std::size_t groups_begun = 0, groups_done = 0;
    std::size_t group_at[groups_in_flight] = {};
    std::size_t left[groups_in_flight] = {};
    std::deque<Task> tasks;  // of the processor, after the one that it does now
    bool busy = false;
    std::uint64_t messages = 0, bytes = 0;

    const Program& steps() const { return program.shared->program; }
  };

  struct Event {
    enum class Kind : std::uint8_t { worked, travels, sent, arrived };
    Kind kind = Kind::worked;
    Rank rank = 0;
    std::uint32_t number = 0;  // arrived: channel, else slot
    std::size_t bytes = 0;
    Cause cause = {};
    std::uint32_t hop = 0;  // travels: links that it has
    Picoseconds tail = 0;   // and when its end leaves the slowest of them
  };

  struct Done {
    Place place;
    Cause cause;
  };

  using Cores = std::priority_queue<Picoseconds, std::vector<Picoseconds>, std::greater<>>;  // when each is free

  RankState& state(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  Status connect();
  std::size_t bytes_of(const RankState& rank, const Instruction& instruction, const Range& range,
                       std::size_t group) const;
  bool is_ready(const RankState& rank, std::uint32_t half, std::uint32_t index) const;
  void begin_groups(Rank rank, const Cause& cause);
  void pump(Rank rank, std::uint32_t channel, const Cause& cause);
  void start_local(Rank rank, std::uint32_t slot, const Cause& cause);
  void add_task(Rank rank, Task task);
  void work(Rank rank, const Task& task, bool wakes);
  Picoseconds duration(Rank rank, const Step& step, std::size_t bytes, bool wakes);
  void transmit(Rank rank, std::uint32_t slot, std::size_t bytes, const Cause& cause);
  void travel(Event message);
  void complete(const Done& done);
  void complete_all();
  void handle(const Event& event);
  std::uint32_t record(Activity activity, const Cause& cause);
  const Instruction& at(Rank rank, std::uint32_t slot) {
    const auto& instructions = state(rank).steps().instructions;
    return instructions[slot % instructions.size()];
  }
  void finish();

  const Network& network_;
  const SimulatedCall& call_;
  const Layout& layout_;
  std::uint32_t interleave_;
  std::size_t groups_per_call_;
  std::size_t groups_;  // of all calls
  std::vector<RankState> ranks_;
  std::vector<Picoseconds> link_free_;
  std::vector<Picoseconds> work_by_host_;
  std::vector<Cores> cores_;  // by host; empty: every rank has one
  bool crowded_;              // ranks that had nothing to do must wake up
  EventQueue<Event> events_;
  std::vector<Done> done_;
  Network::Route route_;
  Cause last_;
  Simulation result_;
};

}  // namespace hocket
