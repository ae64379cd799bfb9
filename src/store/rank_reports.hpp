// What ranks have told a store about themselves (src/comm/report_text.hpp), for those who watch over it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/spi/rank.hpp"

namespace hocket::store {

// Texts are a stranger's: printable, but nothing else is certain.
struct RankReport {
  std::string job, name, group, process;
  Rank rank = 0, size = 1;
  std::int64_t date_ns = 0;  // by the clock of its host
  std::uint64_t calls = 0;   // collectives of the first communicator that were called
  std::uint64_t operations = 0, bytes_sent = 0, bytes_received = 0;
  std::string broken;         // why; empty: it works
  std::string latest;         // the latest call; empty: none yet
  bool latest_ended = false;  // else it runs
  bool latest_exact = true;
  double latest_seconds = 0;  // since it ended, or began; not exact: it has ended since then
  std::string waits_in;       // the call that has waited for a while; empty: none
  double waited_seconds = 0;
  std::vector<Rank> awaited;  // for whom it waits there
};

// Nothing where the text is no report.
std::optional<RankReport> parse_report(std::string_view text);

class Dictionary;
// All that a store holds.
std::vector<RankReport> reports_in(const Dictionary& dictionary);

// The ranks of one group.
class ReportedGroup {
 public:
  void add(RankReport report);
  // Once all are there.
  void find_waiters();

  const std::map<Rank, RankReport>& ranks() const { return ranks_; }
  const RankReport& any() const { return ranks_.begin()->second; }
  // Who waits for that rank, according to themselves.
  std::span<const Rank> who_waits_for(Rank rank) const;
  // Those for whom others wait and who do not wait themselves, and those that have not reported though others wait for
  // them.
  std::vector<Rank> behind() const;

 private:
  std::map<Rank, RankReport> ranks_;
  std::map<Rank, std::vector<Rank>> waiters_;  // by the rank that they wait for
};

// By job and group.
std::vector<ReportedGroup> group_reports(std::vector<RankReport> reports);

}  // namespace hocket::store
