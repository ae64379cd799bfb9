#include "src/comm/reporter.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "src/store/open_store.hpp"
#include "src/store/redis_link.hpp"
#include "tests/process/program.hpp"
#include "tests/support/redis_server.hpp"

namespace hocket::comm {
namespace {

// What a lease is for: a rank that is killed says no farewell.
TEST(Reporter, InRedisEveryReportEndsWithItsRank) {
  if (const std::string problem = RedisServer::problem(); !problem.empty()) GTEST_SKIP() << problem;
  const RedisServer server;
  const store::ReportKeys keys{.job = "work", .group = 7, .rank = 1};
  std::atomic<int> reports = 0;
  const auto reporter = report_to({.job = "work", .store = server.url(), .meeting = {}, .trust = {}}, keys,
                                  {.report = [&] { return std::to_string(++reports); }, .record = [] { return ""; }});
  ASSERT_TRUE(reporter.ok()) << reporter.status().message();
  const auto deadline = Deadline::after(std::chrono::seconds(60));
  while (reports < 3 && !deadline.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  store::RedisLink link({.host = "127.0.0.1", .port = static_cast<std::uint16_t>(server.port())});
  const auto left = link.command({"PTTL", keys.report()}, deadline);
  ASSERT_TRUE(left.ok()) << left.status().message();
  EXPECT_GT((*left)->integer, 0) << "ms; -1: it stays for ever, -2: there is none";
}

// Others would take a rank that has ended for one that says nothing any more.
TEST(Reporter, LeavesNothingInAFileAlsoWhereThatHasRefusedSomething) {
  const TemporaryFolder folder;
  const std::string url = "file://" + folder.file("store");
  const store::ReportKeys keys{.job = "work", .group = 7, .rank = 1};
  const auto deadline = Deadline::after(std::chrono::seconds(60));
  std::atomic<int> reports = 0;
  const auto report = [&] { return ++reports == 1 ? "fits" : std::string(store_value_bytes_max + 1, 'x'); };
  {
    const auto reporter = report_to({.job = "work", .store = url, .meeting = {}, .trust = {}}, keys,
                                    {.report = report, .record = [] { return ""; }});
    ASSERT_TRUE(reporter.ok()) << reporter.status().message();
    while (reports < 2 && !deadline.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_GE(reports, 2);
  }
  const auto store = open_store(url, deadline);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const auto left = (*store)->list("", deadline);
  ASSERT_TRUE(left.ok()) << left.status().message();
  EXPECT_TRUE(left->empty()) << left->front();
}

}  // namespace
}  // namespace hocket::comm
