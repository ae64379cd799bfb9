#include "src/base/core_set.hpp"

#include <sched.h>

#include <algorithm>
#include <memory>

namespace hocket {
namespace {

constexpr std::string_view digits = "0123456789abcdef";
constexpr std::size_t bits_per_digit = 4;

}  // namespace

CoreSet CoreSet::own() {
  const auto release = [](cpu_set_t* set) { CPU_FREE(set); };
  const std::unique_ptr<cpu_set_t, decltype(release)> set(CPU_ALLOC(cores_max), release);
  const std::size_t bytes = CPU_ALLOC_SIZE(cores_max);
  CoreSet found;
  if (set && ::sched_getaffinity(0, bytes, set.get()) == 0) {
    for (std::size_t core = 0; core < cores_max; ++core) {
      if (CPU_ISSET_S(core, bytes, set.get())) found.cores_.set(core);
    }
  }
  if (found.cores_.none()) found.cores_.set(0);
  return found;
}

std::optional<CoreSet> CoreSet::parse(std::string_view text) {
  if (text.size() > cores_max / bits_per_digit) return std::nullopt;
  CoreSet found;
  for (const char digit : text) {
    const std::size_t value = digits.find(digit);
    if (value == std::string_view::npos) return std::nullopt;
    found.cores_ <<= bits_per_digit;
    found.cores_ |= std::bitset<cores_max>(value);
  }
  return found;
}

std::string CoreSet::text() const {
  std::string text;
  for (std::size_t first = 0; first < cores_max; first += bits_per_digit) {
    std::size_t value = 0;
    for (std::size_t bit = bits_per_digit; bit-- > 0;) value = 2 * value + (cores_.test(first + bit) ? 1 : 0);
    text.push_back(digits[value]);
  }
  text.erase(text.find_last_not_of('0') + 1);
  std::ranges::reverse(text);
  return text;
}

}  // namespace hocket
