#include "transports/shm/plain_memory.hpp"

#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

namespace hocket::shm {

PlainMemoryOwner::PlainMemoryOwner() {
  std::random_device random;
  secret_ = std::make_unique<const std::uint64_t>(std::uint64_t{random()} << 32 | random() | 1);
}

void PlainMemoryOwner::show(PlainMemoryInfo& info) const {
  info.process = static_cast<std::uint64_t>(::getpid());
  info.secret_at = reinterpret_cast<std::uintptr_t>(secret_.get());
  info.secret = *secret_;
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
    const iovec there{reinterpret_cast<void*>(from + at), bytes - at};
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
