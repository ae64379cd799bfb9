// One run of the simulator: what ranks, channels and links are doing, and the events to come.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

#include "src/plan/activity_log.hpp"
#include "src/plan/event_queue.hpp"
#include "src/plan/layout.hpp"
#include "src/plan/shared_programs.hpp"
#include "src/plan/simulate.hpp"
#include "src/plan/slicing.hpp"
#include "src/plan/turns.hpp"

namespace hocket {

class SimulationRun {
 public:
  // The network, the call and the layout outlive it. Ranks that are `period` apart are alike: those below stand for
  // all. A rank is always one of these here, but as a peer.
  SimulationRun(const Network& network, const SimulatedCall& call, const Layout& layout, std::uint32_t interleave,
                Rank period)
      : network_(network),
        call_(call),
        layout_(layout),
        interleave_(interleave),
        period_(period),
        groups_per_call_((layout.slices() + interleave - 1) / interleave),
        groups_(groups_per_call_ * call.calls),
        link_free_(network.links()),
        work_by_host_(static_cast<std::size_t>(network.hosts())),
        cores_(network.cores_per_host() == 0 ? 0 : static_cast<std::size_t>(network.hosts())),
        crowded_(network.is_crowded()),
        log_(network.size(), call.activities_max),
        event_turns_(static_cast<std::size_t>(network.size())),
        link_turns_(network.links()) {
    for (Cores& cores : cores_) {
      for (Rank core = 0; core < network.cores_per_host(); ++core) cores.push(0);
    }
  }

  // Takes the programs of the ranks below `period`. internal: somebody sends to a rank that receives nothing from it.
  // out_of_resources: too many channels.
  Status prepare(std::vector<RankProgram> programs);
  // Once, after prepare(). internal: the schedules do not come to an end.
  Result<Simulation> run();

 private:
  // How something came about: what the time until now was spent with, and the last activity.
  struct Cause {
    TimeShares shares;
    ActivityRef activity{};
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

  // A message whose head has come to a link.
  struct AtLink {
    std::uint32_t link = 0;  // the one that stands for it
    bool last = false;       // of its route
    Picoseconds latency = 0;
    Event message;
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
  void go_to_link(const Event& message);
  void pass_links();
  void pass(AtLink at);
  void deliver(const AtLink& at, Picoseconds head);
  void complete(const Done& done);
  void complete_all();
  void end_of(Rank rank, std::uint32_t step, const Cause& cause);
  void take_turn();
  void handle(const Event& event);
  ActivityRef record(Activity activity, const Cause& cause);
  void thin_out();
  Rank peer_of(Rank rank, const Step& step) const {
    return ranks_[static_cast<std::size_t>(rank)].program.peers[static_cast<std::size_t>(step.peer)];
  }
  // Of a rank that another one stands for: how many ranks further on it is.
  Rank turn_of(Rank rank) const { return rank - rank % period_; }
  const Instruction& at(Rank rank, std::uint32_t slot) {
    const auto& instructions = state(rank).steps().instructions;
    return instructions[slot % instructions.size()];
  }
  void finish();

  const Network& network_;
  const SimulatedCall& call_;
  const Layout& layout_;
  std::uint32_t interleave_;
  Rank period_;
  std::size_t groups_per_call_;
  std::size_t groups_;  // of all calls
  std::vector<RankState> ranks_;
  std::vector<Picoseconds> link_free_;
  std::vector<Picoseconds> work_by_host_;
  std::vector<Cores> cores_;  // by host; empty: every rank has one
  bool crowded_;              // ranks that had nothing to do must wake up
  EventQueue<Event> events_;
  std::vector<Event> generation_;  // that is taken up now
  std::vector<AtLink> at_links_, passing_;
  std::vector<Done> done_;
  Network::Route route_;
  Cause last_;
  Picoseconds last_end_ = -1;
  ActivityLog log_;
  Turns event_turns_, link_turns_;
  Simulation result_;
};

}  // namespace hocket
