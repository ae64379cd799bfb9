#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace hocket {

// All bytes into a file that waits for its writers. 0, or errno.
inline int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno != EINTR) return errno;
    if (wrote > 0) bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return 0;
}

}  // namespace hocket
