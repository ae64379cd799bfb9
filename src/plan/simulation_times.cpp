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
    const bool local = network_.host_of(rank) == network_.host_of(peer_of(rank, step));
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
  go_to_link({.kind = Event::Kind::travels, .rank = rank, .number = slot, .bytes = bytes, .cause = cause});
}

// To the next link of its route, or the one that stands for it. Each serves messages in the order in which their heads
// come to it, so one that waits for an earlier link does not stand in the way of others at the next; of those that come
// at one time, the one from whom its receiver's schedule hears first.
void SimulationRun::go_to_link(const Event& message) {
  const Instruction& instruction = at(message.rank, message.number);
  network_.find_route(message.rank, peer_of(message.rank, instruction.step), route_);
  const std::uint32_t link = route_.links[message.hop];
  const Rank owner = network_.first_rank_of(link);
  at_links_.push_back({.link = network_.turned_back(link, turn_of(owner)),
                       .last = message.hop + 1 == route_.links.size(),
                       .latency = route_.latency,
                       .message = message});
  const std::uint32_t place = at_links_.back().link;
  const std::uint32_t far_end = state(message.rank).channels[instruction.channel].far_end;
  const auto distance = static_cast<std::uint64_t>((message.rank - owner + network_.size()) % network_.size());
  link_turns_.add(place, std::uint64_t{place} << 32 | far_end, distance << 32 | message.number);
}

void SimulationRun::pass_links() {
  while (!at_links_.empty()) {
    std::swap(at_links_, passing_);
    link_turns_.take([&](std::uint32_t index) { pass(passing_[index]); });
    passing_.clear();
  }
}

void SimulationRun::pass(AtLink at) {
  Event& message = at.message;
  const Picoseconds head = std::max(events_.now(), link_free_[at.link]);
  message.cause.shares.link_wait += head - events_.now();
  link_free_[at.link] = head + picoseconds(static_cast<double>(message.bytes) * network_.wire_per_byte(at.link));
  message.tail = std::max(message.tail, link_free_[at.link]);
  ++message.hop;
  if (at.last) return deliver(at, head);
  if (head > events_.now()) return events_.add(head, message);
  go_to_link(message);
}

void SimulationRun::deliver(const AtLink& at_link, Picoseconds head) {
  const Event& message = at_link.message;
  const Picoseconds tail = std::max(message.tail, head);
  Cause cause = message.cause;
  cause.shares.wire += tail - head;
  events_.add(tail, {.kind = Event::Kind::sent,
                     .rank = message.rank,
                     .number = message.number,
                     .bytes = message.bytes,
                     .cause = cause});
  const Picoseconds arrival = tail + at_link.latency;
  cause.shares.latency += at_link.latency;
  const Instruction& instruction = at(message.rank, message.number);
  const Rank peer = peer_of(message.rank, instruction.step), turn = turn_of(peer);
  if (call_.record) {
    cause.activity = record({.rank = message.rank,
                             .step = message.number,
                             .kind = StepKind::send,
                             .on_wire = true,
                             .bytes = message.bytes,
                             .begin = head,
                             .end = arrival},
                            message.cause);
    cause.activity.turn = (network_.size() - turn) % network_.size();  // as the one that stands for the peer sees it
  }
  const std::uint32_t far_end = state(message.rank).channels[instruction.channel].far_end;
  events_.add(
      arrival,
      {.kind = Event::Kind::arrived, .rank = peer - turn, .number = far_end, .bytes = message.bytes, .cause = cause});
}

// The step comes as a slot and the peer is looked up.
ActivityRef SimulationRun::record(Activity activity, const Cause& cause) {
  const Step& step = at(activity.rank, activity.step).step;
  const RankState& own = state(activity.rank);
  activity.step = static_cast<std::uint32_t>(activity.step % own.steps().instructions.size()) / interleave_;
  if (step.peer != no_rank) activity.peer = peer_of(activity.rank, step);
  activity.after = cause.activity;
  return log_.add(activity);
}

void SimulationRun::thin_out() {
  const ActivityLog::Renewed renewed = log_.thin();
  const auto renew = [&](Cause& cause) { cause.activity = renewed(cause.activity); };
  events_.visit([&](Event& event) { renew(event.cause); });
  for (RankState& rank : ranks_) {
    for (Task& task : rank.tasks) renew(task.cause);
  }
  renew(last_);
}

// Takes up all events of one generation; those of one rank, or of ranks that share cores, in their order.
void SimulationRun::take_turn() {
  for (const Event& event : generation_) {
    const Rank place = cores_.empty() ? event.rank : network_.host_of(event.rank);
    const auto kind = static_cast<std::uint64_t>(event.kind);
    event_turns_.add(static_cast<std::size_t>(place), static_cast<std::uint64_t>(event.rank) << 8 | kind, event.number);
  }
  event_turns_.take([&](std::uint32_t index) { handle(generation_[index]); });
  pass_links();
}

void SimulationRun::handle(const Event& event) {
  if (event.kind == Event::Kind::travels) return go_to_link(event);
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
