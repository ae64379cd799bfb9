// MemorySharing: how memory of a GPU reaches other processes: by handles of its allocations, or, where the application
// maps its memory itself, by descriptors.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "src/base/fd.hpp"
#include "src/cuda/cuda_context.hpp"
#include "src/spi/gpu.hpp"

namespace hocket::cuda {

// Thread rule: any thread. See Gpu for what the functions do.
class MemorySharing {
 public:
  // `context` outlives it.
  explicit MemorySharing(const CudaContext& context) : context_(context) {}
  ~MemorySharing();
  MemorySharing(const MemorySharing&) = delete;
  MemorySharing& operator=(const MemorySharing&) = delete;

  // Only GPUs that this process sees can be asked about.
  Result<std::vector<std::string>> reaches() const;
  Result<MemoryExport> export_memory(const std::byte* data, std::size_t bytes);
  Result<std::byte*> import_memory(const MemoryExport& memory);
  Status close_import(std::byte* allocation);

 private:
  // An allocation that was shared by a descriptor. While this is kept, no other one gets the same handle.
  struct Shared {
    CUmemGenericAllocationHandle allocation;
    CUdeviceptr at;  // where the application has it mapped
    UniqueFd descriptor;
    std::uint64_t number;
  };

  Result<MemoryExport> export_allocation(CUdeviceptr data) const;
  Result<MemoryExport> export_mapping(CUdeviceptr data, std::size_t bytes);
  CUresult share(CUmemGenericAllocationHandle allocation, CUdeviceptr at);
  void forget_unmapped();
  Result<std::byte*> import_mapping(const MemoryExport& memory);
  CUresult map(CUmemGenericAllocationHandle allocation, std::size_t bytes, CUdeviceptr& at) const;
  void unmap(CUdeviceptr at, std::size_t bytes) const;

  const CudaContext& context_;
  std::mutex mutex_;  // for what follows
  std::vector<Shared> shared_;
  std::uint64_t latest_number_ = 0;
  std::map<CUdeviceptr, std::size_t> mapped_;  // of others, with their bytes
};

}  // namespace hocket::cuda
