// TwoLevelOperation: a collective of ranks on several hosts, where those of each host share memory. The ranks of a host
// bring together over their window what they have, at one of them, its leader; the leaders do over links what is left;
// and each gives the result to its host over the window. One call, with one number and one signature, of which every
// part carries both.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "src/exec/direct/direct_operation.hpp"
#include "src/exec/schedule_operation.hpp"

namespace hocket {

class TwoLevelOperation final : public Operation {
 public:
  // What it depends on, besides buffers. `between`: the leaders' schedule; `number`: which ranks lead, on every host;
  // `leader`: this host's, by its number there.
  struct Key {
    PlanKey between;
    Rank number = 0, leader = 0;

    friend bool operator==(const Key&, const Key&) = default;
  };
  // Where it runs. `window_use` outlives it; null: the rank is alone on its host. `leaders`: null where it is none.
  struct Place {
    WindowUse* window_use = nullptr;
    std::shared_ptr<Context> on_host, leaders;
  };

  // `plan`: of the leaders' schedule; null where the rank is no leader.
  TwoLevelOperation(std::shared_ptr<Context> context, const Key& key, const Place& place,
                    std::shared_ptr<const Plan> plan);

  const Key& key() const { return key_; }
  Status start(const Tag& tag, Peers& peers) override;
  bool advance(Counters& counters) override;
  bool complete() const override { return part_ == end || !failure().ok(); }
  std::span<const Direction> directions() const override;
  bool can_do_without(Rank peer) const override;
  void before_sleep() override {
    if (Operation* const part = now()) part->before_sleep();
  }
  void tell_waiting(Rank missing, Rank witness) override;
  Missing missing() const override;
  Rank awaited() const override;
  void withdraw() override;
  std::string_view algorithm() const override { return "windows of hosts"; }

 private:
  enum Part : std::uint8_t { to_leader, between, from_leader, end };

  bool leads() const { return between_.has_value(); }
  Collective collective() const { return key_.between.algorithm->collective->collective; }
  Operation* part(Part which);
  Operation* now() { return part_ == end ? nullptr : part(part_); }
  const Operation* now() const { return const_cast<TwoLevelOperation*>(this)->now(); }
  // Where this leader has what its host's ranks have brought together.
  std::byte* brought_together() const { return scratch_ ? scratch_.get() : binding().output; }
  Binding binding_of(Part which) const;
  Status begin(Part which);

  const Key key_;
  const std::shared_ptr<Context> on_host_;
  std::optional<DirectOperation> to_leader_, from_leader_;
  std::optional<ScheduleOperation> between_;
  std::unique_ptr<std::byte[]> scratch_;  // where the output is another rank's
  Part part_ = end;
  Tag tag_;
  Peers* peers_ = nullptr;
};

}  // namespace hocket
