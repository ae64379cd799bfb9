// Operation: one running plan. Holds what changes while it runs: ready counts, completions, the first error.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "hocket/spi/transport.hpp"
#include "src/exec/peers.hpp"
#include "src/plan/plan.hpp"

namespace hocket {

// What a plan is bound to for one run.
struct Binding {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  Signature signature;
  Reduction reduction;
  std::chrono::nanoseconds timeout{};
};

// Counted as it happens.
struct Counters {
  std::uint64_t operations = 0;
  std::uint64_t steps = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

// Thread rule: driven by one thread at a time; finished() and status() from any thread.
class Operation {
 public:
  explicit Operation(std::shared_ptr<const Plan> plan);
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  const Plan& plan() const { return *plan_; }
  // Makes it ready for another run. Requires that no run is going on.
  void bind(const Binding& binding);

  // ---- for the driver ----
  // Gets its links and makes the first steps ready; `tag` names it to the peers.
  Status start(const Tag& tag, Peers& peers);
  // Runs what is ready; adds to `counters`. Returns whether anything happened.
  bool advance(Counters& counters);
  // All steps are complete, or a link failed.
  bool complete() const { return groups_done_ == plan_->groups || !failure_.ok(); }
  const Status& failure() const { return failure_; }
  // Ends the run for good with `status`; requires that no completion is outstanding.
  void finish(const Status& status);

  const Signature& signature() const { return binding_.signature; }
  const Deadline& deadline() const { return deadline_; }
  std::uint64_t sequence() const { return sequence_; }
  void set_sequence(std::uint64_t sequence) { sequence_ = sequence; }
  double elapsed_seconds() const;
  // Whether both use the same direction of a link, so that the later one must wait for the earlier.
  bool shares_channel(const Operation& other) const;
  // "still waiting for rank 2 (receive) and rank 3 (send)", and the first of them.
  struct Missing {
    Rank peer = no_rank;
    std::string text;
  };
  Missing missing() const;

  // ---- for any thread ----
  bool finished() const { return finished_.load(std::memory_order_acquire); }
  // Requires finished().
  const Status& status() const { return status_; }

 private:
  static constexpr std::size_t groups_in_flight = 2;

  // One instruction of one of the groups in flight.
  struct Slot : Completion {
    Operation* operation = nullptr;
    std::uint32_t index = 0;  // into slots_
    std::uint32_t waits = 0;
    bool ready = false;
  };
  struct ChannelState {
    Link* link = nullptr;
    std::size_t group = 0;     // of the next message
    std::size_t position = 0;  // of the next message in its group
    std::uint32_t outstanding = 0;
  };

  static void on_done(Completion& completion, const Status& status);
  void begin_groups();
  void begin_group(std::size_t group);
  void make_ready(std::uint32_t slot);
  void pump(std::uint32_t channel, Counters& counters);
  void post(std::uint32_t slot, std::size_t group, ChannelState& channel, Counters& counters);
  void run_local(std::uint32_t slot);
  void complete_slot(std::uint32_t slot);
  std::byte* address(const Range& range, const Extent& extent, std::size_t group);

  std::shared_ptr<const Plan> plan_;
  Binding binding_;
  Tag tag_;
  Deadline deadline_;
  Deadline::Clock::time_point began_;
  std::uint64_t sequence_ = 0;

  std::vector<Slot> slots_;  // instructions × groups in flight
  std::vector<ChannelState> channels_;
  std::vector<std::uint32_t> pumps_;                      // channels whose head may have become ready
  std::vector<std::uint32_t> locals_;                     // slots to run here
  std::vector<std::uint32_t> done_;                       // slots that completed since the last advance()
  std::array<std::uint32_t, groups_in_flight> left_{};    // instructions not complete
  std::array<std::size_t, groups_in_flight> group_at_{};  // which group each half of slots_ runs
  std::size_t groups_begun_ = 0, groups_done_ = 0;
  std::unique_ptr<std::byte[]> scratch_;
  Status failure_;

  Status status_;
  std::atomic<bool> finished_{true};
};

}  // namespace hocket
