// What takes time in a simulated run: work on processors, and messages on their way.
#include "src/plan/simulation_run.hpp"

namespace hocket {

Picoseconds SimulationRun::duration(Rank rank, const Step& step, std::size_t bytes, bool wakes) {
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
      time = cost.receive + size * cost.receive_per_byte + (wakes ? cost.wake : 0);
      if (step.kind == StepKind::recv_reduce) time += size * costs.reduce_per_byte;
    }
  }
  return picoseconds(time * network_.slowness_of(rank));
}

void SimulationRun::add_task(Rank rank, Task task) {
  RankState& own = state(rank);
  if (own.busy) {
    own.tasks.push_back(task);
  } else {
    own.busy = true;
    work(rank, task, crowded_ && events_.now() != 0);
  }
}

void SimulationRun::work(Rank rank, const Task& task, bool wakes) {
  const Step& step = at(rank, task.slot).step;
  const auto host = static_cast<std::size_t>(network_.host_of(rank));
  const Picoseconds time = duration(rank, step, task.bytes, wakes);
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

void SimulationRun::transmit(Rank rank, std::uint32_t slot, std::size_t bytes, const Cause& cause) {
  RankState& own = state(rank);
  ++own.messages;
  own.bytes += bytes;
  travel({.kind = Event::Kind::travels, .rank = rank, .number = slot, .bytes = bytes, .cause = cause});
}

// From link to link. Each serves messages in the order in which their heads come to it, so one that waits for an
// earlier link does not stand in the way of others at the next.
void SimulationRun::travel(Event message) {
  const Instruction& instruction = at(message.rank, message.number);
  const Rank peer = state(message.rank).program.peers[static_cast<std::size_t>(instruction.step.peer)];
  network_.find_route(message.rank, peer, route_);
  Picoseconds head = events_.now();
  while (message.hop < route_.links.size()) {
    if (head > events_.now()) return events_.add(head, message);
    const std::uint32_t link = route_.links[message.hop++];
    head = std::max(head, link_free_[link]);
    message.cause.shares.link_wait += head - events_.now();
    link_free_[link] = head + picoseconds(static_cast<double>(message.bytes) * network_.wire_per_byte(link));
    message.tail = std::max(message.tail, link_free_[link]);
  }
  const Picoseconds tail = std::max(message.tail, head);
  Cause cause = message.cause;
  cause.shares.wire += tail - head;
  events_.add(tail, {.kind = Event::Kind::sent,
                     .rank = message.rank,
                     .number = message.number,
                     .bytes = message.bytes,
                     .cause = cause});
  const Picoseconds arrival = tail + route_.latency;
  cause.shares.latency += route_.latency;
  if (call_.record) {
    cause.activity = record({.rank = message.rank,
                             .step = message.number,
                             .kind = StepKind::send,
                             .on_wire = true,
                             .bytes = message.bytes,
                             .begin = head,
                             .end = arrival},
                            message.cause);
  }
  const std::uint32_t far_end = state(message.rank).channels[instruction.channel].far_end;
  events_.add(arrival,
              {.kind = Event::Kind::arrived, .rank = peer, .number = far_end, .bytes = message.bytes, .cause = cause});
}

// The step comes as a slot and the peer is looked up.
std::uint32_t SimulationRun::record(Activity activity, const Cause& cause) {
  const Step& step = at(activity.rank, activity.step).step;
  const RankState& own = state(activity.rank);
  activity.step = static_cast<std::uint32_t>(activity.step % own.steps().instructions.size()) / interleave_;
  if (step.peer != no_rank) activity.peer = own.program.peers[static_cast<std::size_t>(step.peer)];
  activity.after = cause.activity;
  result_.activities.push_back(activity);
  return static_cast<std::uint32_t>(result_.activities.size() - 1);
}

void SimulationRun::handle(const Event& event) {
  if (event.kind == Event::Kind::travels) return travel(event);
  if (event.kind == Event::Kind::arrived) {
    ++state(event.rank).channels[event.number].arrived;
    pump(event.rank, event.number, event.cause);
    return complete_all();
  }
  if (event.kind == Event::Kind::sent) {
    done_.push_back({{event.rank, event.number}, event.cause});
    return complete_all();
  }
  const Instruction& instruction = at(event.rank, event.number);
  if (instruction.channel != no_channel) {
    state(event.rank).channels[instruction.channel].has_task = false;
    pump(event.rank, instruction.channel, event.cause);
  }
  if (instruction.step.kind == StepKind::send) {
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
  work(event.rank, next, false);
}

}  // namespace hocket
