#include "bindings/torch/src/memory.hpp"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>

#include <map>
#include <mutex>
#include <stdexcept>

#include "bindings/torch/src/failure.hpp"
#include "hocket/hocket.h"

namespace hocket_torch {
namespace {

constexpr std::size_t worth_it = std::size_t{64} << 10;  // smaller tensors travel by copies anyway

void give_back(void* memory) {
  (void)hocket_mem_free(memory);
}

// Gives large tensors registered memory, if there is some, and the rest what torch's own allocator does.
class RegisteringAllocator final : public AllocatorBase {
 public:
  explicit RegisteringAllocator(c10::Allocator* usual) : usual_(usual) {}

 private:
  c10::DataPtr give(std::size_t bytes) const override {
    void* memory = nullptr;
    if (bytes < worth_it || hocket_mem_alloc(&memory, bytes) != HOCKET_OK) return usual_->allocate(bytes);
    return {memory, memory, &give_back, c10::Device(c10::DeviceType::CPU)};
  }

  c10::Allocator* const usual_;
};

constexpr std::size_t scratch_from = std::size_t{1} << 20;    // smaller ones cost little to make
constexpr std::size_t scratch_kept = std::size_t{256} << 20;  // bytes that nobody uses

// Never destroyed, because tensors may be.
struct Scratch {
  std::mutex mutex;
  std::multimap<std::size_t, void*> unused;  // by size; guarded by mutex, as is `bytes`
  std::size_t bytes = 0;                     // of all in `unused`
};

Scratch& pool() {
  static auto* const one = new Scratch;
  return *one;
}

// Null: there is none of that size, or one that is not much larger.
void* take_unused(std::size_t& bytes) {
  Scratch& own = pool();
  const std::lock_guard lock(own.mutex);
  const auto found = own.unused.lower_bound(bytes);
  if (found == own.unused.end() || found->first > 2 * bytes) return nullptr;
  bytes = found->first;
  void* const memory = found->second;
  own.bytes -= bytes;
  own.unused.erase(found);
  return memory;
}

void put_back(void* memory, std::size_t bytes) {
  Scratch& own = pool();
  {
    const std::lock_guard lock(own.mutex);
    if (own.bytes + bytes <= scratch_kept) {
      own.unused.emplace(bytes, memory);
      own.bytes += bytes;
      return;
    }
  }
  give_back(memory);
}

}  // namespace

at::Tensor scratch(std::int64_t elements, const at::Tensor& like) {
  const auto options = at::TensorOptions().dtype(like.scalar_type()).device(like.device());
  std::size_t bytes = static_cast<std::size_t>(elements) * like.element_size();
  if (bytes < scratch_from || !like.device().is_cpu()) return at::empty({elements}, options);
  void* memory = take_unused(bytes);
  if (memory == nullptr && hocket_mem_alloc(&memory, bytes) != HOCKET_OK) return at::empty({elements}, options);
  return at::from_blob(
      memory, {elements}, [bytes](void* whole) { put_back(whole, bytes); }, options);
}

at::Tensor registered_empty(at::IntArrayRef sizes, at::ScalarType type) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : sizes) {
    if (extent < 0) throw std::invalid_argument("empty: a size is negative");
    if (__builtin_mul_overflow(elements, extent, &elements)) throw std::invalid_argument("empty: too large");
  }
  const auto options = at::TensorOptions().dtype(type);
  if (elements == 0) return at::empty(sizes, options);
  void* memory = nullptr;
  check(hocket_mem_alloc(&memory, static_cast<std::size_t>(elements) * c10::elementSize(type)));
  return at::from_blob(memory, sizes, &give_back, options);
}

void register_allocations(bool on) {
  static c10::Allocator* const usual = c10::GetCPUAllocator();
  static RegisteringAllocator registering(usual);
  // The highest priority, so that both calls take effect.
  c10::SetCPUAllocator(on ? &registering : usual, 0xFF);
}

}  // namespace hocket_torch
