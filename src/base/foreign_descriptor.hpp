// Descriptors of other processes of this host, fetched without their help. Who may read a process's memory may have its
// descriptors, too, but for sandboxes that forbid just this.
#pragma once

#include <sys/types.h>

#include "src/base/fd.hpp"
#include "src/spi/status.hpp"

namespace hocket {

// Whether the kernel and the sandbox know the way at all: asked of this process itself.
bool may_fetch_descriptors();
// Code::peer_lost where the process has ended; Code::invalid_argument where it has no such descriptor, or it may not be
// had.
Result<UniqueFd> fetch_descriptor(pid_t process, int descriptor);

}  // namespace hocket
