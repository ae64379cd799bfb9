#include "transports/shm/plain_memory.hpp"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <limits>
#include <new>
#include <random>
#include <vector>

#include "src/base/environment.hpp"
#include "src/base/hash.hpp"

namespace hocket::shm {
namespace {

// The shortest of a few times of `move`, which says whether it could be done. Never where it could not.
template <class Move>
double shortest_seconds(const Move& move) {
  double shortest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 4; ++i) {  // the first one touches the memory
    const auto began = std::chrono::steady_clock::now();
    if (!move()) return std::numeric_limits<double>::infinity();
    shortest = std::min(shortest, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  return shortest;
}

// As much as one read of a direct path; it stays in the caches, as what another rank has just written does.
PlainReads measure_reads() try {
  constexpr std::size_t bytes = std::size_t{512} << 10;
  std::vector<std::byte> from(bytes, std::byte{1}), to(bytes);
  const double read = shortest_seconds([&] {
    const iovec here{to.data(), bytes}, there{from.data(), bytes};
    return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
  });
  const double copy = shortest_seconds([&] {
    std::memcpy(to.data(), from.data(), bytes);
    return to.back() == from.back();
  });
  return {.read = read / bytes, .copy = copy / bytes};
} catch (const std::bad_alloc&) {
  return {};
}

}  // namespace

// What else the variable may say is found out where communicators are made.
bool may_read_plain_memory() {
  const auto variable = environment::find({"HOCKET_SINGLE_COPY"});
  if (!variable || variable->value == "auto") return true;
  const auto on = environment::to_switch(*variable, "auto, ");
  return on.ok() && *on;
}

bool kernel_reads(std::span<const std::byte> memory) {
  std::array<std::byte, 2> ends;
  const iovec here{ends.data(), ends.size()};
  const iovec there[] = {{const_cast<std::byte*>(&memory.front()), 1}, {const_cast<std::byte*>(&memory.back()), 1}};
  return ::process_vm_readv(::getpid(), &here, 1, there, std::size(there), 0) == std::ssize(ends);
}

bool ReadableMemory::holds(std::span<const std::byte> memory, Time now) {
  Known& known = known_[Hash().add(std::bit_cast<std::uintptr_t>(memory.data())).value() % known_.size()];
  if (known.data == memory.data() && known.bytes == memory.size() && now < known.until) return true;
  if (!kernel_reads(memory)) return false;
  known = {.data = memory.data(), .bytes = memory.size(), .until = now + moment};
  return true;
}

PlainReads measured_plain_reads() {
  static const PlainReads reads = may_read_plain_memory() ? measure_reads() : PlainReads();
  return reads;
}

PlainMemoryOwner::PlainMemoryOwner() {
  std::random_device random;
  secret_ = std::make_unique<const std::uint64_t>(std::uint64_t{random()} << 32 | random() | 1);
}

void PlainMemoryOwner::show(PlainMemoryInfo& info, bool measures) const {
  info.process = static_cast<std::uint64_t>(::getpid());
  info.secret_at = reinterpret_cast<std::uintptr_t>(secret_.get());
  info.secret = *secret_;
  const PlainReads reads = measures ? measured_plain_reads() : PlainReads{.read = 0};
  info.read = reads.read;
  info.copy = reads.copy;
}

bool PlainMemory::probe(const PlainMemoryInfo& info) {
  process_ = static_cast<pid_t>(info.process);
  std::uint64_t secret = 0;
  const Status status = read(info.secret_at, reinterpret_cast<std::byte*>(&secret), sizeof secret);
  return status.ok() && secret == info.secret;
}

Status PlainMemory::read(std::uintptr_t from, std::byte* to, std::size_t bytes) const {
  std::size_t at = 0;
  while (at < bytes) {
    const iovec here{to + at, bytes - at};
    const iovec there{std::bit_cast<void*>(from + at), bytes - at};
    const auto got = ::process_vm_readv(process_, &here, 1, &there, 1, 0);
    if (got > 0) {
      at += static_cast<std::size_t>(got);
      continue;
    }
    if (errno == ESRCH) return {Code::peer_lost, "its process has ended"};
    return {Code::invalid_argument,
            fmt::format("its memory cannot be read ({}): is the buffer that it passed mapped?", std::strerror(errno))};
  }
  return {};
}

}  // namespace hocket::shm
