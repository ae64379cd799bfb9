#include "tools/doctor/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <span>
#include <utility>

#include "src/base/environment.hpp"
#include "src/base/random.hpp"
#include "src/base/trust.hpp"
#include "src/comm/meeting_point.hpp"
#include "src/store/open_store.hpp"
#include "src/store/rank_reports.hpp"
#include "src/store/reports.hpp"

namespace hocket::doctor {
namespace {

using std::chrono_literals::operator""s;

constexpr auto store_patience = 10s;
// Asked at once: the store holds so many records, of up to a megabyte each.
constexpr std::size_t asked_at_once = 32;

std::uint64_t job_number_of(const std::string& hexadecimal) {
  std::uint64_t number = 0;
  (void)std::from_chars(hexadecimal.data(), hexadecimal.data() + hexadecimal.size(), number, 16);
  return number;
}

Result<std::vector<store::RankReport>> reports_of(Store& store, const std::string& job, Deadline deadline) {
  const auto keys = store.list(store::ReportKeys::prefix_of(job), deadline);
  if (!keys.ok()) return keys.status();
  std::vector<store::RankReport> reports;
  for (const std::string& key : *keys) {
    const auto text = store.peek(key, deadline);
    if (!text.ok()) return text.status();
    if (!*text) continue;  // it has ended meanwhile
    if (auto report = store::parse_report(**text)) reports.push_back(std::move(*report));
  }
  if (!reports.empty()) return reports;
  return Status(Code::not_found,
                fmt::format("no rank of job \"{}\" reports to the store {}: ranks do where HOCKET_REPORT=on, and the "
                            "job's name is HOCKET_JOB",
                            job, store.url()));
}

// One that has come is taken also after the deadline, which another rank may have used up.
Result<std::string> answer_of(Store& store, const std::string& key, Deadline deadline) {
  if (!deadline.passed()) return store.get(key, deadline);
  auto text = store.peek(key, Deadline::after(store_patience));
  if (!text.ok()) return text.status();
  if (!*text) return Status(Code::timeout, "no answer has come");
  return std::move(**text);
}

// Sets their questions, then collects the answers.
Status ask(Store& store, std::span<const store::ReportKeys> ranks, std::chrono::milliseconds patience, Groups& groups,
           std::vector<std::string>& unreadable) {
  const std::string word = fmt::format("{:016x}", random_number());
  for (const store::ReportKeys& rank : ranks) {
    if (Status asked = store.set(rank.question(), word, Deadline::after(store_patience)); !asked.ok()) return asked;
  }
  const auto deadline = Deadline::after(patience);
  for (const store::ReportKeys& rank : ranks) {
    const auto text = answer_of(store, rank.record(word), deadline);
    if (!text.ok() && text.status().code() != Code::timeout) return text.status();
    const std::string spent = text.ok() ? rank.record(word) : rank.question();
    if (const auto removed = store.remove(spent, Deadline::after(store_patience)); !removed.ok()) {
      return removed.status();
    }
    if (!text.ok()) continue;
    auto problem = groups.add(*text, fmt::format("what rank {} answered", rank.rank));
    if (!problem.empty()) unreadable.push_back(std::move(problem));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Store>> open_job_store(const std::string& url) {
  const auto trust = Trust::from_environment();
  if (!trust.ok()) return trust.status();
  const auto deadline = Deadline::after(store_patience);
  if (!url.empty()) return open_store(url, deadline, {}, *trust);
  if (const auto named = environment::find({"HOCKET_STORE"})) return open_store(named->value, deadline, {}, *trust);
  const auto host = environment::find({"MASTER_ADDR"}), port = environment::find({"MASTER_PORT"});
  if (!host || !port) {
    return Status(Code::invalid_environment,
                  "nothing says where the job's store is: give --store, or set HOCKET_STORE or MASTER_ADDR and "
                  "MASTER_PORT as the job has them");
  }
  const auto number = environment::to_integer(*port, 1, 65535);
  if (!number.ok()) return number.status();
  std::unique_ptr<StoreServer> nobodys;
  auto point = comm::MeetingPoint::at(host->value, static_cast<std::uint16_t>(*number), false);
  point.daemon_possible = true;
  return comm::meet_at(point, false, nobodys, deadline, {}, *trust);
}

Result<std::vector<Group>> read_job(Store& store, const std::string& job, std::chrono::milliseconds patience,
                                    std::vector<std::string>& unreadable) {
  const auto reports = reports_of(store, job, Deadline::after(store_patience));
  if (!reports.ok()) return reports.status();
  std::vector<store::ReportKeys> ranks;
  for (const store::RankReport& report : *reports) {
    ranks.push_back({.job = job, .group = job_number_of(report.group), .rank = report.rank});
  }
  Groups groups;
  for (std::size_t first = 0; first < ranks.size(); first += asked_at_once) {
    const auto some = std::span(ranks).subspan(first, std::min(asked_at_once, ranks.size() - first));
    if (Status asked = ask(store, some, patience, groups, unreadable); !asked.ok()) return asked;
  }
  auto sorted = std::move(groups).sorted();
  if (!sorted.empty()) return sorted;
  return Status(Code::timeout,
                fmt::format("none of the {} ranks of job \"{}\" that report has answered within {} s: "
                            "are their processes stopped?",
                            ranks.size(), job, std::chrono::duration_cast<std::chrono::seconds>(patience).count()));
}

}  // namespace hocket::doctor
