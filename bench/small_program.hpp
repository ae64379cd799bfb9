// What the small programs of the bench share.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string_view>

namespace hocket::bench {

// The program's only argument: a number from 1 to `largest` of what the program counts; `otherwise` where there is
// none. Nothing, after a message, where it is something else.
inline std::optional<std::size_t> only_number(std::string_view program, std::string_view what, std::size_t otherwise,
                                              std::size_t largest, int argc, char** argv) {
  if (argc < 2) return otherwise;
  const std::string_view given = argv[1];
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(given.begin(), given.end(), number);
  const bool is_number = problem == std::errc() && end == given.end();
  if (argc == 2 && is_number && number >= 1 && number <= largest) return number;
  fmt::print(stderr, "{}: give one number of {} from 1 to {}, not '{}', or nothing for {}.\n", program, what, largest,
             fmt::join(argv + 1, argv + argc, " "), otherwise);
  return std::nullopt;
}

}  // namespace hocket::bench
