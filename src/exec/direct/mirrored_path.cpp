#include "src/exec/direct/mirrored_path.hpp"

namespace hocket {

bool MirroredPath::next(const Status& status, Phase phase) {
  if (!status.ok()) run_.fail(status);
  phase_ = phase;
  return true;
}

bool MirroredPath::advance(Counters& counters) {
  if (phase_ == Phase::copies_in) {
    const auto filled = mirror_->fill();
    return filled.ok() && !*filled ? false : next(filled.status(), Phase::runs);
  }
  const bool happened = staged_.advance(counters);
  return staged_.done() ? next(mirror_->give_back(), Phase::done) : happened;
}

}  // namespace hocket
