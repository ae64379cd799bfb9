// RegionTable: this process's memory that other processes can map, because it is mapped shared from a file descriptor.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/status.hpp"

namespace hocket {

// What mapped the memory of a region, and unmaps it.
enum class RegionOwner : std::uint8_t { caller, hocket, heap };  // heap: libhocket_heap.so

struct SharedRegion {
  std::uint32_t id = 0;  // never 0, never used again
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  std::uint64_t file_offset = 0;  // of `address` in the file
  bool may_shrink = false;        // touching the memory beyond the file's new end would then be SIGBUS
  RegionOwner owner = RegionOwner::caller;
  std::weak_ptr<const UniqueFd> fd;  // weak: the memory is free as soon as the region is removed
};

// Thread rule: any thread. Readers who look often keep a snapshot and take a new one when version() has changed.
class RegionTable {
 public:
  // Registers `bytes` at `address`, which this process has mapped shared and writable from `fd`; keeps a duplicate of
  // `fd`. Returns the region's id. Seals the file against shrinking where it can; else the region says so, and no peer
  // should touch it. Code::invalid_argument where the memory is not such a mapping or overlaps a registered region;
  // Code::out_of_resources where the file's memory or a descriptor cannot be had.
  Result<std::uint32_t> add(int fd, void* address, std::size_t bytes, RegionOwner owner = RegionOwner::caller);
  // The same for all of a committed, sealed file that this process mapped itself: nothing is left to be checked.
  void add_own(UniqueFd fd, void* address, std::size_t bytes, RegionOwner owner);
  // Takes out the region of this owner that begins at `address`; nothing where there is none. The memory itself stays.
  std::optional<SharedRegion> remove(const void* address, RegionOwner owner = RegionOwner::caller);
  // The region in which all these bytes lie.
  std::optional<SharedRegion> find(const void* data, std::size_t bytes) const;

  // Changes whenever a region is added or removed.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  // All regions, by ascending address.
  std::vector<SharedRegion> snapshot() const;

  // Around a fork: the child finds the table whole.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Entry {
    SharedRegion region;
    std::shared_ptr<const UniqueFd> fd;
  };
  // By address. Nothing that is done under the lock allocates much at once: a shared heap would come back here.
  using Entries = std::map<std::uintptr_t, Entry>;

  Entries::const_iterator first_beyond(std::uintptr_t address) const;
  void insert(SharedRegion region, std::shared_ptr<const UniqueFd> fd);

  mutable std::mutex mutex_;
  Entries entries_;
  std::uint32_t last_id_ = 0;
  bool told_that_files_may_shrink_ = false;
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace hocket
