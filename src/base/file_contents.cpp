#include "src/base/file_contents.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "src/base/fd.hpp"

namespace hocket {

std::optional<std::string> file_contents(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string contents;
  for (char block[4096];;) {
    const ssize_t got = ::read(file.get(), block, sizeof block);
    if (got == 0) return contents;
    if (got > 0) contents.append(block, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return std::nullopt;
  }
}

}  // namespace hocket
