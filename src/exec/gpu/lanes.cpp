#include "src/exec/gpu/lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>

#include "src/base/arithmetic.hpp"
#include "src/base/log.hpp"

namespace hocket {
namespace {

constexpr std::chrono::seconds lane_patience{10};
constexpr std::size_t memory_unit = std::size_t{64} << 10;

// Calls of other sizes then find what they need.
std::size_t bytes_for(std::size_t bytes) {
  return round_up(std::max<std::size_t>(bytes, 1), memory_unit);
}

bool is_done(const GpuLane& lane) {
  const auto reached = lane.gpu.reached(*lane.copied);
  return reached.ok() && *reached;
}

Status give_memory(GpuLane& lane, std::size_t bytes) {
  if (lane.memory != nullptr) {
    if (Status freed = lane.gpu.free_host(lane.memory); !freed.ok()) return freed;
    lane.memory = nullptr;
    lane.bytes = 0;
  }
  auto memory = lane.gpu.allocate_host(bytes);
  if (!memory.ok()) {
    return {memory.status().code(), fmt::format("{} ({} bytes of pinned host memory, through which data of a GPU goes)",
                                                memory.status().message(), bytes)};
  }
  lane.memory = *memory;
  lane.bytes = bytes;
  return {};
}

Status make_parts(GpuLane& lane) {
  auto stream = lane.gpu.make_stream();
  if (!stream.ok()) return stream.status();
  lane.stream = *stream;
  auto event = lane.gpu.make_event();
  if (!event.ok()) return event.status();
  lane.copied = std::move(*event);
  return {};
}

}  // namespace

GpuLane::~GpuLane() {
  if (stream != nullptr) {
    if (Status done = gpu.finish(stream, Deadline::after(lane_patience)); !done.ok()) {
      log::warn(fmt::format("copies of a call on {} are not done; their memory is left behind: {}", gpu.name(),
                            done.message()));
      return;
    }
    (void)gpu.destroy_stream(stream);
  }
  if (memory != nullptr) (void)gpu.free_host(memory);
}

Status GpuLane::make_marks(std::size_t number) {
  while (marks.size() < number) {
    auto event = gpu.make_event();
    if (!event.ok()) return event.status();
    marks.push_back(std::move(*event));
  }
  return {};
}

// The smallest that has enough memory, else the largest.
std::unique_ptr<GpuLane> GpuLanes::take_idle(const Gpu& gpu, std::size_t bytes) {
  auto best = idle_.end();
  for (auto at = idle_.begin(); at != idle_.end(); ++at) {
    if (&(*at)->gpu != &gpu || !is_done(**at)) continue;
    const auto is_better = [&](const GpuLane& lane, const GpuLane& other) {
      const bool fits = lane.bytes >= bytes, other_fits = other.bytes >= bytes;
      if (fits != other_fits) return fits;
      return fits ? lane.bytes < other.bytes : lane.bytes > other.bytes;
    };
    if (best == idle_.end() || is_better(**at, **best)) best = at;
  }
  if (best == idle_.end()) return nullptr;
  std::unique_ptr<GpuLane> lane = std::move(*best);
  idle_.erase(best);
  return lane;
}

Result<std::unique_ptr<GpuLane>> GpuLanes::take(Gpu& gpu, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<GpuLane> lane = take_idle(gpu, bytes);
  if (lane == nullptr) {
    idle_.reserve(lanes_ + 1);
    lane = std::make_unique<GpuLane>(gpu);
    if (Status made = make_parts(*lane); !made.ok()) return made;
    ++lanes_;
  }
  if (lane->bytes < bytes) {
    if (Status given = give_memory(*lane, bytes_for(bytes)); !given.ok()) {
      --lanes_;
      return given;
    }
  }
  return lane;
}

void GpuLanes::put_back(std::unique_ptr<GpuLane> lane) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(lane));
  trim();
}

// Drops what has not been used for longest, where that waits for nothing.
void GpuLanes::trim() {
  std::size_t kept = 0, bytes = 0;
  for (auto at = idle_.size(); at-- > 0;) {
    bytes += idle_[at]->bytes;
    if ((++kept <= lanes_kept && bytes <= bytes_kept) || !is_done(*idle_[at])) continue;
    bytes -= idle_[at]->bytes;
    --kept;
    idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(at));
    --lanes_;
  }
}

}  // namespace hocket
