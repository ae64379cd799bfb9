// How a launcher writes what its ranks say.
#pragma once

#include <signal.h>

#include <string_view>

namespace hocket::launch {

// While this lives, a closed output shows as EPIPE.
class NoPipeSignal {
 public:
  NoPipeSignal() = default;
  ~NoPipeSignal() { signal(SIGPIPE, before_); }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sighandler_t before_ = signal(SIGPIPE, SIG_IGN);
};

// False, with the reason in errno, when nothing can be written there any more. Waits where there is no room.
bool write_all(int fd, std::string_view bytes);

}  // namespace hocket::launch
