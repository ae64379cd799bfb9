#include "src/exec/any_source_receive.hpp"

namespace hocket {

// The other end names its own rank in the call.
void AnySourceReceive::take_from(Rank peer) {
  from_ = context().rank_of(peer);
  set_root(from_);
  receive_ = receive_from_(from_);
  receive_->bind(binding());
  set_transports(receive_->transports());
}

std::span<const Direction> AnySourceReceive::directions() const {
  if (!receive_) return {};
  return receive_->directions();
}

bool AnySourceReceive::advance(Counters& counters) {
  const bool happened = receive_->advance(counters);
  if (!receive_->complete()) return happened;
  if (!receive_->failure().ok()) fail(receive_->failure());
  if (receive_->failure().ok() && source_ != nullptr) *source_ = from_;
  receive_->finish(receive_->failure());
  return happened;
}

}  // namespace hocket
