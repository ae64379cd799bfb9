// Where ranks meet: who serves, who finds, and whose store is not taken for their own.
#include "src/comm/meeting_point.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace hocket::comm {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// A server on a free port, that of the job `name`; empty: a daemon's.
std::unique_ptr<StoreServer> server_of(const std::string& name) {
  auto started = StoreServer::start("127.0.0.1", 0, {.meeting_point = name});
  EXPECT_TRUE(started.ok());
  return std::move(*started);
}

// A port that was free a moment ago.
std::uint16_t free_port() {
  return server_of("")->port();
}

Result<std::unique_ptr<Store>> meet_at(const MeetingPoint& point, bool serves, std::unique_ptr<StoreServer>& server,
                                       std::chrono::milliseconds limit = 20s) {
  return meet_at(point, serves, server, Deadline::after(limit), {});
}

TEST(MeetingPoint, AtAPortGoesOnWithThePortsAfterIt) {
  const MeetingPoint point = MeetingPoint::at("node0", 29500, false);
  EXPECT_TRUE(point.daemon_possible);
  EXPECT_THAT(point.ports, SizeIs(9));
  EXPECT_EQ(point.ports.front(), 29500);
  EXPECT_EQ(point.ports.back(), 29508);
  const MeetingPoint taken = MeetingPoint::at("node0", 65534, true);
  EXPECT_FALSE(taken.daemon_possible);
  EXPECT_THAT(taken.ports, ElementsAre(65535));
  EXPECT_EQ(taken.name, MeetingPoint::at("node0", 65534, false).name);
}

TEST(MeetingPoint, AtAPortStaysWithinTheRange) {
  EXPECT_THAT(MeetingPoint::at("node0", 29500, false, 29502).ports, ElementsAre(29500, 29501, 29502));
  EXPECT_THAT(MeetingPoint::at("node0", 29500, false, 29500).ports, ElementsAre(29500));
}

TEST(MeetingPoint, WhereTheRangeIsUsedUpSaysSo) {
  const auto other = server_of("another job");
  const MeetingPoint point{
      .host = "127.0.0.1", .ports = {other->port()}, .name = "mine", .ports_limited_by = "HOCKET_TCP_PORTS"};
  std::unique_ptr<StoreServer> server;
  const Status status = meet_at(point, true, server).status();
  EXPECT_EQ(status.code(), Code::address_in_use);
  EXPECT_THAT(status.message(), HasSubstr("HOCKET_TCP_PORTS allows no others"));
}

TEST(MeetingPoint, IsServedAtSeveralAddresses) {
  const MeetingPoint served{.host = "127.0.0.1", .ports = {free_port()}, .name = "mine", .besides = {"127.0.0.2"}};
  std::unique_ptr<StoreServer> server, none;
  ASSERT_TRUE(meet_at(served, true, server).ok());
  for (const char* address : {"127.0.0.2", "127.0.0.3"}) {
    const MeetingPoint looked{.host = address, .ports = served.ports, .name = "mine"};
    EXPECT_EQ(meet_at(looked, false, none, 1s).ok(), address == served.besides.front()) << address;
  }
}

TEST(MeetingPoint, OfAJobIsBelowThePortsThatSystemsHandOut) {
  for (int job = 0; job < 1000; ++job) {
    const MeetingPoint point = MeetingPoint::of_job("job " + std::to_string(job));
    EXPECT_TRUE(std::ranges::all_of(point.ports, [](int port) { return port >= 10000 && port < 32000; }));
  }
  EXPECT_NE(MeetingPoint::of_job("a").ports, MeetingPoint::of_job("b").ports);
}

TEST(MeetingPoint, IsOnTheNextPortWhereOneIsTakenByAnotherJob) {
  const auto other = server_of("another");
  const MeetingPoint point{.host = "127.0.0.1", .ports = {other->port(), free_port()}, .name = "mine"};
  std::unique_ptr<StoreServer> server, none;
  const auto served = meet_at(point, true, server);
  ASSERT_TRUE(served.ok()) << served.status().message();
  EXPECT_EQ(server->port(), point.ports[1]);
  const auto found = meet_at(point, false, none);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ((*found)->url(), (*served)->url());
  EXPECT_EQ(none, nullptr);
}

TEST(MeetingPoint, SaysWhoServesThereAndForWhat) {
  const MeetingPoint point{.host = "127.0.0.1", .ports = {free_port()}, .name = "mine", .job = "first"};
  std::unique_ptr<StoreServer> server;
  const auto store = meet_at(point, true, server);
  ASSERT_TRUE(store.ok()) << store.status().message();
  const auto text = (*store)->peek(meeting_point_key, Deadline::after(20s));
  ASSERT_TRUE(text.ok() && *text);
  const ServedStore served = ServedStore::parse(**text);
  EXPECT_EQ(served.point, "mine");
  EXPECT_EQ(served.job, "first");
  EXPECT_EQ(served.process, ProcessIdentity::own());
}

TEST(MeetingPoint, IsTheSameForASecondCommunicator) {
  const MeetingPoint point{.host = "127.0.0.1", .ports = {free_port()}, .name = "mine"};
  std::unique_ptr<StoreServer> server, second;
  ASSERT_TRUE(meet_at(point, true, server).ok());
  EXPECT_TRUE(meet_at(point, true, second).ok());
  EXPECT_EQ(second, nullptr);
}

TEST(MeetingPoint, MayBeADaemonOnTheFirstPortAlone) {
  const auto daemon = server_of("");
  std::unique_ptr<StoreServer> server;
  MeetingPoint point{.host = "127.0.0.1", .ports = {daemon->port()}, .name = "mine", .daemon_possible = true};
  EXPECT_TRUE(meet_at(point, true, server).ok());
  EXPECT_TRUE(meet_at(point, false, server).ok());
  EXPECT_EQ(server, nullptr);
  point.daemon_possible = false;
  EXPECT_EQ(meet_at(point, true, server).status().code(), Code::address_in_use);
}

TEST(MeetingPoint, OfAnotherJobIsNotTakenForOnesOwn) {
  const auto other = server_of("another");
  const MeetingPoint point{.host = "127.0.0.1", .ports = {other->port()}, .name = "mine", .daemon_possible = true};
  std::unique_ptr<StoreServer> server;
  EXPECT_EQ(meet_at(point, true, server).status().code(), Code::address_in_use);
  const Status status = meet_at(point, false, server, 3s).status();
  EXPECT_EQ(status.code(), Code::protocol_error);
  EXPECT_THAT(status.message(), HasSubstr("another job"));
}

TEST(MeetingPoint, IsWaitedFor) {
  const MeetingPoint point{.host = "127.0.0.1", .ports = {free_port()}, .name = "mine"};
  std::unique_ptr<StoreServer> none, server;
  EXPECT_EQ(meet_at(point, false, none, 1s).status().code(), Code::store_unreachable);
  Result<std::unique_ptr<Store>> found = Status(Code::internal, "not yet");
  std::jthread other([&] { found = meet_at(point, false, none); });
  EXPECT_TRUE(meet_at(point, true, server).ok());
  other.join();
  EXPECT_TRUE(found.ok()) << found.status().message();
}

TEST(MeetingPoint, IsGivenUpOnRequest) {
  const MeetingPoint point{.host = "127.0.0.1", .ports = {free_port()}, .name = "mine"};
  std::unique_ptr<StoreServer> none;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(meet_at(point, false, none, Deadline::after(60s), stop.get_token()).status().code(), Code::aborted);
}

}  // namespace
}  // namespace hocket::comm
