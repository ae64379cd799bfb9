// The cores that a process may run on. Launchers bind ranks to cores of their own, so what a host's ranks share is the
// union of their sets.
#pragma once

#include <bitset>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace hocket {

class CoreSet {
 public:
  CoreSet() = default;
  // This process's; one core where the kernel does not tell.
  static CoreSet own();
  // As text() wrote it; nothing for other text.
  static std::optional<CoreSet> parse(std::string_view text);

  // Hexadecimal digits, the one of cores 0 to 3 last: "f" for these four.
  std::string text() const;
  int count() const { return static_cast<int>(cores_.count()); }
  void add(int core) { cores_.set(static_cast<std::size_t>(core)); }
  CoreSet& operator|=(const CoreSet& other) {
    cores_ |= other.cores_;
    return *this;
  }

  friend bool operator==(const CoreSet&, const CoreSet&) = default;

 private:
  static constexpr std::size_t cores_max = 4096;

  std::bitset<cores_max> cores_;
};

}  // namespace hocket
