#include "tools/heap/shared_blocks.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "src/base/memory_left.hpp"

namespace hocket::heap {
namespace {

constexpr std::size_t kept_bytes_max = std::size_t{1} << 28;
constexpr std::size_t blocks_max = 1024;
constexpr int copying_milliseconds_max = 60'000;
// Shared memory is committed when it is allocated, also what a program never touches: so much of what is left must
// stay.
constexpr std::uint64_t share_of_memory = 4;

// Few sizes, so that blocks are used again; an eighth more than was asked for at most.
std::size_t rounded(std::size_t bytes) {
  const std::size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

// Every block costs a descriptor, which the program may need.
std::size_t blocks_allowed() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
  return std::min<std::size_t>(blocks_max, files.rlim_cur / 4);
}

bool fits_in_files(std::size_t bytes) {
  rlimit file_size{};
  return ::getrlimit(RLIMIT_FSIZE, &file_size) == 0 && bytes <= file_size.rlim_cur;
}

// What is shared there becomes this process's own. A child without its data could only compute nonsense.
void copy(void* address, std::size_t bytes) {
  void* const own = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own != MAP_FAILED) {
    std::memcpy(own, address, bytes);
    if (::mremap(own, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, address) != MAP_FAILED) return;
  }
  constexpr char why[] = "libhocket_heap: no memory is left for a forked child's copy of its parent's data\n";
  (void)!::write(STDERR_FILENO, why, sizeof why - 1);
  std::abort();
}

// A committed file in memory that cannot shrink; -1: there is no memory, or no descriptor.
int make_file(std::size_t bytes) {
  const int fd = ::memfd_create("hocket-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  if (error == 0 && ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

// ---- blocks ---------------------------------------------------------------------------------------------------------

void* SharedBlocks::allocate(std::size_t bytes, bool zeroed) noexcept {
  const int error = errno;  // that of the caller, who gets memory
  void* memory = nullptr;
  try {
    const std::lock_guard lock(mutex_);
    if (bytes >= shared_from_bytes && bytes < PTRDIFF_MAX / 2) {
      bytes = rounded(bytes);
      memory = reuse(bytes, zeroed);
      if (memory == nullptr) memory = make(bytes);
    }
  } catch (const std::bad_alloc&) {  // of the tables: the C library says so itself, if it has nothing either
  }
  errno = error;
  return memory;
}

void* SharedBlocks::reuse(std::size_t bytes, bool zeroed) {
  const auto same = kept_.find(bytes);
  if (same == kept_.end()) return nullptr;
  void* const memory = same->second;
  kept_.erase(same);
  kept_bytes_ -= bytes;
  if (zeroed) std::memset(memory, 0, bytes);
  return memory;
}

void* SharedBlocks::make(std::size_t bytes) {
  if (!fits_in_files(bytes)) return nullptr;
  const auto lacks_room = [&] {
    return blocks_.size() >= blocks_allowed() || memory_shortage(share_of_memory * bytes).has_value();
  };
  if (lacks_room()) {
    drop_kept();
    if (lacks_room()) return nullptr;
  }
  void* const address = addresses_.take(bytes);
  if (address == nullptr) return nullptr;
  const int fd = make_file(bytes);
  if (fd < 0 || ::mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) {
    if (fd >= 0) ::close(fd);
    addresses_.give_back(address, bytes);
    return nullptr;
  }
  try {
    tell_of(address, blocks_.emplace(address, Block{.bytes = bytes, .fd = fd, .shared = true}).first->second);
  } catch (const std::bad_alloc&) {
    ::close(fd);
    addresses_.give_back(address, bytes);
    throw;
  }
  return address;
}

void SharedBlocks::tell_of(void* address, Block& block) {
  if (listener_) listener_->added(std::exchange(block.fd, -1), address, block.bytes);
}

std::size_t SharedBlocks::bytes_of(const void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(const_cast<void*>(memory));
  return block == blocks_.end() ? 0 : block->second.bytes;
}

void SharedBlocks::free(void* memory) noexcept {
  const int error = errno;
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(memory);
  if (block == blocks_.end()) return;  // a defect of the program, which the C library would end it for
  if (!keep(memory, block->second)) {
    release(memory, block->second);
    blocks_.erase(block);
  }
  errno = error;
}

// Whether it waits to be allocated again.
bool SharedBlocks::keep(void* memory, const Block& block) {
  if (!block.shared || block.bytes > kept_bytes_max - kept_bytes_) return false;
  try {
    kept_.emplace(block.bytes, memory);
  } catch (const std::bad_alloc&) {
    return false;
  }
  kept_bytes_ += block.bytes;
  return true;
}

// The block's entry stays.
void SharedBlocks::release(void* address, const Block& block) {
  if (block.shared && listener_) listener_->removed(address);
  if (block.fd >= 0) ::close(block.fd);
  addresses_.give_back(address, block.bytes);
}

void SharedBlocks::drop_kept() {
  for (const auto& [bytes, address] : kept_) {
    const auto block = blocks_.find(address);
    release(address, block->second);
    blocks_.erase(block);
  }
  kept_.clear();
  kept_bytes_ = 0;
}

void SharedBlocks::serve(const SharedHeapListener& listener) noexcept {
  const std::lock_guard lock(mutex_);
  listener_ = listener;
  for (auto& [address, block] : blocks_) {
    if (block.shared) tell_of(address, block);
  }
}

// ---- fork -----------------------------------------------------------------------------------------------------------

// A child would share the memory, and see what its parent writes. While it copies, its parent must not go on.
void SharedBlocks::before_fork() noexcept {
  mutex_.lock();
  if (listener_) listener_->before_fork();
  if (blocks_.empty() || ::pipe2(copied_, O_CLOEXEC) != 0) copied_[0] = copied_[1] = -1;
}

void SharedBlocks::after_fork_in_parent() noexcept {
  if (copied_[0] >= 0) {
    ::close(copied_[1]);  // a child that ends before it has copied, or that was never made, is not waited for
    pollfd child{.fd = copied_[0], .events = POLLIN, .revents = 0};
    while (::poll(&child, 1, copying_milliseconds_max) < 0 && errno == EINTR) {
    }
    ::close(copied_[0]);
  }
  if (listener_) listener_->after_fork();
  mutex_.unlock();
}

void SharedBlocks::after_fork_in_child() noexcept {
  if (listener_) listener_->after_fork();
  drop_kept();
  for (auto& [address, block] : blocks_) {
    if (!block.shared) continue;
    if (listener_) listener_->removed(address);
    if (block.fd >= 0) ::close(block.fd);
    copy(address, block.bytes);
    block.fd = -1;
    block.shared = false;
  }
  if (copied_[0] >= 0) {
    ::close(copied_[0]);
    (void)!::write(copied_[1], "", 1);
    ::close(copied_[1]);
  }
  mutex_.unlock();
}

}  // namespace hocket::heap
