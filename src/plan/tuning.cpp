#include "src/plan/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "src/base/environment.hpp"
#include "src/base/hash.hpp"
#include "src/plan/scan.hpp"

namespace hocket {
namespace {

constexpr int tcp_streams_max = 16;
constexpr Rank any_rank = INT32_MAX;
constexpr std::string_view powers_of_two_text = "powers of two", shared_hosts_text = "shared hosts";

Status wrong_table(const std::string& what) {
  return {Code::invalid_argument, what};
}

bool parse_rank(std::string_view digits, Rank& into) {
  const auto value = environment::to_integer({"", std::string(digits)}, 1, group_ranks_max);
  if (value) into = static_cast<Rank>(*value);
  return value.ok();
}

// "any", "4", "5-7" or "9+"
bool parse_ranks(std::string_view words, TableHead& head) {
  if (words == "any") return true;
  if (words.ends_with('+')) return parse_rank(words.substr(0, words.size() - 1), head.first);
  const bool several = words.find('-') != std::string_view::npos;
  if (!parse_rank(take_until(words, '-'), head.first)) return false;
  head.last = head.first;
  return !several || (parse_rank(words, head.last) && head.last > head.first);
}

// "4 ranks" or "4 ranks on 1 host"
bool parse_group(std::string_view words, TableHead& head) {
  if (!parse_ranks(take_until(words, ' '), head) || !take_until(words, ' ').starts_with("rank")) return false;
  if (words.empty()) return true;
  if (take_until(words, ' ') != "on" || !parse_rank(take_until(words, ' '), head.hosts)) return false;
  return words.starts_with("host") && head.hosts <= head.last;
}

bool parse_condition(std::string_view words, TableHead& head) {
  if (words == powers_of_two_text) return !std::exchange(head.powers_of_two, true);
  if (words == shared_hosts_text) return !std::exchange(head.shared_hosts, true);
  const auto* const kind = std::ranges::find(all_call_kinds, words, [](CallKind one) { return name_of(one); });
  if (words.empty() || kind == std::end(all_call_kinds) || head.kind != CallKind::usual) return false;
  head.kind = *kind;
  return true;
}

// Tables are kept in the order of this: the first that holds is the narrowest.
auto order_of(const TableHead& head) {
  return std::tuple(head.kind, head.hosts == 0, !head.shared_hosts, head.last - head.first, !head.powers_of_two,
                    head.first, head.hosts);
}

}  // namespace

std::string_view name_of(CallKind kind) {
  switch (kind) {
    case CallKind::usual: return "";
    case CallKind::in_rank_order: return "in rank order";
    case CallKind::unequal_blocks: return "unequal blocks";
    case CallKind::lower_precision: return "lower precision";
    case CallKind::narrow_floats: return "narrow floats";
  }
  return "";
}

// ---- heads ----------------------------------------------------------------------------------------------------------

std::optional<TableHead> TableHead::parse(std::string_view text) {
  if (!text.starts_with('[') || !text.ends_with(']')) return std::nullopt;
  std::string_view rest = text.substr(1, text.size() - 2);
  TableHead head;
  if (!parse_group(trimmed(take_until(rest, ',')), head)) return std::nullopt;
  while (!rest.empty()) {
    if (!parse_condition(trimmed(take_until(rest, ',')), head)) return std::nullopt;
  }
  return head;
}

std::string TableHead::text() const {
  std::string text = first == last      ? fmt::format("[{}", first)
                     : last != any_rank ? fmt::format("[{}-{}", first, last)
                     : first == 1       ? "[any"
                                        : fmt::format("[{}+", first);
  text += last == 1 ? " rank" : " ranks";
  if (hosts != 0) text += fmt::format(" on {} host{}", hosts, hosts == 1 ? "" : "s");
  if (powers_of_two) text += fmt::format(", {}", powers_of_two_text);
  if (shared_hosts) text += fmt::format(", {}", shared_hosts_text);
  if (kind != CallKind::usual) text += fmt::format(", {}", name_of(kind));
  return text + "]";
}

bool TableHead::holds(Rank ranks, Rank hosts_of_ranks, CallKind kind_of_call) const {
  return kind == kind_of_call && ranks >= first && ranks <= last &&
         (!powers_of_two || std::has_single_bit(static_cast<std::uint32_t>(ranks))) &&
         (hosts == 0 || hosts == hosts_of_ranks) && (!shared_hosts || (hosts_of_ranks > 1 && hosts_of_ranks < ranks));
}

// ---- tables ---------------------------------------------------------------------------------------------------------

Result<Tuning> Tuning::parse(std::string_view text, std::string_view name) {
  Tuning made;
  std::size_t number = 0;
  for (std::string_view rest = text; !rest.empty();) {
    ++number;
    const std::string_view line = take_line(rest);
    if (line.empty()) continue;
    if (Status status = made.parse_line(line); !status.ok()) {
      return Status(status.code(), fmt::format("{}, line {}: {}", name, number, status.message()));
    }
  }
  std::ranges::sort(made.tables_, {}, [](const Table& table) { return order_of(table.head); });
  return made;
}

Status Tuning::parse_line(std::string_view line) {
  if (!line.starts_with('[')) {
    return tables_.empty() ? parse_before_tables(line) : tables_.back().choices.parse_entry(line);
  }
  const auto head = TableHead::parse(line);
  if (!head) {
    return wrong_table(
        fmt::format("\"{}\" is not the head of a table, as in [4 ranks on 1 host] or [9+ ranks, powers of two]", line));
  }
  if (std::ranges::find(tables_, *head, &Table::head) != tables_.end()) {
    return wrong_table(fmt::format("{} is given twice", line));
  }
  tables_.push_back({.head = *head, .choices = {}});
  return {};
}

Status Tuning::parse_before_tables(std::string_view line) {
  std::string_view value = line;
  if (trimmed(take_until(value, '=')) != "tcp_streams") {
    return wrong_table("a table begins with its head, as in [4 ranks on 1 host]");
  }
  const auto streams = environment::to_integer({"", std::string(trimmed(value))}, 1, tcp_streams_max);
  if (!streams) return wrong_table(fmt::format("\"{}\": tcp_streams is a number from 1 to {}", line, tcp_streams_max));
  tcp_streams_ = static_cast<int>(*streams);
  return {};
}

Tuning::Found Tuning::find(Rank ranks, Rank hosts, CallKind kind, Collective collective, std::size_t bytes) const {
  for (const Table& table : tables_) {
    if (!table.head.holds(ranks, hosts, kind)) continue;
    const Choices::Wanted wanted = table.choices.wanted(collective, bytes);
    if (wanted.algorithm != nullptr) return {wanted.algorithm, &table.head, wanted.bytes_max};
  }
  return {};
}

void Tuning::set(const TableHead& head, Choices choices) {
  const auto place =
      std::ranges::lower_bound(tables_, order_of(head), {}, [](const Table& table) { return order_of(table.head); });
  if (place != tables_.end() && place->head == head) {
    place->choices = std::move(choices);
  } else {
    tables_.insert(place, {.head = head, .choices = std::move(choices)});
  }
}

std::string Tuning::text() const {
  std::string text = tcp_streams_ == 0 ? "" : fmt::format("tcp_streams={}\n", tcp_streams_);
  for (const Table& table : tables_) text += fmt::format("{}\n{}\n", table.head.text(), table.choices.text("\n"));
  return text;
}

std::string Tuning::digest() const {
  return empty() ? std::string() : fmt::format("{:016x}", hash_of(text()));
}

}  // namespace hocket
