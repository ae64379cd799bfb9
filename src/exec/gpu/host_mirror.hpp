// HostMirror: a call's data in host memory while the call runs, where the caller's lies on a GPU. What the call reads
// is copied in once the caller's stream has come as far as the call; what it wrote is copied back, and the stream goes
// on after that. Much data is copied in pieces, in the order of the mirror, so that a call that can may use what is
// there, and give back what is done, while the rest is on its way. The host waits for no stream: it looks how far the
// copies are.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "src/exec/copied_memory.hpp"
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
class HostMirror final : public CopiedMemory {
 public:
  // What is copied at once; more where there would be more than so many pieces.
  static constexpr std::size_t piece_bytes = std::size_t{4} << 20;
  static constexpr std::size_t pieces_max = 64;

  // Errors are those of GpuLanes::take() and of making events. `call` outlives the mirror.
  static Result<std::unique_ptr<HostMirror>> make(std::shared_ptr<GpuLanes> lanes, const GpuCall& call,
                                                  MirrorLayout layout);
  ~HostMirror() { lanes_->put_back(std::move(lane_)); }
  HostMirror(const HostMirror&) = delete;
  HostMirror& operator=(const HostMirror&) = delete;

  std::byte* memory() const { return lane_->memory; }

  // Has everything copied in, once the call has been marked: call it until it says that all is there. What the run
  // before copies back is waited for first, since this is the memory that it is copied from.
  Result<bool> fill();
  // Has everything copied back that has not left. What is put into the caller's stream from now on finds it there.
  // Requires that all is there.
  Status give_back();

  // Whether there is so much data that it goes in pieces.
  bool in_pieces() const { return marks_ > 1 || output_bytes_ > piece_bytes; }
  // How many pieces have arrived in this run; 0: the caller's stream may not have come as far as the call.
  std::uint32_t arrived() const { return arrived_; }
  bool has_arrived(const std::byte* data, std::size_t bytes) const override;
  void may_leave(const std::byte* data, std::size_t bytes) override;
  // Of copies back that have begun.
  const Status& failure() const { return failure_; }

 private:
  // What is copied into the mirror at once. There are marks in the stream after one or several of them.
  struct Arrival {
    std::byte* data;
    std::size_t bytes, at;
    std::uint32_t mark;
  };
  struct Stretch {
    std::size_t at, bytes;
  };

  HostMirror(std::shared_ptr<GpuLanes> lanes, std::unique_ptr<GpuLane> lane, const GpuCall& call, MirrorLayout layout);

  void cut_input();
  Status begin_to_fill();
  Status put_copies_in();
  Status put_copies_out(std::size_t at, std::size_t bytes);
  Status let_leave();
  Status mark_copies();

  const std::shared_ptr<GpuLanes> lanes_;
  std::unique_ptr<GpuLane> lane_;
  Gpu& gpu_;
  const GpuCall& call_;
  MirrorLayout layout_;            // sorted by where it is in the mirror
  std::vector<Arrival> arrivals_;  // likewise; what comes from the device
  std::uint32_t marks_ = 0;        // after all arrivals
  std::size_t output_bytes_ = 0;   // that go to the device
  bool copies_in_ = false;         // this run's copies in have begun
  std::uint32_t arrived_ = 0;      // marks that have been reached
  std::vector<Stretch> leaving_;   // may leave, and will together
  std::size_t leaving_bytes_ = 0;
  std::vector<Stretch> gone_;
  Status failure_;
};

}  // namespace hocket
