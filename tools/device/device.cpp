#include "tools/device/device.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "tools/device/require.hpp"

namespace hocket::device {
namespace {

constexpr auto patience = std::chrono::minutes(5);
constexpr std::size_t instants_max = 1024;

}  // namespace

Stream::Stream(Device& device) : device_(device), stream_(require(device.gpu().make_stream())) {}

Stream::~Stream() {
  (void)device_.gpu().destroy_stream(stream_);
}

void Stream::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  require(device_.gpu().copy(stream_, static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes));
}

void Stream::finish() {
  require(device_.gpu().finish(stream_, Deadline::after(patience)));
}

void Stream::finish_at_once() {
  Gpu& gpu = device_.gpu();
  const auto end = require(gpu.make_event());
  require(gpu.record(stream_, *end));
  const Deadline deadline = Deadline::after(patience);
  while (!require(gpu.reached(*end))) {
    if (deadline.passed()) throw Error(HOCKET_TIMEOUT, gpu.name() + ": a stream is not done at the deadline");
    std::this_thread::yield();
  }
}

Bytes::Bytes(Device& device, std::size_t bytes)
    : gpu_(&device.gpu()), bytes_(bytes), memory_(require(gpu_->allocate(std::max<std::size_t>(bytes, 1)))) {}

Bytes::~Bytes() {
  if (memory_ != nullptr) (void)gpu_->free(memory_);
}

Bytes::Bytes(Bytes&& other) noexcept
    : gpu_(other.gpu_), bytes_(other.bytes_), memory_(std::exchange(other.memory_, nullptr)) {}

void Laps::start() {
  laps_.clear();
  recorded_ = 0;
  end();
}

void Laps::end() {
  if (recorded_ == instants_max) read();
  if (recorded_ == instants_.size()) instants_.push_back(stream_.device().make_instant());
  stream_.device().record(stream_.handle(), *instants_[recorded_++]);
}

std::vector<double> Laps::take() {
  read();
  return std::exchange(laps_, {});
}

// The last instant stays, as the beginning of the next lap.
void Laps::read() {
  stream_.finish();
  for (std::size_t i = 1; i < recorded_; ++i) {
    laps_.push_back(stream_.device().microseconds_between(*instants_[i - 1], *instants_[i]));
  }
  std::swap(instants_.front(), instants_[recorded_ - 1]);
  recorded_ = 1;
}

}  // namespace hocket::device
