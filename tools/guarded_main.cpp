#include "tools/guarded_main.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace hocket {
namespace {

constexpr int exit_output = 2;

// A pipe or socket whose other end is closed.
bool nobody_reads(int fd) {
  pollfd entry{fd, POLLOUT, 0};
  return ::poll(&entry, 1, 0) == 1 && (entry.revents & POLLERR) != 0;
}

int output_failed(const char* program, int error) {
  if (nobody_reads(STDOUT_FILENO)) return 128 + SIGPIPE;
  std::fprintf(stderr, "%s: Cannot write to standard output: %s.\n", program, std::strerror(error));
  return exit_output;
}

}  // namespace

int guarded_main(const char* program, int argc, char** argv, int (*body)(int, char**)) {
  try {
    const int status = body(argc, argv);
    if (std::fflush(stdout) != 0) return output_failed(program, errno);
    if (std::ferror(stdout) == 0) return status;
    // An earlier failure left no reason behind, but the next attempt fails likewise.
    return output_failed(program, ::write(STDOUT_FILENO, "\n", 1) < 0 ? errno : EIO);
  } catch (const std::system_error& failure) {  // fmt::print throws it, and so do threads
    if (std::ferror(stdout) != 0) return output_failed(program, failure.code().value());
    if (!nobody_reads(STDERR_FILENO)) std::fprintf(stderr, "%s: %s\n", program, failure.what());
    return exit_output;
  }
}

}  // namespace hocket
