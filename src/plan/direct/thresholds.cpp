#include "src/plan/direct/thresholds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>

#include "src/base/environment.hpp"
#include "src/plan/scan.hpp"
#include "src/spi/rank.hpp"

namespace hocket {
namespace {

struct NamedThreshold {
  std::string_view name;
  std::size_t DirectThresholds::*into;
};
constexpr NamedThreshold named_thresholds[] = {{"alone", &DirectThresholds::alone_work_max},
                                               {"pool", &DirectThresholds::pool_input_max},
                                               {"mapped", &DirectThresholds::mapped_min}};

std::optional<std::size_t> parse_bytes(std::string_view text) {
  const auto bytes = environment::to_bytes({"", std::string(text)}, 0, std::int64_t{1} << 50);
  return bytes ? std::optional(static_cast<std::size_t>(*bytes)) : std::nullopt;
}

// "32K-16M" or "64K+"
std::optional<ByteRange> parse_range(std::string_view text) {
  const bool open = text.ends_with('+');
  if (open) text.remove_suffix(1);
  const auto from = parse_bytes(open ? text : take_until(text, '-'));
  const auto to = open ? std::optional(SIZE_MAX) : parse_bytes(text);
  if (!from || !to || *from > *to) return std::nullopt;
  return ByteRange{*from, *to};
}

std::string not_bytes(std::string_view text) {
  return fmt::format("\"{}\" is not a number of bytes, as in 64K", text);
}

// Empty, or what is wrong.
std::string parse_one_shot(std::string_view text, DirectThresholds& into) {
  into.one_shot_work_max_of = {};
  for (bool last = false; !last;) {
    std::string_view item = trimmed(take_until(text, ','));
    last = text.empty();
    std::size_t* limit = &into.one_shot_work_max;
    if (!last) {
      const std::string_view name = take_until(item, ':');
      const auto collective = find_by_name(all_collectives, std::string(name));
      if (!collective) return fmt::format("there is no collective \"{}\"", name);
      limit = &into.one_shot_work_max_of[static_cast<std::size_t>(*collective)];
    }
    const auto bytes = parse_bytes(item);
    if (!bytes || (!last && *bytes == 0)) return not_bytes(item);
    *limit = *bytes;
  }
  return "";
}

// Null: nothing is called that.
ByteRange* read_range(std::string_view name, DirectThresholds& of) {
  auto collective = find_by_name(all_collectives, name);
  if (!collective) collective = find_by_name(unequal_collectives, name);
  return collective ? &of.single_copy[static_cast<std::size_t>(*collective)] : nullptr;
}

// Empty, or what is wrong.
std::string parse_single_copy(std::string_view text, DirectThresholds& into) {
  into.single_copy = {};
  if (text == "never") return "";
  while (!text.empty()) {
    std::string_view range = trimmed(take_until(text, ','));
    const std::string_view name = take_until(range, ':');
    ByteRange* const of_that = read_range(name, into);
    const auto bytes = parse_range(range);
    if (of_that == nullptr || !bytes) return fmt::format("\"{}:{}\" is not a range, as in allgather:64K+", name, range);
    *of_that = *bytes;
  }
  return "";
}

// Empty, or what is wrong.
std::string parse_read_ratio(std::string_view text, DirectThresholds& into) {
  double ratio = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ratio);
  const bool is_number = error == std::errc() && end == text.data() + text.size() && std::isfinite(ratio);
  if (!is_number || ratio <= 0) return fmt::format("\"{}\" is not a number above 0, as in 2.5", text);
  into.read_ratio_max = ratio;
  return "";
}

// Empty, or what is wrong.
std::string parse_line(std::string_view line, DirectThresholds& into, std::string& seen) {
  std::string_view value = line;
  const std::string_view name = trimmed(take_until(value, '='));
  value = trimmed(value);
  if (seen.find(fmt::format(" {} ", name)) != std::string::npos) return fmt::format("{} is given twice", name);
  seen += fmt::format(" {} ", name);
  if (name == "one_shot") return parse_one_shot(value, into);
  if (name == "single_copy") return parse_single_copy(value, into);
  if (name == "read_ratio") return parse_read_ratio(value, into);
  for (const NamedThreshold& known : named_thresholds) {
    if (known.name != name) continue;
    const auto bytes = parse_bytes(value);
    if (!bytes) return not_bytes(value);
    into.*known.into = *bytes;
    return "";
  }
  return fmt::format("there is no threshold \"{}\"", name);
}

// Empty, or the first that is missing.
std::string_view missing_in(const std::string& seen) {
  for (const std::string_view needed : {"one_shot", "alone", "pool", "mapped", "single_copy"}) {
    if (seen.find(fmt::format(" {} ", needed)) == std::string::npos) return needed;
  }
  return "";
}

// "[3+ ranks]"
std::optional<std::size_t> parse_ranks_min(std::string_view line) {
  constexpr std::string_view end = "+ ranks]";
  if (!line.starts_with('[') || !line.ends_with(end)) return std::nullopt;
  line.remove_prefix(1);
  line.remove_suffix(end.size());
  const auto ranks = environment::to_integer({"", std::string(line)}, 1, group_ranks_max);
  return ranks ? std::optional(static_cast<std::size_t>(*ranks)) : std::nullopt;
}

// The next part begins as a copy of the one before. Empty, or what is wrong.
std::string begin_part(std::size_t ranks_min, std::vector<DirectThresholdsByRanks::Part>& parts) {
  const std::size_t before = std::max<std::size_t>(parts.back().ranks_min, 2);
  if (ranks_min <= before) return fmt::format("a part for more than {} ranks must come here", before);
  parts.push_back(parts.back());
  parts.back().ranks_min = ranks_min;
  return "";
}

}  // namespace

const DirectThresholds& DirectThresholdsByRanks::of(std::size_t ranks) const {
  const auto is_of_these = [ranks](const Part& part) { return part.ranks_min <= ranks; };
  return std::find_if(parts.rbegin(), std::prev(parts.rend()), is_of_these)->thresholds;
}

Result<DirectThresholdsByRanks> DirectThresholdsByRanks::parse(std::string_view text, std::string_view name) {
  DirectThresholdsByRanks made{.parts = {Part()}};
  std::string seen;
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    ++number;
    const std::string_view line = take_line(rest);
    std::string problem;
    if (const auto ranks_min = parse_ranks_min(line)) {
      if (made.parts.size() == 1 && !missing_in(seen).empty()) break;
      problem = begin_part(*ranks_min, made.parts);
      seen.clear();
    } else if (!line.empty()) {
      problem = parse_line(line, made.parts.back().thresholds, seen);
    }
    if (!problem.empty()) {
      return Status(Code::invalid_argument, fmt::format("{}, line {}: {}", name, number, problem));
    }
  }
  if (made.parts.size() > 1) return made;
  if (const std::string_view missing = missing_in(seen); !missing.empty()) {
    return Status(Code::invalid_argument, fmt::format("{}: {} is missing", name, missing));
  }
  return made;
}

}  // namespace hocket
