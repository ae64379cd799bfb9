#include "src/plan/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>

#include "src/plan/event_queue.hpp"
#include "src/plan/layout.hpp"
#include "src/plan/shared_programs.hpp"

namespace hocket {
namespace {

constexpr std::uint32_t groups_in_flight = 2;  // as in the executor

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
  enum class Kind : std::uint8_t { worked, sent, arrived };
  Kind kind = Kind::worked;
  Rank rank = 0;
  std::uint32_t number = 0;  // arrived: channel, else slot
  std::size_t bytes = 0;
  Cause cause;
};

struct Done {
  Place place;
  Cause cause;
};

class Engine {
 public:
  Engine(const Network& network, const SimulatedCall& call, const Layout& layout, std::uint32_t interleave)
      : network_(network),
        call_(call),
        layout_(layout),
        interleave_(interleave),
        groups_((layout.slices() + interleave - 1) / interleave),
        link_free_(network.links()),
        work_by_host_(static_cast<std::size_t>(network.hosts())),
        cores_(network.cores_per_host() == 0 ? 0 : static_cast<std::size_t>(network.hosts())) {
    for (Cores& cores : cores_) {
      for (Rank core = 0; core < network.cores_per_host(); ++core) cores.push(0);
    }
  }

  Status prepare(std::vector<RankProgram> programs);
  Result<Simulation> run();

 private:
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
  void work(Rank rank, const Task& task);
  Picoseconds duration(Rank rank, const Step& step, std::size_t bytes);
  void transmit(Rank rank, std::uint32_t slot, std::size_t bytes, Cause cause);
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
  std::size_t groups_;
  std::vector<RankState> ranks_;
  std::vector<Picoseconds> link_free_;
  std::vector<Picoseconds> work_by_host_;
  std::vector<Cores> cores_;  // by host; empty: every rank has one
  EventQueue<Event> events_;
  std::vector<Done> done_;
  Network::Route route_;
  Cause last_;
  Simulation result_;
};

// ---- before the run -------------------------------------------------------------------------------------------------

Status Engine::prepare(std::vector<RankProgram> programs) {
  ranks_.resize(programs.size());
  const std::size_t halves = std::min<std::size_t>(groups_, groups_in_flight);
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    RankState& made = ranks_[rank];
    made.program = std::move(programs[rank]);
    made.complete.resize((made.steps().instructions.size() * halves + 63) / 64);
    made.channels.resize(made.steps().channels.size());
  }
  return connect();
}

Status Engine::connect() {
  // By rank: incoming channels in the order of peer and lane.
  struct Incoming {
    Rank peer;
    std::uint8_t lane;
    std::uint32_t channel;
  };
  const auto before = [](const Incoming& a, const Incoming& b) {
    return a.peer != b.peer ? a.peer < b.peer : a.lane < b.lane;
  };
  std::vector<std::vector<Incoming>> incoming(ranks_.size());
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const auto& channels = ranks_[rank].steps().channels;
    for (std::uint32_t i = 0; i < channels.size(); ++i) {
      if (channels[i].outgoing) continue;
      incoming[rank].push_back(
          {ranks_[rank].program.peers[static_cast<std::size_t>(channels[i].peer)], channels[i].lane, i});
    }
    std::ranges::sort(incoming[rank], before);
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const auto& channels = ranks_[rank].steps().channels;
    for (std::uint32_t i = 0; i < channels.size(); ++i) {
      if (!channels[i].outgoing) continue;
      const Rank peer = ranks_[rank].program.peers[static_cast<std::size_t>(channels[i].peer)];
      const auto& choices = incoming[static_cast<std::size_t>(peer)];
      const Incoming wanted{static_cast<Rank>(rank), channels[i].lane, 0};
      const auto found = std::ranges::lower_bound(choices, wanted, before);
      if (found == choices.end() || before(wanted, *found)) {
        return Status(Code::internal, fmt::format("rank {} sends to rank {}, which receives nothing from it; run "
                                                  "hocket-plan verify",
                                                  rank, peer));
      }
      ranks_[rank].channels[i].far_end = found->channel;
    }
  }
  return {};
}

// ---- what the executor does -----------------------------------------------------------------------------------------

std::size_t Engine::bytes_of(const RankState& rank, const Instruction& instruction, const Range& range,
                             std::size_t group) const {
  Range actual = range;
  actual.chunk = rank.program.chunk(range.chunk);
  return layout_.extent(actual, group * interleave_ + instruction.piece).bytes;
}

bool Engine::is_ready(const RankState& rank, std::uint32_t half, std::uint32_t index) const {
  const std::size_t first = half * rank.steps().instructions.size();
  return std::ranges::all_of(rank.program.shared->before_of(index), [&](std::uint32_t earlier) {
    const std::size_t slot = first + earlier;
    return (rank.complete[slot / 64] >> (slot % 64) & 1) != 0;
  });
}

// Groups begin in order, each as soon as the one two before it is complete.
void Engine::begin_groups(Rank rank, const Cause& cause) {
  RankState& own = state(rank);
  const std::size_t count = own.steps().instructions.size();
  while (own.groups_begun < groups_ && own.left[own.groups_begun % groups_in_flight] == 0) {
    const auto half = static_cast<std::uint32_t>(own.groups_begun % groups_in_flight);
    own.group_at[half] = own.groups_begun++;
    own.left[half] = count;
    for (std::size_t slot = half * count; slot < (half + 1) * count; ++slot) {
      own.complete[slot / 64] &= ~(std::uint64_t{1} << (slot % 64));
    }
    for (std::uint32_t channel = 0; channel < own.channels.size(); ++channel) pump(rank, channel, cause);
    for (std::uint32_t index = 0; index < count; ++index) {
      const Instruction& instruction = own.steps().instructions[index];
      if (instruction.channel != no_channel || instruction.waits != 0) continue;
      start_local(rank, static_cast<std::uint32_t>(half * count + index), cause);
    }
  }
}

// Starts the channel's messages in their order, as far as they are ready and, if incoming, have arrived.
void Engine::pump(Rank rank, std::uint32_t channel_index, const Cause& cause) {
  RankState& own = state(rank);
  const Channel& channel = own.steps().channels[channel_index];
  ChannelState& at = own.channels[channel_index];
  while (at.group < own.groups_begun) {
    const auto half = static_cast<std::uint32_t>(at.group % groups_in_flight);
    const std::uint32_t index = channel.instructions[at.position];
    if (!is_ready(own, half, index)) return;
    const Instruction& instruction = own.steps().instructions[index];
    const std::size_t bytes =
        bytes_of(own, instruction, channel.outgoing ? instruction.step.left : instruction.step.to, at.group);
    if (bytes != 0 && !channel.outgoing) {
      if (at.arrived == 0) return;
      --at.arrived;
    }
    if (++at.position == channel.instructions.size()) {
      at.position = 0;
      ++at.group;
    }
    const auto slot = static_cast<std::uint32_t>(half * own.steps().instructions.size() + index);
    if (bytes == 0) {
      done_.push_back({{rank, slot}, cause});
    } else {
      add_task(rank, {.slot = slot, .bytes = bytes, .ready = events_.now(), .cause = cause});
    }
  }
}

void Engine::start_local(Rank rank, std::uint32_t slot, const Cause& cause) {
  const RankState& own = state(rank);
  const Instruction& instruction = at(rank, slot);
  const std::size_t group = own.group_at[slot / own.steps().instructions.size()];
  const std::size_t bytes = bytes_of(own, instruction, instruction.step.to, group);
  if (bytes == 0) {
    done_.push_back({{rank, slot}, cause});
  } else {
    add_task(rank, {.slot = slot, .bytes = bytes, .ready = events_.now(), .cause = cause});
  }
}

void Engine::complete(const Done& done) {
  const auto [rank, slot] = done.place;
  RankState& own = state(rank);
  const Program& program = own.steps();
  const auto count = static_cast<std::uint32_t>(program.instructions.size());
  const std::uint32_t half = slot / count;
  own.complete[slot / 64] |= std::uint64_t{1} << (slot % 64);
  for (const std::uint32_t later : program.successors_of(program.instructions[slot % count])) {
    const std::uint32_t channel = program.instructions[later].channel;
    if (channel != no_channel) {
      pump(rank, channel, done.cause);
    } else if (is_ready(own, half, later)) {  // only now, for this was the last that it waited for
      start_local(rank, half * count + later, done.cause);
    }
  }
  if (--own.left[half] != 0) return;
  if (++own.groups_done == groups_) {
    result_.last_rank = rank;
    result_.last_step = slot % count / interleave_;
    last_ = done.cause;
  }
  begin_groups(rank, done.cause);
}

void Engine::complete_all() {
  while (!done_.empty()) {
    const Done done = done_.back();
    done_.pop_back();
    complete(done);
  }
}

// ---- what takes time ------------------------------------------------------------------------------------------------

Picoseconds Engine::duration(Rank rank, const Step& step, std::size_t bytes) {
  const auto size = static_cast<double>(bytes);
  const NetworkDescription& costs = network_.description();
  double time = 0;
  if (step.kind == StepKind::copy) {
    time = size * costs.copy_per_byte;
  } else if (step.kind == StepKind::reduce) {
    time = size * costs.reduce_per_byte;
  } else {
    const Rank peer = state(rank).program.peers[static_cast<std::size_t>(step.peer)];
    const bool local = network_.host_of(rank) == network_.host_of(peer);
    const LinkCost& cost = local ? costs.local : costs.link;
    if (step.kind == StepKind::send) {
      time = cost.send + size * cost.send_per_byte;
    } else {
      time = cost.receive + size * cost.receive_per_byte;
      if (step.kind == StepKind::recv_reduce) time += size * costs.reduce_per_byte;
    }
  }
  return picoseconds(time * network_.slowness_of(rank));
}

void Engine::add_task(Rank rank, Task task) {
  RankState& own = state(rank);
  if (own.busy) {
    own.tasks.push_back(task);
  } else {
    own.busy = true;
    work(rank, task);
  }
}

void Engine::work(Rank rank, const Task& task) {
  const Step& step = at(rank, task.slot).step;
  const auto host = static_cast<std::size_t>(network_.host_of(rank));
  const Picoseconds time = duration(rank, step, task.bytes);
  Picoseconds begin = events_.now();
  if (!cores_.empty() && time != 0) {
    begin = std::max(begin, cores_[host].top());
    cores_[host].pop();
    cores_[host].push(begin + time);
  }
  ++result_.steps;
  work_by_host_[host] += time;
  Event event{.kind = Event::Kind::worked, .rank = rank, .number = task.slot, .bytes = task.bytes, .cause = task.cause};
  event.cause.shares.processor_wait += begin - task.ready;
  event.cause.shares.processor += time;
  if (call_.record) {
    event.cause.activity = record(
        {.rank = rank, .step = task.slot, .kind = step.kind, .bytes = task.bytes, .begin = begin, .end = begin + time},
        task.cause);
  }
  events_.add(begin + time, event);
}

void Engine::transmit(Rank rank, std::uint32_t slot, std::size_t bytes, Cause cause) {
  RankState& own = state(rank);
  const Instruction& instruction = at(rank, slot);
  const Rank peer = own.program.peers[static_cast<std::size_t>(instruction.step.peer)];
  network_.find_route(rank, peer, route_);
  const Picoseconds now = events_.now();
  Picoseconds head = now, tail = now;
  for (const std::uint32_t link : route_.links) {
    head = std::max(head, link_free_[link]);
    link_free_[link] = head + picoseconds(static_cast<double>(bytes) * network_.wire_per_byte(link));
    tail = std::max(tail, link_free_[link]);
  }
  ++own.messages;
  own.bytes += bytes;
  const Picoseconds arrival = tail + route_.latency;
  const Cause before = cause;
  cause.shares.link_wait += head - now;
  cause.shares.wire += tail - head;
  events_.add(tail, {.kind = Event::Kind::sent, .rank = rank, .number = slot, .bytes = bytes, .cause = cause});
  cause.shares.latency += route_.latency;
  if (call_.record) {
    cause.activity = record({.rank = rank,
                             .step = slot,
                             .kind = StepKind::send,
                             .on_wire = true,
                             .bytes = bytes,
                             .begin = head,
                             .end = arrival},
                            before);
  }
  const std::uint32_t far_end = own.channels[instruction.channel].far_end;
  events_.add(arrival, {.kind = Event::Kind::arrived, .rank = peer, .number = far_end, .bytes = bytes, .cause = cause});
}

// The step comes as a slot and the peer is looked up.
std::uint32_t Engine::record(Activity activity, const Cause& cause) {
  const Step& step = at(activity.rank, activity.step).step;
  const RankState& own = state(activity.rank);
  activity.step = static_cast<std::uint32_t>(activity.step % own.steps().instructions.size()) / interleave_;
  if (step.peer != no_rank) activity.peer = own.program.peers[static_cast<std::size_t>(step.peer)];
  activity.after = cause.activity;
  result_.activities.push_back(activity);
  return static_cast<std::uint32_t>(result_.activities.size() - 1);
}

void Engine::handle(const Event& event) {
  if (event.kind == Event::Kind::arrived) {
    ++state(event.rank).channels[event.number].arrived;
    pump(event.rank, event.number, event.cause);
    return complete_all();
  }
  if (event.kind == Event::Kind::sent) {
    done_.push_back({{event.rank, event.number}, event.cause});
    return complete_all();
  }
  if (at(event.rank, event.number).step.kind == StepKind::send) {
    transmit(event.rank, event.number, event.bytes, event.cause);
  } else {
    done_.push_back({{event.rank, event.number}, event.cause});
    complete_all();
  }
  RankState& own = state(event.rank);
  own.busy = !own.tasks.empty();
  if (!own.busy) return;
  const Task next = own.tasks.front();
  own.tasks.pop_front();
  work(event.rank, next);
}

// ---- the run --------------------------------------------------------------------------------------------------------

Result<Simulation> Engine::run() {
  for (Rank rank = 0; rank < network_.size(); ++rank) {
    if (state(rank).steps().instructions.empty()) state(rank).groups_done = state(rank).groups_begun = groups_;
    begin_groups(rank, {});
    complete_all();
  }
  Event event;
  while (events_.next(event)) handle(event);
  for (Rank rank = 0; rank < network_.size(); ++rank) {
    if (state(rank).groups_done == groups_) continue;
    return Status(Code::internal, fmt::format("{} {}: rank {} never ends; run hocket-plan verify",
                                              call_.algorithm->name, name_of(call_.algorithm->collective), rank));
  }
  finish();
  return std::move(result_);
}

void Engine::finish() {
  result_.critical_path = last_.shares;
  result_.time = last_.shares.sum();
  for (const RankState& rank : ranks_) {
    result_.messages += rank.messages;
    result_.bytes += rank.bytes;
    result_.messages_max = std::max(result_.messages_max, rank.messages);
    result_.bytes_max = std::max(result_.bytes_max, rank.bytes);
  }
  const Rank per_host = (network_.size() + network_.hosts() - 1) / network_.hosts();
  const Rank cores = network_.cores_per_host() == 0 ? per_host : std::min(network_.cores_per_host(), per_host);
  result_.processor_bound = *std::ranges::max_element(work_by_host_) / cores;
  for (std::uint32_t at = last_.activity; at != no_activity; at = result_.activities[at].after) {
    result_.critical.push_back(at);
  }
  std::ranges::reverse(result_.critical);
}

}  // namespace

Result<Simulation> simulate(const Network& network, const SimulatedCall& call) {
  const Algorithm& algorithm = *call.algorithm;
  if (algorithm.collective == Collective::send || algorithm.collective == Collective::recv) {
    return Status(Code::invalid_argument, fmt::format("{} is between two ranks; only collectives can be simulated",
                                                      name_of(algorithm.collective)));
  }
  const Shape shape{.collective = algorithm.collective,
                    .size = network.size(),
                    .root = call.root,
                    .chunks = chunks_of(algorithm, network.size(), network.topology())};
  const Layout layout(shape, call.count, call.element_bytes, algorithm.whole ? 0 : call.slice_bytes);
  if (layout.slices() == 0) return Simulation{};
  const auto size_of_chunk = [&](std::uint32_t chunk, std::size_t slice) {
    return layout.extent({.chunk = chunk}, slice).bytes;
  };
  const std::size_t last_slice = layout.slices() - 1;
  const std::uint32_t interleave = layout.slices() >= 2 ? 2 : 1;  // as make_plan()
  Result<std::vector<RankProgram>> programs =
      write_programs({.algorithm = &algorithm,
                      .size = network.size(),
                      .root = call.root,
                      .topology = network.topology(),
                      .placement = call.placement,
                      .interleave = interleave,
                      .chunks_differ = size_of_chunk(0, 0) != size_of_chunk(shape.chunks - 1, 0) ||
                                       size_of_chunk(0, last_slice) != size_of_chunk(shape.chunks - 1, last_slice)});
  if (!programs) return programs.status();
  Engine engine(network, call, layout, interleave);
  if (Status status = engine.prepare(std::move(*programs)); !status) return status;
  return engine.run();
}

}  // namespace hocket
