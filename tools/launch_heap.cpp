#include "tools/launch_heap.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace hocket::launch {

Result<std::string> shared_heap_library() {
  constexpr const char* name = "libhocket_heap.so";
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto prefix = program.parent_path().parent_path();
  for (const char* const folder : {HOCKET_LIBRARY_FOLDER, "."}) {  // installed; in the folder of a build
    const auto path = (prefix / folder / name).lexically_normal();
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return Status(Code::not_found,
                fmt::format("--shared-heap: {} is neither in {} nor in {}; it is built on Linux with glibc, without "
                            "sanitizers.",
                            name, (prefix / HOCKET_LIBRARY_FOLDER).string(), prefix.string()));
}

}  // namespace hocket::launch
