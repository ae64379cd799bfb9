// MirroredOperation: a call on device memory that runs as a call on host memory, over whichever route that takes: its
// data is mirrored there before and copied back after it; where it goes in pieces, while it runs.
#pragma once

#include <memory>

#include "src/exec/gpu/host_mirror.hpp"
#include "src/exec/operation.hpp"

namespace hocket {

class MirroredOperation final : public Operation {
 public:
  // `inner` is bound to the mirror, and nobody else's until this ends; persistent where `runs_again`.
  // `mirror`: of `call`.
  MirroredOperation(std::shared_ptr<Context> context, std::shared_ptr<Operation> inner, std::unique_ptr<GpuCall> call,
                    std::unique_ptr<HostMirror> mirror, bool runs_again);
  ~MirroredOperation() override;

  Status mark_streams() override { return call_->mark(); }
  bool needs_source() const override { return inner_->needs_source(); }
  void take_from(Rank peer) override;
  Status start(const Tag& tag, Peers& peers) override;
  bool advance(Counters& counters) override;
  bool complete() const override { return phase_ == Phase::done || !failure().ok(); }
  std::span<const Direction> directions() const override { return inner_->directions(); }
  bool can_do_without(Rank peer) const override { return phase_ != Phase::runs || inner_->can_do_without(peer); }
  void before_sleep() override {
    if (phase_ == Phase::runs) inner_->before_sleep();
  }
  Deadline next_look() const override;
  void tell_waiting(Rank missing, Rank witness) override {
    if (phase_ == Phase::runs) inner_->tell_waiting(missing, witness);
  }
  Missing missing() const override;
  Rank awaited() const override { return filled_ ? inner_->awaited() : no_rank; }
  void withdraw() override {
    if (phase_ == Phase::runs) inner_->withdraw();
  }
  std::string_view algorithm() const override { return inner_->algorithm(); }
  WireFormat wire() const override { return inner_->wire(); }

 private:
  enum class Phase { copies_in, runs, done };

  bool look_at_copies();
  bool begin_inner();
  bool end();

  const std::shared_ptr<Operation> inner_;
  const std::unique_ptr<GpuCall> call_;
  const std::unique_ptr<HostMirror> mirror_;
  const bool runs_again_;
  Phase phase_ = Phase::done;
  bool filled_ = false;  // all that the inner one reads is there
  Tag tag_;
  Peers* peers_ = nullptr;
};

}  // namespace hocket
