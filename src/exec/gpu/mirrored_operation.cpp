#include "src/exec/gpu/mirrored_operation.hpp"

#include <utility>

namespace hocket {

MirroredOperation::MirroredOperation(std::shared_ptr<Context> context, std::shared_ptr<Operation> inner,
                                     std::unique_ptr<GpuCall> call, std::unique_ptr<HostMirror> mirror, bool runs_again)
    : Operation(std::move(context), inner->window()),
      inner_(std::move(inner)),
      call_(std::move(call)),
      mirror_(std::move(mirror)),
      runs_again_(runs_again) {
  set_transports(inner_->transports());
}

// What broke, or was never started: others may use it again.
MirroredOperation::~MirroredOperation() {
  if (!inner_->finished()) inner_->finish(Status(Code::aborted, "it has not been run to its end"));
}

void MirroredOperation::take_from(Rank peer) {
  inner_->take_from(peer);
  set_root(inner_->signature().root);
  set_transports(inner_->transports());
}

Status MirroredOperation::start(const Tag& tag, Peers& peers) {
  tag_ = tag;
  peers_ = &peers;
  phase_ = Phase::copies_in;
  return {};
}

bool MirroredOperation::advance(Counters& counters) {
  if (!failure().ok()) return false;
  bool happened = phase_ == Phase::copies_in && look_at_copies();
  if (phase_ == Phase::runs) {
    happened |= inner_->advance(counters);
    if (inner_->complete()) happened |= end();
  }
  return happened;
}

bool MirroredOperation::look_at_copies() {
  const auto filled = mirror_->fill();
  if (!filled.ok()) {
    fail(filled.status());
    return true;
  }
  if (!*filled) return false;
  if (runs_again_) inner_->restart();
  inner_->set_record(record());
  phase_ = Phase::runs;
  if (Status begun = inner_->begin(tag_, *peers_); !begun.ok()) fail(begun);
  return true;
}

bool MirroredOperation::end() {
  if (!inner_->failure().ok()) {
    fail(inner_->failure());
    return true;
  }
  inner_->finish(Status());
  if (Status given = mirror_->give_back(); !given.ok()) fail(given);
  phase_ = Phase::done;
  return true;
}

// Nothing wakes the host when copies are done.
Deadline MirroredOperation::next_look() const {
  if (phase_ != Phase::copies_in) return phase_ == Phase::runs ? inner_->next_look() : Deadline::never();
  return Deadline::after(device_look_interval);
}

Operation::Missing MirroredOperation::missing() const {
  if (phase_ == Phase::runs) return inner_->missing();
  if (inner_->needs_source()) return {};
  return {.peers = {}, .text = std::string(waits_for_own_stream)};
}

}  // namespace hocket
