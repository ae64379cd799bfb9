#include <charconv>
#include <stdexcept>
#include <string_view>

#include "bench/peers/semantics.hpp"

namespace peers {
namespace {

template <class T>
T number(std::string_view flag, std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::invalid_argument(std::string(flag) + " needs a number, not '" + std::string(text) + "'.");
  }
  return value;
}

// "64K" -> 65536.
std::size_t size(std::string_view flag, std::string_view text) {
  constexpr std::string_view units = "KMG";
  const auto unit = text.empty() ? std::string_view::npos : units.find(text.back());
  if (unit == std::string_view::npos) return number<std::size_t>(flag, text);
  return number<std::size_t>(flag, text.substr(0, text.size() - 1)) << (10 * (unit + 1));
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const auto comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

void set_collective(Options& options, std::string_view name) {
  const CollectiveRow* const row = find_row(name);
  if (row == nullptr) throw std::invalid_argument("Unknown collective '" + std::string(name) + "'.");
  options.collective = row->collective;
  options.collective_name = name;
}

void set_value(Options& options, std::string_view flag, std::string_view value) {
  if (flag == "-b") {
    options.min_bytes = size(flag, value);
  } else if (flag == "-e") {
    options.max_bytes = size(flag, value);
  } else if (flag == "-f") {
    options.factor = number<std::size_t>(flag, value);
  } else if (flag == "-n") {
    options.iterations = number<std::size_t>(flag, value);
  } else if (flag == "-w") {
    options.warmup = number<std::size_t>(flag, value);
  } else if (flag == "--warmup-seconds") {
    options.warmup_seconds = number<double>(flag, value);
  } else if (flag == "--seconds") {
    options.seconds = number<double>(flag, value);
  } else if (flag == "--ranks") {
    options.ranks = number<int>(flag, value);
  } else if (flag == "--placement") {
    if (value != "in" && value != "out") throw std::invalid_argument("--placement must be in or out.");
    options.in_place = value == "in";
  } else if (flag == "--offset") {
    options.offset = number<std::size_t>(flag, value);
  } else if (flag == "--algorithm") {
    options.algorithms = split(value);
  } else if (flag == "--transport") {
    options.transport = value;
  } else if (flag == "--pacer") {
    options.pacer_file = value;
  } else if (flag == "--json") {
    options.json_file = value;
  } else {
    throw std::invalid_argument("Unknown flag " + std::string(flag) + ".");
  }
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
  if (argc < 2) throw std::invalid_argument("Say which collective to measure, for instance allreduce.");
  Options options;
  set_collective(options, argv[1]);
  for (int i = 2; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--fresh") {
      options.fresh = true;
      continue;
    }
    if (i + 1 == argc) throw std::invalid_argument(std::string(flag) + " needs a value.");
    set_value(options, flag, argv[++i]);
  }
  if (options.factor < 2) throw std::invalid_argument("The factor -f must be at least 2.");
  if (options.min_bytes == 0 || options.min_bytes > options.max_bytes) {
    throw std::invalid_argument("Sizes must satisfy 0 < -b <= -e.");
  }
  return options;
}

}  // namespace peers
