// The double of a GPU as programs have one: their kernels run on the host, in the threads of the double's streams.
#pragma once

#include "tests/support/host_gpu.hpp"
#include "tools/device/device.hpp"

namespace hocket::testing_support {

class HostDevice final : public device::Device {
 public:
  explicit HostDevice(HostGpu& gpu) : gpu_(gpu) {}

  Gpu& gpu() override { return gpu_; }
  void launch(GpuStream stream, const device::Kernel& kernel, std::span<const std::byte> arguments,
              std::uint64_t threads) override;
  std::unique_ptr<device::Instant> make_instant() override;
  void record(GpuStream stream, device::Instant& instant) override;
  double microseconds_between(device::Instant& from, device::Instant& to) override;

 private:
  HostGpu& gpu_;
};

}  // namespace hocket::testing_support
