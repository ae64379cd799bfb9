#include "src/plan/choices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/base/environment.hpp"
#include "src/plan/text.hpp"

namespace hocket {
namespace {

constexpr int tcp_streams_max = 16;

Status wrong(const std::string& what) {
  return {Code::invalid_argument, what};
}

// What stands before the first `separator`, which is taken off `rest` together with it.
std::string_view take(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return taken;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t first = std::min(text.find_first_not_of(blank), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(blank) + 1);
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

// FNV-1a (Fowler, Noll, Vo), 64 bits.
std::uint64_t digest_of(std::string_view text) {
  std::uint64_t digest = 0xcbf29ce484222325;
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return digest;
}

// "[4 ranks on 1 host]"
bool parse_shape(std::string_view text, Rank& ranks, Rank& hosts) {
  if (!text.starts_with('[') || !text.ends_with(']')) return false;
  std::string_view words = text.substr(1, text.size() - 2);
  const auto number = [&](Rank& into) {
    const auto value = environment::to_integer({"", std::string(take(words, ' '))}, 1, 1 << 20);
    if (value) into = static_cast<Rank>(*value);
    return value.ok();
  };
  if (!number(ranks) || !take(words, ' ').starts_with("rank") || take(words, ' ') != "on") return false;
  return number(hosts) && words.starts_with("host") && hosts <= ranks;
}

}  // namespace

// ---- choices --------------------------------------------------------------------------------------------------------

Choices::Entry* Choices::find(Collective collective) {
  const auto found = std::ranges::find(entries_, collective, &Entry::collective);
  return found == entries_.end() ? nullptr : &*found;
}

void Choices::add(Collective collective, std::size_t bytes_max, std::string_view algorithm) {
  Entry* entry = find(collective);
  if (entry == nullptr) {
    const auto place = std::ranges::upper_bound(entries_, collective, {}, &Entry::collective);
    entry = &*entries_.insert(place, {.collective = collective, .ranges = {}});
  }
  const Algorithm* known = find_algorithm(collective, algorithm);
  const std::string_view name = known == nullptr ? automatic_algorithm : known->name;
  if (!entry->ranges.empty() && entry->ranges.back().algorithm == name) entry->ranges.pop_back();
  entry->ranges.push_back({.bytes_max = bytes_max, .algorithm = name});
}

Status Choices::parse_ranges(Collective collective, std::string_view text) {
  std::optional<std::size_t> last;
  for (bool more = true; more;) {
    more = text.find(',') != std::string_view::npos;
    const std::string_view range = trimmed(take(text, ','));
    std::string_view limit = range;
    const std::string_view name = take(limit, ':');
    if (name != automatic_algorithm && find_algorithm(collective, name) == nullptr) {
      return {Code::not_found, fmt::format("\"{}\": {} has no algorithm \"{}\"; it has {}", range, name_of(collective),
                                           name, algorithm_names(collective))};
    }
    if (name.size() == range.size()) {
      if (!more) {
        add(collective, any_bytes, name);
        return {};
      }
      return wrong(
          fmt::format("\"{}\" holds for all sizes, so \"{}\" after it never would; give it a size, as in {}:64K", range,
                      text, name));
    }
    const auto bytes = environment::to_bytes({"", std::string(limit)}, 0, std::int64_t{1} << 50);
    if (!bytes) {
      return wrong(fmt::format("\"{}\": \"{}\" is no number of bytes, as in 65536, 64K, 4M or 1G", range, limit));
    }
    const auto bytes_max = static_cast<std::size_t>(*bytes);
    if (last && bytes_max <= *last) {
      return wrong(fmt::format("\"{}\": sizes must rise, but {} comes after {}", range, limit, text_of_size(*last)));
    }
    add(collective, bytes_max, name);
    last = bytes_max;
  }
  return {};
}

Status Choices::parse_entry(std::string_view text) {
  std::string_view ranges = text;
  const std::string_view name = trimmed(take(ranges, '='));
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
  if (find(*collective) != nullptr) return wrong(fmt::format("\"{}\": {} is there already", text, name));
  return parse_ranges(*collective, ranges);
}

Result<Choices> Choices::parse(std::string_view text) {
  Choices made;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view entry = trimmed(take(rest, ';'));
    if (entry.empty()) continue;
    if (Status status = made.parse_entry(entry); !status.ok()) return status;
  }
  return made;
}

std::string_view Choices::wanted_among_entries(Collective collective, std::size_t bytes) const {
  for (const Entry& entry : entries_) {
    if (entry.collective != collective) continue;
    for (const Range& range : entry.ranges) {
      if (bytes <= range.bytes_max) return range.algorithm;
    }
    return automatic_algorithm;
  }
  return everywhere_;
}

std::optional<std::pair<Collective, std::string_view>> Choices::out_of_rank_order() const {
  if (const auto collective = hocket::out_of_rank_order(everywhere_)) return std::pair(*collective, everywhere_);
  for (const Entry& entry : entries_) {
    for (const Range& range : entry.ranges) {
      const Algorithm* algorithm = find_algorithm(entry.collective, range.algorithm);
      if (algorithm == nullptr || !reduces(entry.collective) || algorithm->in_rank_order) continue;
      return std::pair(entry.collective, range.algorithm);
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
    for (const Range& range : entry.ranges) {
      text += fmt::format("{}{}{}", text.ends_with('=') ? "" : ",", range.algorithm,
                          range.bytes_max == any_bytes ? "" : ":" + text_of_size(range.bytes_max));
    }
  }
  return text.empty() ? std::string(automatic_algorithm) : text;
}

std::string Choices::summary() const {
  constexpr std::size_t longest = 100, beginning = 70;
  const std::string all = text();
  return all.size() <= longest ? all : fmt::format("{}... (digest {:016x})", all.substr(0, beginning), digest_of(all));
}

// ---- tables ---------------------------------------------------------------------------------------------------------

Result<Tuning> Tuning::parse(std::string_view text, std::string_view name) {
  Tuning made;
  std::vector<std::string> entries;  // of the last table
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    ++number;
    std::string_view line = take(rest, '\n');
    line = trimmed(take(line, '#'));
    if (line.empty()) continue;
    const auto complain = [&](Code code, std::string_view what) {
      return Status(code, fmt::format("{}, line {}: {}", name, number, what));
    };
    if (line.starts_with('[')) {
      Table table;
      if (!parse_shape(line, table.ranks, table.hosts)) {
        return complain(Code::invalid_argument,
                        fmt::format("\"{}\" is no head of a table, as in [4 ranks on 1 host]", line));
      }
      if (std::ranges::any_of(made.tables_, [&](const Table& other) {
            return other.ranks == table.ranks && other.hosts == table.hosts;
          })) {
        return complain(Code::invalid_argument, fmt::format("{} is there already", line));
      }
      made.tables_.push_back(std::move(table));
      entries.clear();
      continue;
    }
    if (made.tables_.empty()) {
      if (Status status = made.parse_before_tables(line); !status.ok())
        return complain(status.code(), status.message());
      continue;
    }
    entries.emplace_back(line);
    auto choices = Choices::parse(fmt::format("{}", fmt::join(entries, ";")));
    if (!choices) return complain(choices.status().code(), choices.status().message());
    made.tables_.back().choices = std::move(*choices);
  }
  std::ranges::sort(made.tables_, {}, [](const Table& table) { return std::pair(table.ranks, table.hosts); });
  return made;
}

Status Tuning::parse_before_tables(std::string_view line) {
  std::string_view value = line;
  if (trimmed(take(value, '=')) != "tcp_streams") {
    return wrong("a table begins with its head, as in [4 ranks on 1 host]");
  }
  const auto streams = environment::to_integer({"", std::string(trimmed(value))}, 1, tcp_streams_max);
  if (!streams) return wrong(fmt::format("\"{}\": tcp_streams is a number from 1 to {}", line, tcp_streams_max));
  tcp_streams_ = static_cast<int>(*streams);
  return {};
}

const Choices& Tuning::find(Rank ranks, Rank hosts) const {
  static const Choices none;
  for (const Table& table : tables_) {
    if (table.ranks == ranks && table.hosts == hosts) return table.choices;
  }
  return none;
}

void Tuning::set(Rank ranks, Rank hosts, Choices choices) {
  const auto shape = [](const Table& table) { return std::pair(table.ranks, table.hosts); };
  const auto place = std::ranges::lower_bound(tables_, std::pair(ranks, hosts), {}, shape);
  if (place != tables_.end() && shape(*place) == std::pair(ranks, hosts)) {
    place->choices = std::move(choices);
  } else {
    tables_.insert(place, {.ranks = ranks, .hosts = hosts, .choices = std::move(choices)});
  }
}

std::string Tuning::text() const {
  std::string text = tcp_streams_ == 0 ? "" : fmt::format("tcp_streams={}\n", tcp_streams_);
  for (const Table& table : tables_) {
    text += fmt::format("[{} rank{} on {} host{}]\n{}\n", table.ranks, table.ranks == 1 ? "" : "s", table.hosts,
                        table.hosts == 1 ? "" : "s", table.choices.text("\n"));
  }
  return text;
}

std::string Tuning::digest() const {
  return empty() ? std::string() : fmt::format("{:016x}", digest_of(text()));
}

}  // namespace hocket
