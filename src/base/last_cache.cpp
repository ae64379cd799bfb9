#include "src/base/last_cache.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <bit>
#include <charconv>
#include <optional>
#include <string_view>

#include "src/base/file_contents.hpp"

namespace hocket {
namespace {

// The number that a file begins with, as in "32768K\n".
std::optional<std::size_t> leading_number(const std::string& path) {
  const std::string text = file_contents(path).value_or("");
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

// In hexadecimal digits with commas between, as in "ff,00000003".
std::size_t cores_in(std::string_view mask) {
  std::size_t cores = 0;
  for (const char digit : mask) {
    unsigned value = 0;
    if (std::from_chars(&digit, &digit + 1, value, 16).ec == std::errc())
      cores += static_cast<std::size_t>(std::popcount(value));
  }
  return cores;
}

}  // namespace

const LastCache& LastCache::here() {
  static const LastCache found = of(fmt::format("/sys/devices/system/cpu/cpu{}/cache", std::max(::sched_getcpu(), 0)),
                                    static_cast<std::size_t>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L)));
  return found;
}

LastCache LastCache::of(const std::string& folder, std::size_t cores_of_host) {
  constexpr std::size_t kib = 1024;
  constexpr std::size_t least_level = 3;  // a machine whose last one does not tell has more than its second
  LastCache last;
  std::size_t level_of_last = least_level - 1;
  for (int index = 0;; ++index) {
    const std::string cache = fmt::format("{}/index{}/", folder, index);
    const auto level = leading_number(cache + "level"), size_in_kib = leading_number(cache + "size");
    if (!level) return last;
    const std::size_t cores = cores_in(file_contents(cache + "shared_cpu_map").value_or(""));
    if (*level <= level_of_last || size_in_kib.value_or(0) == 0 || cores == 0) continue;
    level_of_last = *level;
    last = {.bytes = *size_in_kib * kib, .on_host = std::max<std::size_t>(cores_of_host / cores, 1)};
  }
}

}  // namespace hocket
