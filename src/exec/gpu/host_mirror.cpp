#include "src/exec/gpu/host_mirror.hpp"

#include <algorithm>
#include <cstring>

namespace hocket {

Result<std::unique_ptr<HostMirror>> HostMirror::make(std::shared_ptr<GpuLanes> lanes, const GpuCall& call,
                                                     MirrorLayout layout) {
  auto lane = lanes->take(call.gpu(), layout.bytes);
  if (!lane.ok()) return lane.status();
  return std::unique_ptr<HostMirror>(new HostMirror(std::move(lanes), std::move(*lane), call, std::move(layout)));
}

Result<bool> HostMirror::fill() {
  auto done = gpu_.reached(*lane_->copied);
  if (!done.ok() || !*done || copies_in_) return done;
  if (Status begun = begin_to_fill(); !begun.ok()) return begun;
  copies_in_ = true;
  return gpu_.reached(*lane_->copied);
}

// Where nothing is read from the device, the host need not wait for the caller's stream; only what is copied back does.
Status HostMirror::begin_to_fill() {
  if (layout_.clears_gaps) std::memset(memory(), 0, layout_.bytes);
  const bool reads_device = std::ranges::any_of(layout_.in, &MirrorLayout::Piece::on_device);
  if (Status status = call_.let_wait(lane_->stream); !status.ok()) return status;
  for (const auto& [data, bytes, at, on_device] : layout_.in) {
    if (!on_device) {
      std::memcpy(memory() + at, data, bytes);
    } else if (Status status = gpu_.copy(lane_->stream, memory() + at, data, bytes); !status.ok()) {
      return status;
    }
  }
  if (!reads_device) return {};
  if (Status status = gpu_.record(lane_->stream, *lane_->copied); !status.ok()) return status;
  return call_.go_on_after(*lane_->copied);  // else, where the call fails, the caller might free what is still read
}

Status HostMirror::give_back() {
  copies_in_ = false;
  for (const auto& [data, bytes, at, on_device] : layout_.out) {
    if (!on_device) {
      std::memcpy(data, memory() + at, bytes);
    } else if (Status status = gpu_.copy(lane_->stream, data, memory() + at, bytes); !status.ok()) {
      return status;
    }
  }
  if (Status status = gpu_.record(lane_->stream, *lane_->copied); !status.ok()) return status;
  return call_.go_on_after(*lane_->copied);
}

}  // namespace hocket
