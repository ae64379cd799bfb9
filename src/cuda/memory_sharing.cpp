#include "src/cuda/memory_sharing.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "src/base/foreign_descriptor.hpp"

namespace hocket::cuda {
namespace {

static_assert(sizeof(CUipcMemHandle) <= sizeof(GpuHandle));

constexpr auto by_descriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

// What stands in the handle of memory that is shared by a descriptor.
struct DescriptorName {
  int process, descriptor;
};

template <class To, class From>
To handle_as(const From& from) {
  To to{};
  std::memcpy(&to, &from, std::min(sizeof to, sizeof from));
  return to;
}

}  // namespace

MemorySharing::~MemorySharing() {
  if (shared_.empty()) return;
  (void)context_.within("ending", [&] {
    for (const Shared& shared : shared_) (void)context_.driver.cuMemRelease_(shared.allocation);
    return CUDA_SUCCESS;
  });
}

// One that cannot be asked is out of reach.
Result<std::vector<std::string>> MemorySharing::reaches() const {
  const Driver& driver = context_.driver;
  int count = 0;
  if (Status status = driver.check(driver.cuDeviceGetCount_(&count), "counting GPUs"); !status.ok()) return status;
  std::vector<std::string> reached;
  for (int index = 0; index < count; ++index) {
    CUdevice other = 0;
    CUuuid uuid{};
    int able = 0;
    if (driver.cuDeviceGet_(&other, index) != CUDA_SUCCESS || other == context_.device) continue;
    if (driver.cuDeviceCanAccessPeer_(&able, context_.device, other) != CUDA_SUCCESS || able == 0) continue;
    if (driver.cuDeviceGetUuid_(&uuid, other) == CUDA_SUCCESS) reached.emplace_back(uuid.bytes, sizeof uuid.bytes);
  }
  return reached;
}

// ---- sharing --------------------------------------------------------------------------------------------------------

Result<MemoryExport> MemorySharing::export_memory(const std::byte* data, std::size_t bytes) {
  int has_handle = 0;
  const Status status = context_.within("looking at memory to be shared", [&] {
    return context_.driver.cuPointerGetAttribute_(&has_handle, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                                  address_of(data));
  });
  if (!status.ok()) return status;
  return has_handle != 0 ? export_allocation(address_of(data)) : export_mapping(address_of(data), bytes);
}

Result<MemoryExport> MemorySharing::export_allocation(CUdeviceptr data) const {
  const Driver& driver = context_.driver;
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  unsigned long long allocation = 0;
  CUipcMemHandle handle{};
  const Status status = context_.within("sharing memory with other processes", [&] {
    CUresult result = driver.cuMemGetAddressRange_(&base, &bytes, data);
    if (result != CUDA_SUCCESS) return result;
    result = driver.cuPointerGetAttribute_(&allocation, CU_POINTER_ATTRIBUTE_BUFFER_ID, data);
    return result != CUDA_SUCCESS ? result : driver.cuIpcGetMemHandle_(&handle, base);
  });
  if (!status.ok()) return status;
  return MemoryExport{.handle = handle_as<GpuHandle>(handle),
                      .allocation = allocation,
                      .allocation_at = base,
                      .allocation_bytes = bytes,
                      .offset = data - base};
}

// Data that lies in several mappings cannot be opened as one.
Result<MemoryExport> MemorySharing::export_mapping(CUdeviceptr data, std::size_t bytes) {
  const Driver& driver = context_.driver;
  CUdeviceptr base = 0;
  std::size_t length = 0;
  const std::lock_guard lock(mutex_);
  MemoryExport made;
  const Status status = context_.within("sharing mapped memory with other processes", [&] {
    CUresult result = driver.cuPointerGetAttribute_(&base, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, data);
    if (result != CUDA_SUCCESS) return result;
    result = driver.cuPointerGetAttribute_(&length, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, data);
    if (result != CUDA_SUCCESS) return result;
    if (data + bytes > base + length) return CUDA_ERROR_NOT_SUPPORTED;
    CUmemGenericAllocationHandle allocation = 0;
    result = driver.cuMemRetainAllocationHandle_(&allocation, std::bit_cast<void*>(data));
    if (result != CUDA_SUCCESS) return result;
    auto known = std::ranges::find(shared_, allocation, &Shared::allocation);
    if (known != shared_.end()) {
      (void)driver.cuMemRelease_(allocation);
    } else if (result = share(allocation, base); result != CUDA_SUCCESS) {
      return result;
    } else {
      known = std::prev(shared_.end());
    }
    made.handle = handle_as<GpuHandle>(DescriptorName{::getpid(), known->descriptor.get()});
    made.allocation = known->number;
    return CUDA_SUCCESS;
  });
  if (!status.ok()) return status;
  made.allocation_at = base;
  made.allocation_bytes = length;
  made.offset = data - base;
  made.by_descriptor = true;
  return made;
}

// Takes over a reference to the allocation.
CUresult MemorySharing::share(CUmemGenericAllocationHandle allocation, CUdeviceptr at) {
  forget_unmapped();
  int descriptor = -1;
  const CUresult result = context_.driver.cuMemExportToShareableHandle_(&descriptor, allocation, by_descriptor, 0);
  if (result != CUDA_SUCCESS) {
    (void)context_.driver.cuMemRelease_(allocation);
    return result;
  }
  shared_.push_back({allocation, at, UniqueFd(descriptor), ++latest_number_});
  return CUDA_SUCCESS;
}

// Lets the application's memory go that it has unmapped.
void MemorySharing::forget_unmapped() {
  const Driver& driver = context_.driver;
  std::erase_if(shared_, [&](const Shared& shared) {
    CUmemGenericAllocationHandle there = 0;
    const bool mapped = driver.cuMemRetainAllocationHandle_(&there, std::bit_cast<void*>(shared.at)) == CUDA_SUCCESS;
    if (mapped) (void)driver.cuMemRelease_(there);
    if (mapped && there == shared.allocation) return false;
    (void)driver.cuMemRelease_(shared.allocation);
    return true;
  });
}

// ---- opening --------------------------------------------------------------------------------------------------------

// Peer access is enabled by the driver where the memory lies on another GPU.
Result<std::byte*> MemorySharing::import_memory(const MemoryExport& memory) {
  if (memory.by_descriptor) return import_mapping(memory);
  CUdeviceptr allocation = 0;
  const Status status = context_.within("opening memory of another process", [&] {
    return context_.driver.cuIpcOpenMemHandle_(&allocation, handle_as<CUipcMemHandle>(memory.handle),
                                               CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  });
  if (!status.ok()) return status;
  return memory_at(allocation);
}

Result<std::byte*> MemorySharing::import_mapping(const MemoryExport& memory) {
  const auto name = handle_as<DescriptorName>(memory.handle);
  const auto descriptor = fetch_descriptor(name.process, name.descriptor);
  if (!descriptor.ok()) return descriptor.status();
  CUdeviceptr at = 0;
  const Status status = context_.within("opening mapped memory of another process", [&] {
    const Driver& driver = context_.driver;
    CUmemGenericAllocationHandle allocation = 0;
    CUresult result = driver.cuMemImportFromShareableHandle_(
        &allocation, std::bit_cast<void*>(static_cast<std::uintptr_t>(descriptor->get())), by_descriptor);
    if (result != CUDA_SUCCESS) return result;
    result = map(allocation, memory.allocation_bytes, at);
    (void)driver.cuMemRelease_(allocation);  // it lasts while it is mapped
    return result;
  });
  if (!status.ok()) return status;
  const std::lock_guard lock(mutex_);
  mapped_[at] = memory.allocation_bytes;
  return memory_at(at);
}

CUresult MemorySharing::map(CUmemGenericAllocationHandle allocation, std::size_t bytes, CUdeviceptr& at) const {
  const Driver& driver = context_.driver;
  const CUmemAccessDesc access{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = context_.device},
                               .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUresult result = driver.cuMemAddressReserve_(&at, bytes, 0, 0, 0);
  if (result != CUDA_SUCCESS) return result;
  result = driver.cuMemMap_(at, bytes, 0, allocation, 0);
  if (result != CUDA_SUCCESS) {
    (void)driver.cuMemAddressFree_(at, bytes);
    return result;
  }
  result = driver.cuMemSetAccess_(at, bytes, &access, 1);
  if (result != CUDA_SUCCESS) unmap(at, bytes);
  return result;
}

void MemorySharing::unmap(CUdeviceptr at, std::size_t bytes) const {
  (void)context_.driver.cuMemUnmap_(at, bytes);
  (void)context_.driver.cuMemAddressFree_(at, bytes);
}

Status MemorySharing::close_import(std::byte* allocation) {
  const std::lock_guard lock(mutex_);
  const auto mapped = mapped_.extract(address_of(allocation));
  return context_.within("closing memory of another process", [&] {
    if (mapped.empty()) return context_.driver.cuIpcCloseMemHandle_(address_of(allocation));
    unmap(mapped.key(), mapped.mapped());
    return CUDA_SUCCESS;
  });
}

}  // namespace hocket::cuda
