#include "src/store/rank_reports.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "src/base/printable.hpp"
#include "src/store/dictionary.hpp"
#include "src/store/reports.hpp"

namespace hocket::store {
namespace {

using Json = nlohmann::json;

constexpr int format_version = 1;
constexpr std::size_t awaited_max = 64;  // of one rank; ranks tell fewer

std::string text_in(const Json& json) {
  return printable(json.get<std::string>());
}

// Others cannot be turned into a number of that type without surprises.
template <class T>
T whole(const Json& json) {
  if (!json.is_number_integer()) throw std::invalid_argument("not a whole number");
  return json.get<T>();
}

double seconds_of(const Json& json) {
  constexpr double seconds_max = 1e9;
  return std::clamp(json.get<double>(), 0.0, seconds_max);
}

// In their order; of what may be no list, and no ranks.
std::vector<Rank> ranks_in(const Json& json, Rank size) {
  std::vector<Rank> ranks;
  for (const Json& rank : json) {
    const Rank number = whole<Rank>(rank);
    if (number < 0 || number >= size || ranks.size() == awaited_max) throw std::invalid_argument("not such ranks");
    if (std::ranges::find(ranks, number) == ranks.end()) ranks.push_back(number);
  }
  return ranks;
}

RankReport read(const Json& json) {
  RankReport report{.job = text_in(json.at("job")),
                    .name = text_in(json.at("name")),
                    .group = text_in(json.at("group")),
                    .process = text_in(json.at("process")),
                    .rank = whole<Rank>(json.at("rank")),
                    .size = whole<Rank>(json.at("size")),
                    .date_ns = whole<std::int64_t>(json.at("date_ns")),
                    .calls = whole<std::uint64_t>(json.at("calls")),
                    .operations = whole<std::uint64_t>(json.at("operations")),
                    .bytes_sent = whole<std::uint64_t>(json.at("bytes_sent")),
                    .bytes_received = whole<std::uint64_t>(json.at("bytes_received"))};
  if (const Json& broken = json.at("broken"); !broken.is_null()) report.broken = text_in(broken);
  if (const Json& latest = json.at("latest"); !latest.is_null()) {
    report.latest = text_in(latest.at("call"));
    report.latest_ended = latest.at("ended");
    report.latest_exact = latest.value("exact", true);
    report.latest_seconds = seconds_of(latest.at("seconds"));
  }
  if (const Json& waits = json.at("waits"); !waits.is_null()) {
    report.waits_in = text_in(waits.at("call"));
    report.waited_seconds = seconds_of(waits.at("seconds"));
    report.awaited = ranks_in(waits.at("awaited"), report.size);
  }
  return report;
}

}  // namespace

std::optional<RankReport> parse_report(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (!json.is_object() || json.at("hocket_report") != format_version) return std::nullopt;
    RankReport report = read(json);
    if (report.size < 1 || report.size > group_ranks_max || report.rank < 0 || report.rank >= report.size)
      return std::nullopt;
    return report;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::vector<RankReport> reports_in(const Dictionary& dictionary) {
  std::vector<RankReport> reports;
  const auto keys = dictionary.list(report_prefix);
  if (!keys.ok()) return reports;
  for (const std::string& key : keys->keys) {
    const auto text = dictionary.find(key);
    if (!text.ok() || !*text) continue;
    if (auto report = parse_report(**text)) reports.push_back(std::move(*report));
  }
  return reports;
}

void ReportedGroup::add(RankReport report) {
  const Rank rank = report.rank;
  ranks_.insert_or_assign(rank, std::move(report));
}

void ReportedGroup::find_waiters() {
  for (const auto& [waiter, report] : ranks_) {
    for (const Rank rank : report.awaited) waiters_[rank].push_back(waiter);
  }
}

std::span<const Rank> ReportedGroup::who_waits_for(Rank rank) const {
  const auto found = waiters_.find(rank);
  return found == waiters_.end() ? std::span<const Rank>() : found->second;
}

std::vector<Rank> ReportedGroup::behind() const {
  std::vector<Rank> behind;
  for (const auto& [rank, waiters] : waiters_) {
    const auto found = ranks_.find(rank);
    if (found == ranks_.end() || found->second.waits_in.empty()) behind.push_back(rank);
  }
  return behind;
}

std::vector<ReportedGroup> group_reports(std::vector<RankReport> reports) {
  std::map<std::pair<std::string, std::string>, ReportedGroup> groups;
  for (RankReport& report : reports) {
    ReportedGroup& group = groups[{report.job, report.group}];
    group.add(std::move(report));
  }
  std::vector<ReportedGroup> found;
  for (auto& [key, group] : groups) {
    group.find_waiters();
    found.push_back(std::move(group));
  }
  return found;
}

}  // namespace hocket::store
