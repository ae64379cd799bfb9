#include "tests/support/host_device.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>

namespace hocket::testing_support {
namespace {

using Clock = std::chrono::steady_clock;

// More than one, so that what is not in a thread's share shows.
constexpr std::uint64_t threads_max = 3;

struct HostInstant final : device::Instant {
  std::shared_ptr<std::atomic<Clock::time_point>> came = std::make_shared<std::atomic<Clock::time_point>>();
};

Clock::time_point time_of(device::Instant& instant) {
  return static_cast<HostInstant&>(instant).came->load();
}

}  // namespace

void HostDevice::launch(GpuStream stream, const device::Kernel& kernel, std::span<const std::byte> arguments,
                        std::uint64_t threads) {
  auto call = std::make_shared<std::vector<std::uint64_t>>((arguments.size() + 7) / sizeof(std::uint64_t));
  std::memcpy(call->data(), arguments.data(), arguments.size());
  for (unsigned i = 0; i < kernel.pointers; ++i) {
    (*call)[i] = reinterpret_cast<std::uintptr_t>(gpu_.touched(reinterpret_cast<const void*>((*call)[i])));
  }
  const std::uint64_t shares = std::clamp<std::uint64_t>(threads, 1, threads_max);
  gpu_.put(stream, [call, shares, run = kernel.on_host] {
    for (std::uint64_t thread = 0; thread < shares; ++thread) run(call->data(), thread, shares);
  });
}

std::unique_ptr<device::Instant> HostDevice::make_instant() {
  return std::make_unique<HostInstant>();
}

void HostDevice::record(GpuStream stream, device::Instant& instant) {
  gpu_.put(stream, [came = static_cast<HostInstant&>(instant).came] { came->store(Clock::now()); });
}

double HostDevice::microseconds_between(device::Instant& from, device::Instant& to) {
  return std::chrono::duration<double, std::micro>(time_of(to) - time_of(from)).count();
}

}  // namespace hocket::testing_support
