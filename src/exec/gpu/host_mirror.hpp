// HostMirror: a call's data in host memory while the call runs, where the caller's lies on a GPU. What the call reads
// is copied in once the caller's stream has come as far as the call; what it wrote is copied back, and the stream goes
// on after that. The host waits for no stream: it looks whether the copies are done.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "src/exec/gpu/gpu_call.hpp"
#include "src/exec/gpu/lanes.hpp"

namespace hocket {

// How often to look whether a device has come so far.
inline constexpr std::chrono::microseconds device_look_interval{50};
// What a call says that waits for it: it waits for no peer, and those that wait for it are held up by this rank.
inline constexpr std::string_view waits_for_own_stream =
    "waiting for work in this rank's own stream, which comes before the call";

// What lies where in a mirror.
struct MirrorLayout {
  struct Piece {
    std::byte* data;  // the caller's; not written where it is read
    std::size_t bytes;
    std::size_t at;  // in the mirror
    bool on_device;
  };
  std::vector<Piece> in, out;
  std::size_t bytes = 0;
  bool clears_gaps = false;  // what lies between the pieces is zero

  void take(const void* data, std::size_t length, std::size_t at, bool on_device) {
    if (length != 0) in.push_back({static_cast<std::byte*>(const_cast<void*>(data)), length, at, on_device});
  }
  void give(void* data, std::size_t length, std::size_t at, bool on_device) {
    if (length != 0) out.push_back({static_cast<std::byte*>(data), length, at, on_device});
  }
};

// Thread rule: one thread at a time.
class HostMirror {
 public:
  // Errors are those of GpuLanes::take(). `call` outlives the mirror.
  static Result<std::unique_ptr<HostMirror>> make(std::shared_ptr<GpuLanes> lanes, const GpuCall& call,
                                                  MirrorLayout layout);
  ~HostMirror() { lanes_->put_back(std::move(lane_)); }
  HostMirror(const HostMirror&) = delete;
  HostMirror& operator=(const HostMirror&) = delete;

  std::byte* memory() const { return lane_->memory; }

  // Has everything copied in, once the call has been marked: call it until it says that all is there. What the run
  // before copies back is waited for first, since this is the memory that it is copied from.
  Result<bool> fill();
  // Has everything copied back. What is put into the caller's stream from now on finds it there.
  Status give_back();

 private:
  HostMirror(std::shared_ptr<GpuLanes> lanes, std::unique_ptr<GpuLane> lane, const GpuCall& call, MirrorLayout layout)
      : lanes_(std::move(lanes)), lane_(std::move(lane)), gpu_(lane_->gpu), call_(call), layout_(std::move(layout)) {}

  Status begin_to_fill();

  const std::shared_ptr<GpuLanes> lanes_;
  std::unique_ptr<GpuLane> lane_;
  Gpu& gpu_;
  const GpuCall& call_;
  const MirrorLayout layout_;
  bool copies_in_ = false;  // this run's copies in have begun
};

}  // namespace hocket
