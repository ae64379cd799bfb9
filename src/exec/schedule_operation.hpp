// ScheduleOperation: runs a plan over links. Holds what changes while it runs: ready counts and completions.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "src/exec/copied_memory.hpp"
#include "src/exec/encode.hpp"
#include "src/exec/operation.hpp"
#include "src/exec/step_recorder.hpp"
#include "src/plan/plan.hpp"
#include "src/plan/slicing.hpp"

namespace hocket {

class ScheduleOperation final : public Operation {
 public:
  ScheduleOperation(std::shared_ptr<const Plan> plan, std::shared_ptr<Context> context);

  const Plan& plan() const { return *plan_; }
  bool run_on(CopiedMemory* memory) override;
  void more_has_arrived() override;
  Status start(const Tag& tag, Peers& peers) override;
  bool advance(Counters& counters) override;
  bool complete() const override { return groups_done_ == plan_->groups || !failure().ok(); }
  std::span<const Direction> directions() const override { return directions_; }
  void tell_waiting(Rank missing, Rank witness) override;
  Missing missing() const override;
  Rank awaited() const override;
  std::string_view algorithm() const override { return plan_->key.algorithm->name; }
  WireFormat wire() const override { return plan_->key.wire; }

 private:
  // One instruction of one of the groups in flight.
  struct Slot : Completion {
    ScheduleOperation* operation = nullptr;
    std::uint32_t index = 0;        // into slots_
    std::uint32_t instruction = 0;  // in the program
    std::uint32_t waits = 0;
    std::uint32_t pieces_behind = 0;  // of a message that travels as several: how many follow the next to complete
    StepRecorder::Number record = 0;  // where steps are recorded
    bool ready = false;
  };
  struct ChannelState {
    Link* link = nullptr;
    PeerCounters* counters = nullptr;  // of its peer
    std::size_t group = 0;             // of the next message
    std::size_t position = 0;          // of the next message in its group
    std::uint32_t outstanding = 0;
  };

  void make_room();
  static void on_done(Completion& completion, const Status& status);
  const Instruction& instruction_of(std::uint32_t slot) const {
    return plan_->program.instructions[slots_[slot].instruction];
  }
  std::size_t half_of(std::uint32_t slot) const { return slot == slots_[slot].instruction ? 0 : 1; }
  void begin_groups();
  void begin_group(std::size_t group);
  void make_ready(std::uint32_t slot);
  // Where memory is copied meanwhile, which is not so in small calls: these must not pay for it.
  [[gnu::cold, gnu::noinline]] bool holds_back(std::uint32_t slot);
  [[gnu::cold, gnu::noinline]] void let_output_leave(std::size_t group);
  void pump(std::uint32_t channel, Counters& counters);
  void post(std::uint32_t slot, std::size_t group, ChannelState& channel, Counters& counters);
  static void count(bool sends, std::size_t messages, std::size_t bytes, ChannelState& channel, Counters& counters);
  struct Message {
    Tag tag;
    std::byte* at;
    const std::byte* mine;  // of what is received to be combined; else null
    const Step* step;
  };
  void post_in_pieces(std::uint32_t slot, const Message& message, std::size_t bytes, ChannelState& channel,
                      Counters& counters);
  void hand_over(Completion& completion, const Message& message, std::size_t offset, std::size_t bytes,
                 ChannelState& channel);
  Reduction reduction_of(const Step& step) const;
  void run_local(std::uint32_t slot);
  void copy(const Step& step, const Buffer& to, const Buffer& from) const;
  void complete_slot(std::uint32_t slot);
  void divide_output(std::size_t group);
  std::byte* address(const Range& range, const Extent& extent, std::size_t group);

  std::shared_ptr<const Plan> plan_;
  std::vector<Direction> directions_;  // of the plan's channels
  const WireCodec codec_;
  StepRecorder* const steps_;  // null: they are not recorded
  Tag tag_, message_tag_;      // of the call, and of its messages, which both ends name as their sender does
  std::vector<Slot> slots_;    // instructions × groups in flight
  std::vector<ChannelState> channels_;
  std::vector<std::uint32_t> pumps_;                      // channels whose head may have become ready
  std::vector<std::uint32_t> locals_;                     // slots to run here
  std::vector<std::uint32_t> done_;                       // slots that completed since the last advance()
  std::array<std::uint32_t, groups_in_flight> left_{};    // instructions not complete
  std::array<std::size_t, groups_in_flight> group_at_{};  // which group each half of slots_ runs
  std::size_t groups_begun_ = 0, groups_done_ = 0;
  std::unique_ptr<std::byte[]> scratch_;
  CopiedMemory* copied_ = nullptr;        // null: all of its memory stays as it is
  std::vector<std::uint32_t> held_back_;  // slots that are ready but for what has not arrived
};

}  // namespace hocket
