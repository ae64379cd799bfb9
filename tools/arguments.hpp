// What the programs' command lines have in common: how mistakes are told, and how numbers, sizes and files are checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/status.hpp"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace hocket::arguments {

// Why a program ends right after it has read its command line: it was asked for its help or version (status 0), or
// there is a mistake (status 2), which the text tells in one line that begins with the program's name.
struct Ending {
  int exit_status = 0;
  std::string text;
};

// Nothing: the program goes on. `app` has the program's name; it gets the option --version, besides -h and --help.
std::optional<Ending> parse(CLI::App& app, int argc, const char* const* argv);
// Prints the text where it belongs, and returns the exit status.
int show(const Ending& ending);

// Ends --ranks where a launcher has started this process already: each of its ranks would start that many. `program` is
// its name. Nothing: there is no such launcher.
std::optional<Ending> refuse_ranks_below_launcher(std::string_view program);

// "64K" -> 65536. K, M, G and T are powers of 1024. Code::invalid_argument names the text, which may be no size or one
// above `most`. The standard limit is far from overflow, also times the number of ranks.
Result<std::uint64_t> parse_size(std::string_view text, std::uint64_t most = std::uint64_t{1} << 50);

// For CLI::Option::transform(): such a size, for an option of an unsigned type.
CLI::Validator size(std::uint64_t most);
// For CLI::Option::check(): a finite number from `low` to `high`. CLI::Range lets nan pass.
CLI::Validator number(double low, double high);
// For CLI::Option::check(): anything but the empty text, which programs would take for an option that is not there.
CLI::Validator not_empty();

// For CLI::Option::transform(), for an option of an enum: its values' names, in their order. Takes nothing but these
// names; CLI::CheckedTransformer takes the values' numbers too.
CLI::Validator one_of(std::vector<std::string> names);

// Whether a file can be made or overwritten there. Makes nothing.
bool can_be_written(const std::string& file);
// The same for CLI::Option::check(), so that nobody works for a file that cannot be.
CLI::Validator writable_file();

}  // namespace hocket::arguments
