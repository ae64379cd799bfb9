// Memory that processes share: a memfd, committed and sealed, and its mapping into this process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "src/base/fd.hpp"
#include "src/spi/status.hpp"

namespace hocket::shm {

// A stretch of address space that unmaps itself.
class Mapping {
 public:
  Mapping() = default;
  Mapping(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

enum class Commit { now, later };
// `bytes` of zeros in a memfd, sealed against any change of size. What is committed can be touched without a fault.
// Code::unsupported where memfds are forbidden; Code::out_of_resources names the limit that was met.
Result<UniqueFd> create_memory(const char* purpose, std::size_t bytes, Commit commit = Commit::now);
Status commit_memory(const char* purpose, int fd, std::size_t offset, std::size_t bytes);
// Whether so much can be committed, as far as known: else as commit_memory().
Status check_room(const char* purpose, std::size_t bytes);

// Whether what a peer handed over is such memory of at least `bytes`. Code::protocol_error if not.
Status check_memory(int fd, std::size_t bytes);

// What a file is mapped in: its huge pages, where it has such.
std::size_t page_bytes_of(int fd);
// Maps a part of a file shared, readable and writable; pages come into the page table when they are touched. `offset`
// is a multiple of the file's page size. Large parts begin at a multiple of 2 MiB, so that huge pages fit.
// Code::out_of_resources.
Result<Mapping> map_memory(int fd, std::uint64_t offset, std::size_t bytes);

// Enters pages of a mapping into the page table, after committing those that are not. False: the kernel cannot do that,
// or has no memory.
bool enter_pages(std::byte* at, std::size_t bytes);

// Maps `front` bytes once and the `ring` bytes after them twice, one behind the other, so that a stretch that wraps
// around lies in one piece. Both are multiples of the page size.
Result<Mapping> map_ring(int fd, std::size_t front, std::size_t ring);

}  // namespace hocket::shm
