// A double of a GPU in host memory, under which what runs over the seam (src/spi/gpu.hpp) is tested without one. Its
// memory is memfds, which other processes open while their owner lives and has not freed them; its streams are threads;
// its events are counters in memory that processes share.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "src/base/fd.hpp"
#include "src/spi/gpu.hpp"

namespace hocket::testing {

struct HostGpuOptions {
  std::size_t memory_bytes = std::size_t{1} << 30;
  // Before each piece of work of every stream: shows work that does not wait for what it needs.
  std::chrono::microseconds delay{0};
  // Asked with the name of each function of the seam that is called; what is not ok is what that returns.
  std::function<Status(std::string_view)> fault = {};
};

class HostGpu final : public Gpu {
 public:
  explicit HostGpu(HostGpuOptions options = {}) : options_(std::move(options)) {}
  ~HostGpu() override;
  HostGpu(const HostGpu&) = delete;
  HostGpu& operator=(const HostGpu&) = delete;

  std::string name() const override { return "GPU 0 (host memory)"; }
  std::string identity() const override { return "host memory"; }
  Result<std::byte*> allocate(std::size_t bytes) override;
  Status free(std::byte* memory) override;
  Result<MemoryExport> export_memory(const std::byte* data) override;
  Result<std::byte*> import_memory(const MemoryExport& memory) override;
  Status close_import(std::byte* allocation) override;
  Result<GpuStream> make_stream() override;
  Status destroy_stream(GpuStream stream) override;
  Result<std::unique_ptr<GpuEvent>> make_event() override;
  Result<GpuHandle> export_event(GpuEvent& event) override;
  Result<std::unique_ptr<GpuEvent>> import_event(const GpuHandle& handle) override;
  Status record(GpuStream stream, GpuEvent& event) override;
  Status wait(GpuStream stream, GpuEvent& event) override;
  Status copy(GpuStream stream, std::byte* to, const std::byte* from, std::size_t bytes) override;
  Status reduce(GpuStream stream, const GpuReduction& call) override;
  Status finish(GpuStream stream, Deadline deadline) override;

 private:
  struct Allocation {
    UniqueFd file;
    std::uint64_t number = 0;
    std::size_t bytes = 0;
  };

  Status fault(std::string_view function) const { return options_.fault ? options_.fault(function) : Status(); }

  const HostGpuOptions options_;
  std::mutex mutex_;  // for all that follows
  std::map<std::byte*, Allocation> allocations_;
  std::map<std::byte*, std::pair<std::uint64_t, std::size_t>> imports_;  // number and bytes, by where they begin
  std::set<GpuStream> streams_;
  std::size_t allocated_bytes_ = 0;
};

}  // namespace hocket::testing
