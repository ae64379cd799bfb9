// The staged path of a member whose data lies on a GPU where not everyone's does: through a mirror on the host.
#pragma once

#include <memory>

#include "src/exec/direct/staged.hpp"
#include "src/exec/gpu/device_data.hpp"

namespace hocket {

class MirroredPath {
 public:
  // `mirror`: what the run is bound to from now on.
  MirroredPath(DirectRun& run, std::unique_ptr<HostMirror> mirror)
      : run_(run), staged_(run), mirror_(std::move(mirror)) {}
  MirroredPath(const MirroredPath&) = delete;
  MirroredPath& operator=(const MirroredPath&) = delete;

  bool advance(Counters& counters);
  bool done() const { return phase_ == Phase::done; }
  bool has_done_its_part(std::uint32_t member) const { return staged_.has_done_its_part(member); }
  // Whether only the device is waited for, of which nobody tells.
  bool waits_for_device() const { return phase_ == Phase::copies_in; }

 private:
  enum class Phase { copies_in, runs, done };

  bool next(const Status& status, Phase phase);

  DirectRun& run_;
  StagedPath staged_;
  const std::unique_ptr<HostMirror> mirror_;
  Phase phase_ = Phase::copies_in;
};

}  // namespace hocket
