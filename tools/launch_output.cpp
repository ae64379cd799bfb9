#include "tools/launch_output.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace hocket::launch {

bool write_all(int fd, std::string_view bytes) {
  constexpr int pause_ms = 200;
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd writable{fd, POLLOUT, 0};
      poll(&writable, 1, pause_ms);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace hocket::launch
