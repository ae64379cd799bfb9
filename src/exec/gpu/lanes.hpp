// GpuLanes: what calls need that bring data from a GPU to the host and back, kept from one call for the next: pinned
// memory, and a stream of the library's own, so that copies wait for nothing but what their call waits for.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "src/spi/gpu.hpp"

namespace hocket {

struct GpuLane {
  explicit GpuLane(Gpu& of) : gpu(of) {}
  // Waits for what is in its stream, for ten seconds at most; then it leaves memory behind rather than give back what
  // the device may still use.
  ~GpuLane();
  GpuLane(const GpuLane&) = delete;
  GpuLane& operator=(const GpuLane&) = delete;

  // Has at least so many marks.
  Status make_marks(std::size_t number);

  Gpu& gpu;
  GpuStream stream = nullptr;
  std::unique_ptr<GpuEvent> copied;              // for the latest copies
  std::vector<std::unique_ptr<GpuEvent>> marks;  // for some of them
  std::byte* memory = nullptr;                   // pinned
  std::size_t bytes = 0;
};

// Thread rule: any thread.
class GpuLanes {
 public:
  // One with at least `bytes` of memory, whose earlier copies are done. Errors are the GPU's; Code::out_of_resources
  // says how much memory was asked for.
  Result<std::unique_ptr<GpuLane>> take(Gpu& gpu, std::size_t bytes);
  // Its copies may still run. Needs no memory.
  void put_back(std::unique_ptr<GpuLane> lane);

 private:
  static constexpr std::size_t lanes_kept = 8;
  static constexpr std::size_t bytes_kept = std::size_t{256} << 20;

  std::unique_ptr<GpuLane> take_idle(const Gpu& gpu, std::size_t bytes);
  void trim();

  std::mutex mutex_;
  std::vector<std::unique_ptr<GpuLane>> idle_;  // latest used last
  std::size_t lanes_ = 0;                       // idle or not; there is room for all of them
};

}  // namespace hocket
