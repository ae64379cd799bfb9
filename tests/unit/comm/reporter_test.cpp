#include "src/comm/reporter.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "src/store/redis_link.hpp"
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

}  // namespace
}  // namespace hocket::comm
