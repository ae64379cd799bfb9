#include "tools/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace hocket {

Progress::Progress()
    : terminal_(isatty(STDERR_FILENO) != 0),
      pause_(terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(10'000)),
      next_(Clock::now() + pause_) {}

void Progress::show(const char* phase, std::size_t done, std::size_t total) {
  const auto now = Clock::now();
  if (now < next_) return;
  next_ = now + pause_;
  const std::string share = total > 0 ? fmt::format(" {} of {}", done, total) : "";
  const std::string text = fmt::format("{}: {}{}", subject_, phase, share);
  fmt::print(stderr, "{}{}{}", terminal_ ? "\r\033[K" : "# ", text, terminal_ ? "" : "\n");
  std::fflush(stderr);
  shown_ = terminal_;
}

void Progress::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace hocket
