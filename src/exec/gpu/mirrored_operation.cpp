#include "src/exec/gpu/mirrored_operation.hpp"

#include <utility>

namespace hocket {

MirroredOperation::MirroredOperation(std::shared_ptr<Context> context, std::shared_ptr<Operation> inner,
                                     std::unique_ptr<GpuCall> call, std::unique_ptr<HostMirror> mirror, bool runs_again)
    : Operation(std::move(context), inner->window(), inner->uses_links()),
      inner_(std::move(inner)),
      call_(std::move(call)),
      mirror_(std::move(mirror)),
      runs_again_(runs_again) {
  set_transports(inner_->transports());
}

// What broke, or was never started: others may use it again.
MirroredOperation::~MirroredOperation() {
  if (inner_->finished()) return;
  (void)inner_->run_on(nullptr);
  inner_->finish(Status(Code::aborted, "it has not been run to its end"));
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
  filled_ = false;
  return {};
}

bool MirroredOperation::advance(Counters& counters) {
  if (!failure().ok()) return false;
  bool happened = phase_ != Phase::done && !filled_ && look_at_copies();
  if (phase_ == Phase::runs && failure().ok()) {
    happened |= inner_->advance(counters);
    if (!mirror_->failure().ok()) fail(mirror_->failure());
    if (inner_->complete() && (filled_ || !inner_->failure().ok())) happened |= end();
  }
  return happened;
}

bool MirroredOperation::look_at_copies() {
  const std::uint32_t arrived_before = mirror_->arrived();
  const auto filled = mirror_->fill();
  if (!filled.ok()) {
    fail(filled.status());
    return true;
  }
  filled_ = *filled;
  if (phase_ == Phase::copies_in) return begin_inner();
  if (mirror_->arrived() == arrived_before) return false;
  inner_->more_has_arrived();
  return true;
}

// Not before the caller's stream has come as far as the call: until then peers hear that they wait for this rank.
bool MirroredOperation::begin_inner() {
  if (!filled_ && mirror_->arrived() == 0) return false;
  const bool in_pieces = mirror_->in_pieces() && inner_->run_on(mirror_.get());
  if (!filled_ && !in_pieces) return false;
  if (runs_again_) inner_->restart();
  inner_->share_record(record());
  phase_ = Phase::runs;
  if (Status begun = inner_->begin(tag_, *peers_); !begun.ok()) fail(begun);
  return true;
}

bool MirroredOperation::end() {
  if (!inner_->failure().ok()) {
    fail(inner_->failure());
    return true;
  }
  (void)inner_->run_on(nullptr);
  inner_->finish(Status());
  if (Status given = mirror_->give_back(); !given.ok()) fail(given);
  phase_ = Phase::done;
  return true;
}

// Nothing wakes the host when copies are done.
Deadline MirroredOperation::next_look() const {
  if (phase_ == Phase::done) return Deadline::never();
  const Deadline inner = phase_ == Phase::runs ? inner_->next_look() : Deadline::never();
  return filled_ ? inner : earlier(inner, Deadline::after(device_look_interval));
}

Operation::Missing MirroredOperation::missing() const {
  if (filled_) return inner_->missing();
  if (inner_->needs_source()) return {};
  return {.peers = {}, .text = std::string(waits_for_own_stream)};
}

}  // namespace hocket
