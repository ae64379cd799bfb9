#include "bench/memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "hocket/hocket.h"
#include "src/base/environment.hpp"
#include "tools/device/require.hpp"

namespace hocket::bench {
namespace {

class HostMemory final : public Memory {
 public:
  HostMemory(bool registered, std::size_t offset) : registered_(registered), offset_(offset) {}

  std::byte* allocate(std::size_t bytes) override {
    constexpr std::size_t alignment = 64;
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* memory = nullptr;
    if (!registered_) {
      memory = std::aligned_alloc(alignment, rounded);
    } else if (hocket_mem_alloc(&memory, rounded) != HOCKET_OK) {
      memory = nullptr;
    }
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<std::byte*>(memory);
  }
  void free(std::byte* memory) override {
    if (!registered_) {
      std::free(memory);
    } else {
      (void)hocket_mem_free(memory);
    }
  }
  std::optional<std::size_t> offset() const override { return offset_; }
  void set(std::byte* to, std::byte value, std::size_t bytes) override { std::fill_n(to, bytes, value); }
  std::uint64_t count_other(const std::byte* at, std::byte value, std::size_t bytes) override {
    return static_cast<std::uint64_t>(std::count_if(at, at + bytes, [value](std::byte b) { return b != value; }));
  }
  void fill(const Pattern& pattern, int source, std::size_t first, std::byte* to, std::size_t count) override {
    pattern.fill(source, first, to, count);
  }
  std::uint64_t count_wrong(const Pattern& pattern, int source, std::size_t first, const std::byte* at,
                            std::size_t count, double tolerance) override {
    return tolerance < 0 ? pattern.count_wrong(source, first, at, count)
                         : pattern.count_far(source, first, at, count, tolerance);
  }

 private:
  const bool registered_;
  const std::size_t offset_;
};

}  // namespace

std::unique_ptr<Memory> make_host_memory(bool registered, std::size_t offset) {
  return std::make_unique<HostMemory>(registered, offset);
}

int device_index(const std::string& named) {
  if (named != local_rank_device) return std::atoi(named.c_str());
  const auto place =
      environment::find({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"});
  if (!place) {
    throw Error(HOCKET_INVALID_ENVIRONMENT,
                "--device local-rank: the launcher does not say which of its host's ranks this is; set LOCAL_RANK.");
  }
  constexpr int most = 1 << 20;
  return static_cast<int>(device::require(environment::to_integer(*place, 0, most)));
}

std::unique_ptr<Memory> make_memory(const std::string& kind, const std::string& device, std::size_t offset) {
  if (kind == cuda_memory) return make_device_memory(device::open_device(device_index(device)));
  return make_host_memory(kind == registered_memory, offset);
}

}  // namespace hocket::bench
