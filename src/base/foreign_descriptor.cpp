#include "src/base/foreign_descriptor.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hocket {

bool may_fetch_descriptors() {
  const UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  return self && UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, self.get(), self.get(), 0)));
}

Result<UniqueFd> fetch_descriptor(pid_t process, int descriptor) {
  const UniqueFd owner(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  UniqueFd fetched;
  if (owner) fetched = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, owner.get(), descriptor, 0)));
  if (fetched) return fetched;
  return Status(errno == ESRCH ? Code::peer_lost : Code::invalid_argument,
                fmt::format("a descriptor of process {} cannot be had: {}", process, std::strerror(errno)));
}

}  // namespace hocket
