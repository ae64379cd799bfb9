#include "src/plan/choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/base/environment.hpp"
#include "src/base/hash.hpp"
#include "src/plan/scan.hpp"
#include "src/plan/text.hpp"

namespace hocket {
namespace {

Status wrong_choice(const std::string& what) {
  return {Code::invalid_argument, what};
}

std::string collective_names() {
  std::string names;
  for (const Collective collective : all_collectives) names += fmt::format(", {}", name_of(collective));
  return names.substr(2);
}

std::string algorithm_names(Collective collective) {
  std::string names(automatic_algorithm);
  for (const Algorithm& algorithm : catalog()) {
    if (algorithm.collective == collective) names += fmt::format(", {}", algorithm.name);
  }
  return names;
}

}  // namespace

bool known_algorithm(std::string_view name) {
  return name == automatic_algorithm || std::ranges::find(catalog(), name, &Algorithm::name) != catalog().end();
}

std::optional<Collective> out_of_rank_order(std::string_view name) {
  const auto found = std::ranges::find_if(catalog(), [&](const Algorithm& algorithm) {
    return algorithm.name == name && algorithm.collective->reduces() && !algorithm.in_rank_order;
  });
  return found == catalog().end() ? std::nullopt : std::optional(found->collective);
}

Choices::Entry* Choices::find(Collective collective) {
  const auto found = std::ranges::find(entries_, collective, &Entry::collective);
  return found == entries_.end() ? nullptr : &*found;
}

void Choices::add(Collective collective, std::size_t bytes_max, const Algorithm* algorithm) {
  Entry* entry = find(collective);
  if (entry == nullptr) {
    const auto place = std::ranges::upper_bound(entries_, collective, {}, &Entry::collective);
    entry = &*entries_.insert(place, {.collective = collective, .ranges = {}});
  }
  if (!entry->ranges.empty() && entry->ranges.back().algorithm == algorithm) entry->ranges.pop_back();
  entry->ranges.push_back({.algorithm = algorithm, .bytes_max = bytes_max});
}

Status Choices::parse_ranges(Collective collective, std::string_view text) {
  std::optional<std::size_t> last;
  for (bool more = true; more;) {
    more = text.find(',') != std::string_view::npos;
    const std::string_view range = trimmed(take_until(text, ','));
    std::string_view limit = range;
    const std::string_view name = take_until(limit, ':');
    const Algorithm* algorithm = find_algorithm(collective, name);
    if (name != automatic_algorithm && algorithm == nullptr) {
      return {Code::not_found, fmt::format("\"{}\": {} has no algorithm \"{}\"; it has {}", range, name_of(collective),
                                           name, algorithm_names(collective))};
    }
    if (name.size() == range.size()) {
      if (!more) {
        add(collective, any_bytes, algorithm);
        return {};
      }
      return wrong_choice(
          fmt::format("\"{}\" applies to all sizes, so \"{}\" after it would never apply; give it a size, as in {}:64K",
                      range, text, name));
    }
    const auto bytes = environment::to_bytes({"", std::string(limit)}, 0, std::int64_t{1} << 50);
    if (!bytes) {
      return wrong_choice(
          fmt::format("\"{}\": \"{}\" is not a number of bytes, as in 65536, 64K, 4M or 1G", range, limit));
    }
    const auto bytes_max = static_cast<std::size_t>(*bytes);
    if (last && bytes_max <= *last) {
      return wrong_choice(
          fmt::format("\"{}\": sizes must rise, but {} comes after {}", range, limit, text_of_size(*last)));
    }
    add(collective, bytes_max, algorithm);
    last = bytes_max;
  }
  return {};
}

Status Choices::parse_entry(std::string_view text) {
  std::string_view ranges = text;
  const std::string_view name = trimmed(take_until(ranges, '='));
  if (name.size() == text.size()) {
    if (!known_algorithm(text)) {
      const bool ranged = text.find_first_of(",:") != std::string_view::npos;
      return {ranged ? Code::invalid_argument : Code::not_found,
              ranged ? fmt::format("\"{}\" names no collective: write it as in allreduce=linear:4K,ring", text)
                     : fmt::format("there is no algorithm \"{}\"; `hocket-plan list` shows all", text)};
    }
    const auto* const known = std::ranges::find(catalog(), text, &Algorithm::name).base();
    everywhere_ = text == automatic_algorithm ? automatic_algorithm : known->name;
    return {};
  }
  const auto collective = find_by_name(all_collectives, std::string(name));
  if (!collective) {
    return {Code::not_found,
            fmt::format("\"{}\": there is no collective \"{}\", only {}", text, name, collective_names())};
  }
  if (find(*collective) != nullptr) return wrong_choice(fmt::format("\"{}\": {} is given twice", text, name));
  return parse_ranges(*collective, ranges);
}

Result<Choices> Choices::parse(std::string_view text) {
  Choices made;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view entry = trimmed(take_until(rest, ';'));
    if (entry.empty()) continue;
    if (Status status = made.parse_entry(entry); !status.ok()) return status;
  }
  return made;
}

Choices::Wanted Choices::wanted(Collective collective, std::size_t bytes) const {
  for (const Entry& entry : entries_) {
    if (entry.collective != collective) continue;
    const auto range = std::ranges::find_if(entry.ranges, [&](const Wanted& one) { return bytes <= one.bytes_max; });
    return range == entry.ranges.end() ? Wanted() : *range;
  }
  return everywhere_ == automatic_algorithm ? Wanted() : Wanted{.algorithm = find_algorithm(collective, everywhere_)};
}

std::optional<std::pair<Collective, std::string_view>> Choices::out_of_rank_order() const {
  if (const auto collective = hocket::out_of_rank_order(everywhere_)) return std::pair(*collective, everywhere_);
  for (const Entry& entry : entries_) {
    for (const Wanted& range : entry.ranges) {
      if (range.algorithm == nullptr || !info_of(entry.collective).reduces() || range.algorithm->in_rank_order)
        continue;
      return std::pair(entry.collective, range.algorithm->name);
    }
  }
  return std::nullopt;
}

std::string Choices::text(std::string_view separator) const {
  std::string text;
  const auto next = [&] { text += text.empty() ? "" : separator; };
  if (everywhere_ != automatic_algorithm) text = everywhere_;
  for (const Entry& entry : entries_) {
    next();
    text += fmt::format("{}=", name_of(entry.collective));
    for (const Wanted& range : entry.ranges) {
      text += fmt::format("{}{}{}", text.ends_with('=') ? "" : ",",
                          range.algorithm == nullptr ? automatic_algorithm : range.algorithm->name,
                          range.bytes_max == any_bytes ? "" : ":" + text_of_size(range.bytes_max));
    }
  }
  return text.empty() ? std::string(automatic_algorithm) : text;
}

std::string Choices::summary() const {
  constexpr std::size_t longest = 100, beginning = 70;
  const std::string all = text();
  return all.size() <= longest ? all : fmt::format("{}... (digest {:016x})", all.substr(0, beginning), hash_of(all));
}

}  // namespace hocket
