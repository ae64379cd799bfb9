#include "src/store/status_page.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "src/store/rank_reports.hpp"

namespace hocket::store {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t now = 1'000'000'000'000;

json report_of(int rank) {
  return {{"hocket_report", 1},
          {"job", "work"},
          {"name", "default"},
          {"group", "00000000000000ab"},
          {"rank", rank},
          {"size", 3},
          {"process", "process 7 on host node0"},
          {"date_ns", now},
          {"broken", nullptr},
          {"calls", 5},
          {"operations", 4},
          {"bytes_sent", 2048},
          {"bytes_received", 10},
          {"latest", {{"call", "barrier"}, {"number", 5}, {"ended", true}, {"seconds", 1.5}}},
          {"waits", nullptr}};
}

json waiting(int rank, std::vector<int> awaited) {
  json report = report_of(rank);
  report["waits"] = {{"call", "allreduce of 4 int32, sum"}, {"number", 6}, {"seconds", 2.0}, {"awaited", awaited}};
  return report;
}

Metrics metrics_of(const std::vector<json>& reports) {
  Metrics metrics;
  for (const json& report : reports) {
    const auto parsed = parse_report(report.dump());
    if (parsed) metrics.ranks.push_back(*parsed);
  }
  return metrics;
}

TEST(StatusPage, SaysWhoIsBehind) {
  const std::string page = status_page(metrics_of({waiting(0, {1}), report_of(1), waiting(2, {0, 1})}), now);
  EXPECT_THAT(page, HasSubstr("Behind: rank 1."));
  EXPECT_THAT(page, HasSubstr("waits for rank 1 for 2.0 s in allreduce of 4 int32, sum"));
  EXPECT_THAT(page, HasSubstr("behind: ranks 0, 2 wait for it"));
  EXPECT_THAT(page, HasSubstr("<td class=\"number\">2.0 KiB</td>"));
  EXPECT_THAT(page, HasSubstr("3 of 3 ranks report"));
}

TEST(StatusPage, SaysWhoDoesNotReport) {
  const std::string page = status_page(metrics_of({waiting(0, {1}), report_of(2)}), now);
  EXPECT_THAT(page, HasSubstr("Behind: rank 1. No report of rank 1:"));
  EXPECT_THAT(status_page(metrics_of({report_of(0)}), now + 60'000'000'000), HasSubstr("has said nothing for 60 s"));
  EXPECT_THAT(status_page({}, now), HasSubstr("HOCKET_REPORT=on"));
}

TEST(StatusPage, IsNotWrittenByStrangers) {
  json report = report_of(0);
  for (const char* field : {"job", "name", "group", "process", "broken"}) {
    report[field] = "<script>alert(1)</script>\"'&\x1b[2J";
  }
  report["latest"]["call"] = report["job"];
  const std::string page = status_page(metrics_of({report}), now);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;\\x1b[2J"));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  Metrics metrics = metrics_of({report});
  EXPECT_THAT(metrics.text(), HasSubstr("job=\"<script>alert(1)</script>\\\"'&\\\\x1b[2J\""));
}

TEST(StatusPage, ShowsSoManyRanksAtMost) {
  std::vector<json> reports;
  for (int rank = 0; rank < 5000; ++rank) {
    reports.push_back(report_of(rank));
    reports.back()["size"] = 5000;
  }
  EXPECT_THAT(status_page(metrics_of(reports), now), HasSubstr("904 more ranks are not shown"));
}

TEST(StatusPage, ListsSoManyRanksAtMost) {
  std::vector<json> reports{report_of(0)};
  for (int rank = 1; rank <= 20; ++rank) reports.push_back(waiting(rank, {0}));
  for (json& report : reports) report["size"] = 21;
  EXPECT_THAT(status_page(metrics_of(reports), now), HasSubstr("15, 16 and 4 more wait for it"));
}

TEST(RankReports, TellOfSoManyAwaitedRanksAtMost) {
  std::vector<int> some(64);
  std::iota(some.begin(), some.end(), 0);
  const auto with = [](const std::vector<int>& awaited, int size) {
    json report = waiting(0, awaited);
    report["size"] = size;
    return parse_report(report.dump());
  };
  ASSERT_TRUE(with(some, 100));
  EXPECT_EQ(with(some, 100)->awaited.size(), 64u);
  EXPECT_EQ(with({2, 1, 2}, 3)->awaited, (std::vector<Rank>{2, 1}));
  EXPECT_FALSE(with({3}, 3)) << "no rank of the group";
  EXPECT_FALSE(with({-1}, 3));
  some.push_back(64);
  EXPECT_FALSE(with(some, 100));
}

TEST(RankReports, AreRefusedWhereTheyAreNone) {
  EXPECT_TRUE(parse_report(report_of(0).dump()));
  EXPECT_FALSE(parse_report(""));
  EXPECT_FALSE(parse_report("[1]"));
  EXPECT_FALSE(parse_report("{\"hocket_report\":\"1\"}"));
  const json sound = report_of(0);
  for (const auto& [field, value] : sound.items()) {
    json report = sound;
    report.erase(field);
    EXPECT_FALSE(parse_report(report.dump())) << field;
    report[field] = json::array({"no"});
    EXPECT_FALSE(parse_report(report.dump())) << field;
  }
  for (const auto& [rank, size] : {std::pair(-1, 3), {3, 3}, {0, 0}, {0, 1 << 30}}) {
    json report = report_of(0);
    report["rank"] = rank;
    report["size"] = size;
    EXPECT_FALSE(parse_report(report.dump())) << rank << " of " << size;
  }
}

}  // namespace
}  // namespace hocket::store
