#include "src/store/status_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "src/base/markup.hpp"

namespace hocket::store {
namespace {

constexpr std::size_t rows_max = 4096;
constexpr std::size_t listed_max = 16;  // ranks in a sentence
constexpr double silent_seconds = 5;

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="2">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>hocket-store</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em; color: #1c1c1c; background: #fff }
h1 { font-size: 1.3em } h2 { font-size: 1.1em; margin: 1.6em 0 .2em }
p { margin: .2em 0 .6em } .faint { color: #666 }
table { border-collapse: collapse } th, td { padding: .25em .9em .25em 0; text-align: left; vertical-align: top }
th { border-bottom: 1px solid #999; font-weight: 600 } td { border-bottom: 1px solid #ddd }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
.behind { background: #ffe3b3 } .broken { background: #ffd0d0 } .silent { background: #e6e6e6 }
</style>
</head>
<body>
<h1>hocket-store</h1>
)";

std::string bytes_of(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < std::size(units); ++unit) amount /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", amount, units[unit]);
}

std::string ranks_of(std::span<const Rank> ranks) {
  const auto shown = ranks.first(std::min(ranks.size(), listed_max));
  const std::string more = ranks.size() > listed_max ? fmt::format(" and {} more", ranks.size() - listed_max) : "";
  return fmt::format("{} {}{}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(shown, ", "), more);
}

// What a rank does, and the class of its row.
struct State {
  std::string text;
  std::string_view kind = "";
};

State state_of(const ReportedGroup& group, const RankReport& report, std::int64_t date_ns) {
  const double age = (static_cast<double>(date_ns) - static_cast<double>(report.date_ns)) / 1e9;
  if (age > silent_seconds) return {fmt::format("has said nothing for {:.0f} s", age), "silent"};
  if (!report.broken.empty()) return {fmt::format("broken: {}", report.broken), "broken"};
  if (!report.waits_in.empty()) {
    const std::string whom = report.awaited.empty() ? "" : fmt::format(" for {}", ranks_of(report.awaited));
    return {fmt::format("waits{} for {:.1f} s in {}", whom, report.waited_seconds, report.waits_in)};
  }
  const auto waiters = group.who_waits_for(report.rank);
  if (!waiters.empty())
    return {fmt::format("behind: {} wait{} for it", ranks_of(waiters), waiters.size() == 1 ? "s" : ""), "behind"};
  return {report.latest.empty() || report.latest_ended ? "is not in a call" : "works"};
}

std::string latest_of(const RankReport& report) {
  if (report.latest.empty()) return "none yet";
  const std::string_view since = !report.latest_ended ? "begun" : report.latest_exact ? "ended" : "ended at most";
  return fmt::format("{}, {} {:.1f} s ago", report.latest, since, report.latest_seconds);
}

std::string row_of(const ReportedGroup& group, const RankReport& report, std::int64_t date_ns) {
  const State state = state_of(group, report, date_ns);
  return fmt::format(
      "<tr class=\"{}\"><td class=\"number\">{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td>"
      "<td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"faint\">{}</td></tr>\n",
      state.kind, report.rank, escaped(state.text), escaped(latest_of(report)), report.operations,
      bytes_of(report.bytes_sent), bytes_of(report.bytes_received), escaped(report.process));
}

std::string sentence_of(const ReportedGroup& group) {
  const auto behind = group.behind();
  std::string text = behind.empty() ? "Nobody is behind." : fmt::format("Behind: {}.", ranks_of(behind));
  std::vector<Rank> missing;
  for (Rank rank = 0; rank < group.any().size && missing.size() <= listed_max; ++rank) {
    if (!group.ranks().contains(rank)) missing.push_back(rank);
  }
  if (missing.size() > listed_max) return text + " Many ranks do not report.";
  if (!missing.empty()) text += fmt::format(" No report of {}: not come yet, dead, or told not to.", ranks_of(missing));
  return text;
}

std::string section_of(const ReportedGroup& group, std::int64_t date_ns, std::size_t& rows) {
  const RankReport& any = group.any();
  std::string text = fmt::format(
      "<h2>{}</h2>\n<p class=\"faint\">job {}, group {}, {} of {} ranks report</p>\n<p class=\"who\">{}</p>\n"
      "<table>\n<tr><th>rank</th><th>now</th><th>latest call</th><th>calls ended</th><th>sent</th><th>received</th>"
      "<th>process</th></tr>\n",
      escaped(any.name), escaped(any.job), escaped(any.group), group.ranks().size(), any.size,
      escaped(sentence_of(group)));
  for (const auto& [rank, report] : group.ranks()) {
    if (rows++ < rows_max) text += row_of(group, report, date_ns);
  }
  return text + "</table>\n";
}

}  // namespace

std::string status_page(const Metrics& metrics, std::int64_t date_ns) {
  const auto groups = group_reports(metrics.ranks);
  std::string page(head);
  page += fmt::format("<p class=\"faint\">{} clients, {} keys, {}, {} requests since the start</p>\n", metrics.clients,
                      metrics.keys, bytes_of(metrics.bytes), metrics.requests);
  if (groups.empty()) page += "<p>No rank reports. Ranks do where HOCKET_REPORT=on.</p>\n";
  std::size_t rows = 0;
  for (const ReportedGroup& group : groups) page += section_of(group, date_ns, rows);
  if (rows > rows_max) page += fmt::format("<p>{} more ranks are not shown.</p>\n", rows - rows_max);
  return page + "</body>\n</html>\n";
}

}  // namespace hocket::store
