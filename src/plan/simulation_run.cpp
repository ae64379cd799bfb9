#include "src/plan/simulation_run.hpp"

#include <fmt/format.h>

namespace hocket {
namespace {

// All of them may have a message under way at once, which takes about 2 GB.
constexpr std::size_t channels_max = 4'000'000;

}  // namespace

// ---- before the run -------------------------------------------------------------------------------------------------

Status SimulationRun::prepare(std::vector<RankProgram> programs) {
  ranks_.resize(programs.size());
  std::size_t channels = 0;
  const std::size_t halves = std::min<std::size_t>(groups_, groups_in_flight);
  for (std::size_t rank = 0; rank < programs.size(); ++rank) {
    RankState& made = ranks_[rank];
    made.program = std::move(programs[rank]);
    made.complete.resize((made.steps().instructions.size() * halves + 63) / 64);
    channels += made.steps().channels.size();
    if (channels > channels_max) {
      return Status(
          Code::out_of_resources,
          fmt::format("{} {} on {} ranks has messages between too many pairs of ranks at once; take fewer ranks",
                      call_.algorithm->name, name_of(call_.algorithm->collective), network_.size()));
    }
    made.channels.resize(made.steps().channels.size());
  }
  return connect();
}

Status SimulationRun::connect() {
  // By rank: incoming channels in the order of their peers.
  struct Incoming {
    Rank peer;
    std::uint32_t channel;
  };
  const auto before = [](const Incoming& a, const Incoming& b) { return a.peer < b.peer; };
  std::vector<std::vector<Incoming>> incoming(ranks_.size());
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const auto& channels = ranks_[rank].steps().channels;
    for (std::uint32_t i = 0; i < channels.size(); ++i) {
      if (channels[i].outgoing) continue;
      incoming[rank].push_back({ranks_[rank].program.peers[static_cast<std::size_t>(channels[i].peer)], i});
    }
    std::ranges::sort(incoming[rank], before);
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const auto& channels = ranks_[rank].steps().channels;
    for (std::uint32_t i = 0; i < channels.size(); ++i) {
      if (!channels[i].outgoing) continue;
      const Rank peer = ranks_[rank].program.peers[static_cast<std::size_t>(channels[i].peer)];
      // As the one that stands for the peer sees it.
      const Rank turn = turn_of(peer);
      const auto& choices = incoming[static_cast<std::size_t>(peer - turn)];
      const Incoming wanted{(static_cast<Rank>(rank) - turn + network_.size()) % network_.size(), 0};
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

std::size_t SimulationRun::bytes_of(const RankState& rank, const Instruction& instruction, const Range& range,
                                    std::size_t group) const {
  Range actual = range;
  actual.chunk = rank.program.chunk(range.chunk);
  return layout_.extent(actual, group % groups_per_call_ * interleave_ + instruction.piece).bytes;
}

bool SimulationRun::is_ready(const RankState& rank, std::uint32_t half, std::uint32_t index) const {
  const std::size_t first = half * rank.steps().instructions.size();
  return std::ranges::all_of(rank.program.shared->before_of(index), [&](std::uint32_t earlier) {
    const std::size_t slot = first + earlier;
    return (rank.complete[slot / 64] >> (slot % 64) & 1) != 0;
  });
}

// Groups begin in order, each as soon as the one two before it is complete, and the first of a call when the last call
// is.
void SimulationRun::begin_groups(Rank rank, const Cause& cause) {
  RankState& own = state(rank);
  const std::size_t count = own.steps().instructions.size();
  const auto may_begin = [&] {
    const bool begins_call = own.groups_begun % groups_per_call_ == 0;
    return own.groups_begun < groups_ && own.left[own.groups_begun % groups_in_flight] == 0 &&
           (!begins_call || own.groups_done == own.groups_begun);
  };
  while (may_begin()) {
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

// Starts the channel's messages in their order, as far as they are ready and, if incoming, have arrived. One at a time
// goes to the processor: thousands may be ready, which would take memory for each.
void SimulationRun::pump(Rank rank, std::uint32_t channel_index, const Cause& cause) {
  RankState& own = state(rank);
  const Channel& channel = own.steps().channels[channel_index];
  ChannelState& at = own.channels[channel_index];
  while (!at.has_task && at.group < own.groups_begun) {
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
      at.has_task = true;
      add_task(rank, {.slot = slot, .bytes = bytes, .ready = events_.now(), .cause = cause});
    }
  }
}

void SimulationRun::start_local(Rank rank, std::uint32_t slot, const Cause& cause) {
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

void SimulationRun::complete(const Done& done) {
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
  if (++own.groups_done == groups_) end_of(rank, slot % count / interleave_, done.cause);
  begin_groups(rank, done.cause);
}

// Of those that end last, the first one counts: it is simulated.
void SimulationRun::end_of(Rank rank, std::uint32_t step, const Cause& cause) {
  if (events_.now() == last_end_ && rank > result_.last_rank) return;
  last_end_ = events_.now();
  result_.last_rank = rank;
  result_.last_step = step;
  last_ = cause;
}

void SimulationRun::complete_all() {
  while (!done_.empty()) {
    const Done done = done_.back();
    done_.pop_back();
    complete(done);
  }
}

// ---- the run --------------------------------------------------------------------------------------------------------

Result<Simulation> SimulationRun::run() {
  for (Rank rank = 0; rank < period_; ++rank) {
    if (state(rank).steps().instructions.empty()) state(rank).groups_done = state(rank).groups_begun = groups_;
    begin_groups(rank, {});
    complete_all();
  }
  while (events_.next(generation_)) {
    take_turn();
    if (call_.record && log_.is_full()) thin_out();
  }
  for (Rank rank = 0; rank < period_; ++rank) {
    if (state(rank).groups_done == groups_) continue;
    return Status(Code::internal, fmt::format("{} {}: rank {} never ends; run hocket-plan verify",
                                              call_.algorithm->name, name_of(call_.algorithm->collective), rank));
  }
  finish();
  return std::move(result_);
}

void SimulationRun::finish() {
  result_.critical_path = last_.shares;
  result_.time = last_.shares.sum();
  for (const RankState& rank : ranks_) {
    result_.messages += rank.messages;
    result_.bytes += rank.bytes;
    result_.messages_max = std::max(result_.messages_max, rank.messages);
    result_.bytes_max = std::max(result_.bytes_max, rank.bytes);
  }
  const auto alike = static_cast<std::uint64_t>(network_.size() / period_);
  for (std::uint64_t* of_all : {&result_.steps, &result_.messages, &result_.bytes}) *of_all *= alike;
  const Rank per_host = (network_.size() + network_.hosts() - 1) / network_.hosts();
  const Rank cores = network_.cores_per_host() == 0 ? per_host : std::min(network_.cores_per_host(), per_host);
  result_.processor_bound = *std::ranges::max_element(work_by_host_) / cores;
  result_.ranks = network_.size();
  result_.period = period_;
  result_.every = log_.every();
  result_.critical = log_.path_to(last_.activity);
  result_.activities = std::move(log_).take();
}

}  // namespace hocket
