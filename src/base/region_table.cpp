#include "src/base/region_table.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "src/base/file_contents.hpp"
#include "src/base/log.hpp"
#include "src/base/memory_left.hpp"
#include "src/base/words.hpp"

namespace hocket {
namespace {

bool covers(const SharedRegion& region, std::uintptr_t begin, std::size_t bytes) {
  const auto start = reinterpret_cast<std::uintptr_t>(region.address);
  return begin >= start && bytes <= region.bytes && begin - start <= region.bytes - bytes;
}

// Where in the file that `fd` stands for the memory at `address` lies. A wrong descriptor would make peers read and
// write something else without anybody noticing, so the kernel is asked.
Result<std::uint64_t> offset_in_file(int fd, std::uintptr_t address, std::size_t bytes) {
  const auto no_mapping = [&](std::string_view why) {
    return Status(Code::invalid_argument,
                  fmt::format("the {} bytes at {:#x} are not memory of file descriptor {}: {}; map it with MAP_SHARED, "
                              "readable and writable, and register what mmap returned; memory of malloc cannot be "
                              "registered: take it from hocket_mem_alloc, or run with hocket-run --shared-heap",
                              bytes, address, fd, why));
  };
  struct stat file {};
  if (::fstat(fd, &file) != 0) return no_mapping(std::strerror(errno));
  const auto maps = file_contents("/proc/self/maps");
  if (!maps) return Status(Code::unsupported, "/proc/self/maps cannot be read, so no memory can be registered");
  std::optional<std::uint64_t> found;
  std::uintptr_t at = address;
  const std::uintptr_t end = address + bytes;
  for (std::string_view lines = *maps; at < end && !lines.empty();) {
    const std::string line(next_line(lines));
    std::uint64_t from = 0, to = 0, offset = 0, inode = 0;
    char rights[5] = "";
    if (std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %" SCNu64, &from, &to, rights, &offset,
                    &inode) != 5 ||
        to <= at) {
      continue;
    }
    if (from > at) break;
    if (std::string_view(rights).substr(0, 2) != "rw" || rights[3] != 's') {
      return no_mapping("it is not mapped shared, readable and writable");
    }
    const std::uint64_t here = offset + (at - from);
    if (inode != file.st_ino || (found && here != *found + (at - address))) return no_mapping("it is another file's");
    if (!found) found = here;
    at = to;
  }
  if (!found || at < end) return no_mapping("it is not mapped");
  return *found;
}

bool seal_against_shrinking(int fd) {
  const auto sealed = [&] {
    const int seals = ::fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
  };
  return sealed() || (::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) == 0 && sealed());
}

}  // namespace

Result<std::uint32_t> RegionTable::add(int fd, void* address, std::size_t bytes, RegionOwner owner) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (bytes == 0 || address == nullptr || begin + bytes < begin) {
    return Status(Code::invalid_argument, "an empty or null range of memory cannot be registered");
  }
  const auto offset = offset_in_file(fd, begin, bytes);
  if (!offset) return offset.status();
  struct stat file {};
  if (::fstat(fd, &file) != 0 || static_cast<std::uint64_t>(file.st_size) < *offset + bytes) {
    return Status(Code::invalid_argument, fmt::format("file descriptor {} has {} bytes, fewer than the memory to be "
                                                      "registered: enlarge it with ftruncate first",
                                                      fd, file.st_size));
  }
  // Peers must not find pages missing that nothing is left for.
  const std::size_t there = static_cast<std::size_t>(file.st_blocks) * 512;
  if (there < bytes) {
    if (const auto shortage = memory_shortage(bytes - there)) {
      return Status(Code::out_of_resources,
                    fmt::format("the {} bytes to be registered cannot be committed: {} leaves {}", bytes,
                                shortage->limit, shortage->left));
    }
  }
  int error = 0;
  do {
    error =
        ::fallocate(fd, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(*offset), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  } while (error == EINTR);
  if (error != 0 && error != EOPNOTSUPP) {
    return Status(Code::out_of_resources,
                  fmt::format("the {} bytes to be registered cannot be committed: {}", bytes, std::strerror(error)));
  }
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy) {
    return Status(Code::out_of_resources,
                  fmt::format("no file descriptor is left for a registered region ({}); raise `ulimit -n`",
                              std::strerror(errno)));
  }
  auto own = std::make_shared<const UniqueFd>(std::move(copy));
  const bool may_shrink = !seal_against_shrinking(fd);
  const std::lock_guard lock(mutex_);
  if (const auto after = first_beyond(begin); after != entries_.end() && after->first < begin + bytes) {
    return Status(Code::invalid_argument,
                  fmt::format("the {} bytes at {} overlap memory that is registered already", bytes, address));
  }
  if (may_shrink && !std::exchange(told_that_files_may_shrink_, true)) {
    log::warn(
        fmt::format("the {} bytes registered at {} are used as plain memory, with copies: their file could shrink; "
                    "take memory from hocket_mem_alloc, or a memfd made with MFD_ALLOW_SEALING (later ones are "
                    "not logged)",
                    bytes, address));
  }
  insert({++last_id_, static_cast<std::byte*>(address), bytes, *offset, may_shrink, owner, {}}, std::move(own));
  return last_id_;
}

void RegionTable::add_own(UniqueFd fd, void* address, std::size_t bytes, RegionOwner owner) {
  auto own = std::make_shared<const UniqueFd>(std::move(fd));
  const std::lock_guard lock(mutex_);
  insert({++last_id_, static_cast<std::byte*>(address), bytes, 0, false, owner, {}}, std::move(own));
}

void RegionTable::insert(SharedRegion region, std::shared_ptr<const UniqueFd> fd) {
  region.fd = fd;
  entries_.emplace(reinterpret_cast<std::uintptr_t>(region.address), Entry{region, std::move(fd)});
  version_.fetch_add(1, std::memory_order_release);
}

// The first region that ends behind this address.
RegionTable::Entries::const_iterator RegionTable::first_beyond(std::uintptr_t address) const {
  auto at = entries_.upper_bound(address);
  if (at == entries_.begin()) return at;
  const auto before = std::prev(at);
  return before->first + before->second.region.bytes > address ? before : at;
}

std::optional<SharedRegion> RegionTable::remove(const void* address, RegionOwner owner) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(reinterpret_cast<std::uintptr_t>(address));
  if (found == entries_.end() || found->second.region.owner != owner) return std::nullopt;
  SharedRegion region = std::move(found->second.region);
  entries_.erase(found);
  version_.fetch_add(1, std::memory_order_release);
  return region;
}

std::optional<SharedRegion> RegionTable::find(const void* data, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  const std::lock_guard lock(mutex_);
  const auto at = first_beyond(begin);
  if (at == entries_.end() || !covers(at->second.region, begin, bytes)) return std::nullopt;
  return at->second.region;
}

std::vector<SharedRegion> RegionTable::snapshot() const {
  std::vector<SharedRegion> regions;
  for (std::size_t needed = 0;;) {
    regions.reserve(needed);  // without the lock
    const std::lock_guard lock(mutex_);
    needed = entries_.size();
    if (needed > regions.capacity()) continue;
    for (const auto& [address, entry] : entries_) regions.push_back(entry.region);
    return regions;
  }
}

}  // namespace hocket
