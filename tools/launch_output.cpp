#include "tools/launch_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace hocket::launch {
namespace {

// Others may write there too, and must not find their descriptor changed: so it is opened anew. Nothing where that is
// not possible, as for sockets, or not needed.
UniqueFd open_anew(int fd) {
  struct stat about {};
  const bool waits = ::fstat(fd, &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISCHR(about.st_mode));
  if (!waits) return {};
  return UniqueFd(::open(fmt::format("/proc/self/fd/{}", fd).c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

Outlet::Outlet(int fd) : own_(open_anew(fd)), fd_(own_ ? own_.get() : fd) {}

// No more than what there is room for where poll(2) sees room in a pipe that could not be opened anew.
ssize_t Outlet::write_some() const {
  const char* const from = kept_.data() + written_;
  const std::size_t bytes = std::min<std::size_t>(kept(), PIPE_BUF);
  const ssize_t sent = ::send(fd_, from, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 && errno == ENOTSOCK ? ::write(fd_, from, bytes) : sent;
}

bool Outlet::flush() {
  while (!empty()) {
    pollfd room{fd_, POLLOUT, 0};
    if (::poll(&room, 1, 0) <= 0) return true;
    const ssize_t written = write_some();
    if (written >= 0) {
      written_ += static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {
      return true;
    } else if (errno != EINTR) {
      return false;
    }
    if (written_ >= bytes_max / 4) kept_.erase(0, std::exchange(written_, 0));
  }
  kept_.clear();
  written_ = 0;
  return true;
}

NoPipeSignal::NoPipeSignal() : before_(::signal(SIGPIPE, SIG_IGN)) {}
NoPipeSignal::~NoPipeSignal() {
  ::signal(SIGPIPE, before_);
}

}  // namespace hocket::launch
