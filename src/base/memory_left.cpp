#include "src/base/memory_left.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <string_view>

#include "src/base/file_contents.hpp"
#include "src/base/words.hpp"

namespace hocket {
namespace {

// Where a version of cgroups is found, and what its files are called.
struct Hierarchy {
  std::string_view controllers;  // in /proc/self/cgroup
  std::string_view folder;
  std::string_view limit, usage;
  std::string_view of_files;  // a line of memory.stat
};
constexpr Hierarchy hierarchies[] = {
    {"", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"},
    {"memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
};

constexpr std::uint64_t no_limit = std::uint64_t{1} << 62;  // in version 1 the most that fits, less a page

// Nothing where it cannot be read.
std::string contents_of(const std::string& file) {
  return file_contents(file).value_or("");
}

// The number behind `key` in lines "key number".
std::uint64_t number_of(std::string_view key, std::string_view lines) {
  while (!lines.empty()) {
    const std::string_view line = next_line(lines);
    if (line.starts_with(key) && line.size() > key.size())
      return Words(line.substr(key.size())).number<std::uint64_t>();
  }
  return 0;
}

// Nothing where the file says "max", or is not there.
std::optional<std::uint64_t> number_in(const std::string& file) {
  const std::string contents = contents_of(file);
  Words words(contents);
  const auto number = words.number<std::uint64_t>();
  return words.ok() ? std::optional(number) : std::nullopt;
}

// This process's, from a line "number:controllers:/job/step".
std::optional<std::string> own_group(std::string_view controllers, std::string_view lines) {
  while (!lines.empty()) {
    const std::string_view line = next_line(lines);
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos || line.substr(first + 1, second - first - 1) != controllers) continue;
    const std::string_view group = line.substr(second + 1);
    return std::string(group == "/" ? "" : group);
  }
  return std::nullopt;
}

// What one cgroup leaves, if that is less than `wanted`.
std::optional<std::uint64_t> left_by(const std::string& folder, const Hierarchy& names, std::uint64_t wanted) {
  const auto most = number_in(fmt::format("{}/{}", folder, names.limit));
  if (!most || *most >= no_limit) return std::nullopt;
  const auto used = number_in(fmt::format("{}/{}", folder, names.usage));
  if (!used || (*used <= *most && *most - *used >= wanted)) return std::nullopt;
  // The kernel gives up what it keeps of files before anything else.
  const std::uint64_t of_files = number_of(names.of_files, contents_of(folder + "/memory.stat"));
  const std::uint64_t needed = *used > of_files ? *used - of_files : 0;
  return *most > needed ? *most - needed : 0;
}

}  // namespace

std::optional<MemoryShortage> memory_shortage(std::uint64_t wanted, const std::string& root) {
  const std::string host = contents_of(root + "/proc/meminfo");
  if (const std::uint64_t kilobytes = number_of("MemAvailable:", host); kilobytes != 0) {
    const std::uint64_t bytes = (kilobytes + number_of("SwapFree:", host)) << 10;
    if (bytes < wanted) return MemoryShortage{bytes, "this host"};
  }
  const std::string groups = contents_of(root + "/proc/self/cgroup");
  for (const Hierarchy& names : hierarchies) {
    auto group = own_group(names.controllers, groups);
    while (group) {
      const auto bytes = left_by(fmt::format("{}{}{}", root, names.folder, *group), names, wanted);
      if (bytes && *bytes < wanted) return MemoryShortage{*bytes, fmt::format("{} of cgroup {}/", names.limit, *group)};
      if (group->empty()) break;
      group->resize(group->rfind('/'));
    }
  }
  return std::nullopt;
}

}  // namespace hocket
