// Whether plain memory can be read here where it lies; security modules and users decide.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include "transports/shm/plain_memory.hpp"

namespace hocket {

// Whether a process may read the memory of one that is not its child, as ranks do. Asks a child to read this one's.
inline bool ranks_may_read_each_other() {
  const shm::PlainMemoryOwner owner;
  shm::PlainMemoryInfo info;
  owner.show(info, false);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(shm::PlainMemory().probe(info) ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace hocket
