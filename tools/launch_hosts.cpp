#include "tools/launch_hosts.hpp"

#include <fmt/format.h>
#include <wordexp.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>

namespace hocket::launch {
namespace {

constexpr std::string_view blanks = " \t\r";

Status wrong(std::string sentence) {
  return {Code::invalid_argument, std::move(sentence)};
}

Result<int> parse_slots(std::string_view text, std::string_view of) {
  int slots = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slots);
  if (error == std::errc() && end == text.data() + text.size() && slots >= 1 && slots <= group_ranks_max) return slots;
  return wrong(fmt::format("'{}' has no number of ranks from 1 to {} behind the host", of, group_ranks_max));
}

// Where the name ends and ":4" may begin. Addresses of IPv6 stand in brackets, or have no number of ranks.
std::size_t name_end(std::string_view text) {
  const std::size_t bracket = text.find(']');
  if (bracket != std::string_view::npos) return bracket + 1;
  const std::size_t colon = text.find(':');
  return colon == std::string_view::npos || colon != text.rfind(':') ? text.size() : colon;
}

Result<Host> parse_host(std::string_view text) {
  const std::size_t end = name_end(text);
  Host host{.name = std::string(text.substr(0, end))};
  std::erase_if(host.name, [](char c) { return c == '[' || c == ']'; });
  const auto strange = [](char c) { return static_cast<unsigned char>(c) <= ' ' || std::strchr("'\"\\$`;&|<>()", c); };
  if (host.name.empty()) return wrong(fmt::format("'{}' names no host", text));
  if (host.name.front() == '-' || std::ranges::any_of(host.name, strange)) {
    return wrong(fmt::format("'{}' is not the name of a host", host.name));
  }
  const std::string_view rest = text.substr(end);
  if (rest.empty()) return host;
  if (rest.front() != ':') return wrong(fmt::format("'{}' is not a host, nor host:ranks", text));
  const auto slots = parse_slots(rest.substr(1), text);
  if (!slots) return slots.status();
  host.slots = *slots;
  return host;
}

Status add(std::vector<Host>& hosts, Host host) {
  if (std::ranges::find(hosts, host.name, &Host::name) != hosts.end()) {
    return wrong(fmt::format("the host '{0}' is there twice; write it once, as in {0}:2", host.name));
  }
  hosts.push_back(std::move(host));
  return {};
}

// The next word of a line, which it loses; empty at its end.
std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(blanks));
  line.remove_prefix(word.size());
  return word;
}

// Nothing: the line is empty, or a comment.
Result<std::optional<Host>> parse_line(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const std::string_view name = take_word(line);
  if (name.empty()) return std::optional<Host>();
  auto host = parse_host(name);
  if (!host) return host.status();
  constexpr std::string_view key = "slots=";
  for (std::string_view word; !(word = take_word(line)).empty();) {
    if (!word.starts_with(key)) return wrong(fmt::format("'{}' is not slots=N", word));
    if (host->slots != 0) return wrong("the number of ranks is there twice");
    const auto slots = parse_slots(word.substr(key.size()), word);
    if (!slots) return slots.status();
    host->slots = *slots;
  }
  return std::optional<Host>(*host);
}

}  // namespace

Result<std::vector<Host>> parse_hosts(std::string_view list) {
  std::vector<Host> hosts;
  for (bool more = true; more;) {
    const std::size_t comma = list.find(',');
    more = comma != std::string_view::npos;
    auto host = parse_host(list.substr(0, comma));
    if (!host) return wrong(fmt::format("--hosts: {}.", host.status().message()));
    if (const Status added = add(hosts, std::move(*host)); !added) {
      return wrong(fmt::format("--hosts: {}.", added.message()));
    }
    if (more) list.remove_prefix(comma + 1);
  }
  return hosts;
}

Result<std::vector<Host>> read_hosts(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) {
    return Status(Code::not_found, fmt::format("--hosts-file: cannot read '{}': {}.", file, std::strerror(errno)));
  }
  std::vector<Host> hosts;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    auto host = parse_line(line);
    Status status = host.status();
    if (host && *host) status = add(hosts, std::move(**host));
    if (!status) return wrong(fmt::format("--hosts-file: {}, line {}: {}.", file, number, status.message()));
  }
  if (stream.bad()) return wrong(fmt::format("--hosts-file: cannot read '{}' to its end.", file));
  if (hosts.empty()) return wrong(fmt::format("--hosts-file: there is no host in '{}'.", file));
  return hosts;
}

Result<std::vector<Share>> share_out(const std::vector<Host>& hosts, int ranks) {
  const auto open = static_cast<int>(std::ranges::count(hosts, 0, &Host::slots));
  const auto add_slots = [](std::int64_t sum, const Host& host) { return sum + host.slots; };
  const std::int64_t slots = std::accumulate(hosts.begin(), hosts.end(), std::int64_t{0}, add_slots);
  if (ranks == 0 && open > 0) return wrong("--ranks is required where a host has no number, as in a:4.");
  if (ranks == 0 && slots > group_ranks_max) return wrong(fmt::format("The hosts are for {} ranks: too many.", slots));
  if (ranks == 0) ranks = static_cast<int>(slots);
  if (open == 0 && ranks > slots) {
    return wrong(fmt::format("{} ranks do not fit: the hosts are for {}. Start fewer, or name more.", ranks, slots));
  }
  const int shared = static_cast<int>(std::max<std::int64_t>(ranks - slots, 0));
  std::vector<Share> shares;
  int first = 0, number = 0;
  for (const Host& host : hosts) {
    int count = host.slots;
    if (host.slots == 0) {
      count = shared / open + (number < shared % open ? 1 : 0);
      ++number;
    }
    count = std::min(count, ranks - first);
    if (count > 0) shares.push_back({.name = host.name, .first = first, .count = count});
    first += count;
  }
  return shares;
}

Result<std::vector<std::string>> split_command(const std::string& text) {
  wordexp_t words{};
  const int failed = ::wordexp(text.c_str(), &words, WRDE_NOCMD | WRDE_UNDEF);
  std::vector<std::string> command;
  if (failed == 0) command.assign(words.we_wordv, words.we_wordv + words.we_wordc);
  if (failed == 0 || failed == WRDE_NOSPACE) ::wordfree(&words);
  if (command.empty()) return wrong(fmt::format("--ssh: '{}' is not a command with options.", text));
  return command;
}

}  // namespace hocket::launch
