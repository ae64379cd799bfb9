// Plain memory of other processes of this host, read with one copy (process_vm_readv). Whether the kernel allows it
// depends on users, capabilities, namespaces and security modules, so it is tried, never assumed: each process shows a
// secret word, and a process that can read that from the other's memory can read everything there.
//
// Only reading: a member that was stopped and goes on after its operation has failed must not write into memory that
// its owner uses for something else by then.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "src/spi/plain_reads.hpp"
#include "src/spi/status.hpp"

namespace hocket::shm {

// How to read a process's memory, shown to others in memory that they share.
struct PlainMemoryInfo {
  std::atomic<std::uint64_t> process{0};
  std::atomic<std::uint64_t> secret_at{0};
  std::atomic<std::uint64_t> secret{0};
  std::atomic<double> read{0}, copy{0};  // measured_plain_reads() of this process, where it was to find out; else 0
};

// This process's side: what the info tells of.
class PlainMemoryOwner {
 public:
  PlainMemoryOwner();

  // `measures`: it finds out how fast plain memory is read.
  void show(PlainMemoryInfo& info, bool measures) const;

 private:
  std::unique_ptr<const std::uint64_t> secret_;  // stays where it is
};

// Where HOCKET_SINGLE_COPY forbids it, it is not even tried: some sandboxes end a process for it.
bool may_read_plain_memory();
// Whether the kernel can read the first and the last of these bytes of this process, as it cannot in memory of devices.
bool kernel_reads(std::span<const std::byte> memory);
// What kernel_reads() has found out lately. A system call takes as long as copying 16 to 32 KiB, which is much of a
// message of 64. One thread at a time.
class ReadableMemory {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds moment{1};

  // kernel_reads(), unless that was asked of these bytes a moment ago and the answer was yes. A program that unmaps
  // them and maps memory of a device there within that moment finds that its message cannot be read.
  bool holds(std::span<const std::byte> memory, Time now);

 private:
  struct Known {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    Time until;
  };
  std::array<Known, 8> known_;  // by address
};

// What this kernel takes to read memory of a process. Found out once in this process, with memory of its own; infinite
// where it may not read even that, or memory has run out.
PlainReads measured_plain_reads();

// Another process's memory.
class PlainMemory {
 public:
  // Whether it can be read.
  bool probe(const PlainMemoryInfo& info);
  // Code::peer_lost where the process has ended; Code::invalid_argument where it has no memory there.
  Status read(std::uintptr_t from, std::byte* to, std::size_t bytes) const;

 private:
  pid_t process_ = 0;
};

}  // namespace hocket::shm
