#include "src/exec/schedule_operation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/arithmetic.hpp"
#include "src/exec/operation_queue.hpp"

namespace hocket {
namespace {

std::vector<Direction> directions_of(const Program& program, const Context& context) {
  std::vector<Direction> directions;
  directions.reserve(program.channels.size());
  for (const Channel& channel : program.channels) {
    directions.push_back({.peer = context.peer_of(channel.peer), .outgoing = channel.outgoing});
  }
  return directions;
}

}  // namespace

ScheduleOperation::ScheduleOperation(std::shared_ptr<const Plan> plan, std::shared_ptr<Context> context)
    : Operation(std::move(context)),
      plan_(std::move(plan)),
      codec_(wire_codec(plan_->key.wire)),
      steps_(this->context().shared().steps) {
  make_room();
}

// For the state of a run of the plan.
void ScheduleOperation::make_room() {
  directions_ = directions_of(plan_->program, context());
  const Program& program = plan_->program;
  const std::size_t in_flight = std::min(plan_->groups, groups_in_flight);
  slots_.resize(program.instructions.size() * in_flight);
  for (std::uint32_t index = 0; index < slots_.size(); ++index) {
    slots_[index].on_done = on_done;
    slots_[index].operation = this;
    slots_[index].index = index;
    slots_[index].instruction = index % static_cast<std::uint32_t>(program.instructions.size());
  }
  channels_.resize(program.channels.size());
  for (std::size_t i = 0; i < channels_.size(); ++i) channels_[i].counters = &context().with(program.channels[i].peer);
  done_.reserve(slots_.size());
  locals_.reserve(slots_.size());
  pumps_.reserve(slots_.size());
  if (plan_->scratch_bytes != 0) scratch_ = std::make_unique<std::byte[]>(plan_->scratch_bytes * in_flight);
}

Status ScheduleOperation::start(const Tag& tag, Peers& peers) {
  tag_ = message_tag_ = tag;
  message_tag_.call = as_sent(tag.call);
  groups_begun_ = groups_done_ = 0;
  pumps_.clear();
  locals_.clear();
  done_.clear();
  left_ = {};
  if (plan_->program.instructions.empty()) groups_done_ = plan_->groups;
  if (complete()) return {};
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    Link* known = channels_[i].link;  // of the run before
    if (known == nullptr) {
      auto link = peers.link(directions_[i].peer, deadline().later(OperationQueue::link_grace));
      if (!link.ok()) return link.status();
      known = *link;
    }
    channels_[i] = {.link = known, .counters = channels_[i].counters};
  }
  begin_groups();
  return {};
}

// Groups begin in order, each as soon as the one two before it is complete.
void ScheduleOperation::begin_groups() {
  while (groups_begun_ < plan_->groups && left_[groups_begun_ % groups_in_flight] == 0) begin_group(groups_begun_);
}

void ScheduleOperation::begin_group(std::size_t group) {
  const auto& instructions = plan_->program.instructions;
  const std::size_t half = group % groups_in_flight;
  const auto first = static_cast<std::uint32_t>(half * instructions.size());
  left_[half] = static_cast<std::uint32_t>(instructions.size());
  group_at_[half] = group;
  groups_begun_ = group + 1;
  for (std::uint32_t i = 0; i < instructions.size(); ++i) {
    slots_[first + i].waits = instructions[i].waits;
    slots_[first + i].ready = false;
  }
  for (std::uint32_t i = 0; i < instructions.size(); ++i) {
    if (instructions[i].waits == 0) make_ready(first + i);
  }
}

void ScheduleOperation::make_ready(std::uint32_t slot) {
  if (copied_ != nullptr && holds_back(slot)) return;
  const Instruction& instruction = instruction_of(slot);
  slots_[slot].ready = true;
  if (instruction.channel == no_channel) {
    locals_.push_back(slot);
  } else {
    pumps_.push_back(instruction.channel);
  }
}

bool ScheduleOperation::advance(Counters& counters) {
  bool happened = false;
  while (failure().ok()) {
    if (!done_.empty()) {
      const std::uint32_t slot = done_.back();
      done_.pop_back();
      complete_slot(slot);
    } else if (!pumps_.empty()) {  // messages first: peers wait for them
      const std::uint32_t channel = pumps_.back();
      pumps_.pop_back();
      pump(channel, counters);
    } else if (!locals_.empty()) {
      const std::uint32_t slot = locals_.back();
      locals_.pop_back();
      run_local(slot);
    } else {
      break;
    }
    happened = true;
  }
  return happened;
}

// Posts the channel's messages in their order, as far as they are ready.
void ScheduleOperation::pump(std::uint32_t channel_index, Counters& counters) {
  const auto& order = plan_->program.channels[channel_index].instructions;
  const auto& instructions = plan_->program.instructions;
  ChannelState& channel = channels_[channel_index];
  while (channel.group < groups_begun_ && failure().ok()) {
    const std::size_t half = channel.group % groups_in_flight;
    const auto slot = static_cast<std::uint32_t>(half * instructions.size() + order[channel.position]);
    if (!slots_[slot].ready) return;
    const std::size_t group = channel.group;
    if (++channel.position == order.size()) {
      channel.position = 0;
      ++channel.group;
    }
    post(slot, group, channel, counters);
  }
}

void ScheduleOperation::post(std::uint32_t slot, std::size_t group, ChannelState& channel, Counters& counters) {
  const Instruction& instruction = instruction_of(slot);
  const Step& step = instruction.step;
  const bool sends = step.kind == StepKind::send;
  const Range& range = sends ? step.left : step.to;
  const std::uint32_t index = slots_[slot].instruction;
  const Extent extent = plan_->extent(index, sends ? Operand::left : Operand::to, group);
  const bool first = group == 0 && instruction.piece == 0;
  const Layout& layout = plan_->layout;
  if (extent.bytes == 0 && !(first && layout.empty_travel())) return complete_slot(slot);  // the peer finds the same
  Tag tag = message_tag_;
  if (layout.sizes_travel()) tag.call.count = layout.block_elements(range);
  Message message{.tag = tag, .at = address(range, extent, group), .mine = nullptr, .step = &step};
  if (sends && first) ++counters.steps;
  if (step.kind == StepKind::recv_reduce) {
    message.mine = address(step.left, plan_->extent(index, Operand::left, group), group);
  }
  if (steps_ != nullptr) slots_[slot].record = steps_->begin(tag_, step.kind, step.peer, extent.bytes);
  if (extent.bytes > message_bytes_max) return post_in_pieces(slot, message, extent.bytes, channel, counters);
  count(sends, 1, extent.bytes, channel, counters);
  hand_over(slots_[slot], message, 0, extent.bytes, channel);
}

void ScheduleOperation::count(bool sends, std::size_t messages, std::size_t bytes, ChannelState& channel,
                              Counters& counters) {
  if (sends) {
    counters.messages_sent += messages;
    counters.bytes_sent += bytes;
    channel.counters->sent(messages, bytes);
  } else {
    counters.bytes_received += bytes;
    channel.counters->received(messages, bytes);
  }
}

// Both ends cut alike, between elements.
void ScheduleOperation::post_in_pieces(std::uint32_t slot, const Message& message, std::size_t bytes,
                                       ChannelState& channel, Counters& counters) {
  const std::size_t longest = round_down(message_bytes_max, plan_->key.element_bytes);
  const std::size_t pieces = divide_up(bytes, longest);
  slots_[slot].pieces_behind = static_cast<std::uint32_t>(pieces - 1);
  count(message.step->kind == StepKind::send, pieces, bytes, channel, counters);
  for (std::size_t offset = 0; offset < bytes; offset += longest) {
    hand_over(slots_[slot], message, offset, std::min(longest, bytes - offset), channel);
  }
}

void ScheduleOperation::hand_over(Completion& completion, const Message& message, std::size_t offset, std::size_t bytes,
                                  ChannelState& channel) {
  ++channel.outstanding;
  switch (message.step->kind) {
    case StepKind::send: return channel.link->send(message.tag, ConstBuffer(message.at + offset, bytes), completion);
    case StepKind::recv: return channel.link->recv(message.tag, Buffer{message.at + offset, bytes}, completion);
    default: break;
  }
  const Reduction reduction = reduction_of(*message.step);
  channel.link->recv_reduce(message.tag, ConstBuffer(message.mine + offset * reduction.mine_width, bytes),
                            Buffer{message.at + offset * reduction.to_width, bytes}, reduction, completion);
}

Reduction ScheduleOperation::reduction_of(const Step& step) const {
  Reduction reduction = binding().reduction;
  reduction.swapped = step.swapped;
  return reduction.between(step.left.space == Space::wide, step.to.space == Space::wide);
}

std::byte* ScheduleOperation::address(const Range& range, const Extent& extent, std::size_t group) {
  switch (range.space) {
    // Steps never write the input out of place (verified), so taking const away here is only for the common type.
    case Space::input: return const_cast<std::byte*>(binding().input) + extent.offset;
    case Space::output: return binding().output + extent.offset;
    case Space::scratch:
    case Space::encoded:
    case Space::wide: break;
  }
  return scratch_.get() + (group % groups_in_flight) * plan_->scratch_bytes + extent.offset;
}

void ScheduleOperation::on_done(Completion& completion, const Status& status) {
  auto& slot = static_cast<Slot&>(completion);
  ScheduleOperation& self = *slot.operation;
  --self.channels_[self.plan_->program.instructions[slot.instruction].channel].outstanding;
  if (!status.ok()) return self.fail(status);
  if (slot.pieces_behind == 0) {
    if (self.steps_ != nullptr) self.steps_->end(slot.record);
    self.done_.push_back(slot.index);
  } else {
    --slot.pieces_behind;
  }
}

void ScheduleOperation::complete_slot(std::uint32_t slot) {
  if (binding().user && !binding().user->failure().ok()) return fail(binding().user->failure());
  const Program& program = plan_->program;
  const std::size_t half = half_of(slot);
  const std::uint32_t first = slot - slots_[slot].instruction;
  for (const std::uint32_t successor : program.successors_of(instruction_of(slot))) {
    if (--slots_[first + successor].waits == 0) make_ready(first + successor);
  }
  if (--left_[half] != 0) return;
  divide_output(group_at_[half]);
  if (copied_ != nullptr) let_output_leave(group_at_[half]);
  ++groups_done_;
  begin_groups();
}

// ---- waiting --------------------------------------------------------------------------------------------------------

// All peers, not only those it waits for: a peer that waits for this rank must learn that it is alive.
void ScheduleOperation::tell_waiting(Rank missing, Rank witness) {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const auto same_link = [&](const ChannelState& other) { return other.link == channels_[i].link; };
    const auto end = channels_.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(channels_.begin(), end, same_link)) continue;
    channels_[i].link->tell_waiting({.tag = tag_, .missing = missing, .witness = witness});
  }
}

Operation::Missing ScheduleOperation::missing() const {
  Missing missing;
  for (const bool outgoing : {false, true}) {  // a rank that should have sent is the likelier culprit
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      if (channels_[i].outstanding == 0 || directions_[i].outgoing != outgoing) continue;
      const Rank peer = directions_[i].peer;
      missing.peers.push_back(peer);
      missing.text += fmt::format("{}{} rank {}", missing.text.empty() ? "" : ", ",
                                  outgoing ? "sending to" : "receiving from", peer);
    }
  }
  return missing;
}

Rank ScheduleOperation::awaited() const {
  for (const bool outgoing : {false, true}) {
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      if (channels_[i].outstanding == 0 || directions_[i].outgoing != outgoing) continue;
      return plan_->program.channels[i].peer;
    }
  }
  return no_rank;
}

}  // namespace hocket
