#include "tools/heap/address_space.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <iterator>

namespace hocket::heap {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 42;
constexpr std::size_t least_bytes = std::size_t{1} << 30;
constexpr int addresses_only = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

}  // namespace

AddressSpace::AddressSpace() {
  rlimit addresses{};
  if (::getrlimit(RLIMIT_AS, &addresses) != 0) return;
  const std::size_t allowed = addresses.rlim_cur / 4;  // the program needs the rest
  for (std::size_t bytes = most_bytes; bytes >= least_bytes; bytes /= 4) {
    if (bytes > allowed) continue;
    void* const at = ::mmap(nullptr, bytes, PROT_NONE, addresses_only, -1, 0);
    if (at == MAP_FAILED) continue;
    begin_ = reinterpret_cast<std::uintptr_t>(at);
    bytes_ = bytes;
    free_.emplace(begin_, bytes_);
    return;
  }
}

void* AddressSpace::take(std::size_t bytes) {
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    if (range->second < bytes) continue;
    const std::uintptr_t at = range->first;
    if (range->second > bytes) free_.emplace_hint(std::next(range), at + bytes, range->second - bytes);
    free_.erase(range);
    return reinterpret_cast<void*>(at);  // NOLINT(performance-no-int-to-ptr): addresses are what this is about
  }
  return nullptr;
}

void AddressSpace::give_back(void* address, std::size_t bytes) noexcept {
  (void)::mmap(address, bytes, PROT_NONE, addresses_only | MAP_FIXED, -1, 0);
  auto range = free_.end();
  try {
    range = free_.emplace(reinterpret_cast<std::uintptr_t>(address), bytes).first;
  } catch (const std::bad_alloc&) {
    return;
  }
  if (const auto next = std::next(range); next != free_.end() && range->first + range->second == next->first) {
    range->second += next->second;
    free_.erase(next);
  }
  if (range == free_.begin()) return;
  if (const auto before = std::prev(range); before->first + before->second == range->first) {
    before->second += range->second;
    free_.erase(range);
  }
}

}  // namespace hocket::heap
