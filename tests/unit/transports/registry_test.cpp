#include "transports/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

namespace hocket {
namespace {

using testing::ElementsAre;

class Silent final : public TransportListener {
  void peer_failed(Rank, const Status&) override {}
  void peer_left(Rank) override {}
};

using Transports = std::vector<std::unique_ptr<Transport>>;

Transports opened(std::string_view wanted, TransportConfig config) {
  static Silent listener;
  config.listener = &listener;
  auto made = open_transports(wanted, config);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(*made);
}

void shut_down(Transports& transports) {
  for (auto& transport : transports) transport->shut_down({}, Deadline::after(std::chrono::seconds(10)));
}

TEST(Registry, LoopbackIsThereForThoseWhoNameIt) {
  Transports automatic = opened("auto", {.size = 2, .group = 1});
  for (const auto& transport : automatic) EXPECT_NE(transport->name(), "loopback");
  EXPECT_TRUE(std::ranges::any_of(automatic, [](const auto& transport) { return transport->name() == "tcp"; }));
  Transports named = opened("loopback", {.size = 2, .group = 1});
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named.front()->name(), "loopback");
  shut_down(automatic);
  shut_down(named);
}

TEST(Registry, LoopbackRanksMeetByTheirGroup) {
  constexpr std::uint64_t group = 77;
  Transports one = opened("loopback", {.rank = 0, .size = 2, .group = group});
  Transports two = opened("loopback", {.rank = 1, .size = 2, .group = group});
  Transports stranger = opened("loopback", {.rank = 1, .size = 2, .group = group + 1});
  EXPECT_TRUE(one[0]->reaches(two[0]->address()));
  EXPECT_FALSE(one[0]->reaches(stranger[0]->address()));
  EXPECT_EQ(open_transports("loopback", {.rank = 1, .size = 2, .group = group}).status().code(), Code::invalid_argument)
      << "rank 1 is there already";
  for (Transports* transports : {&one, &two, &stranger}) shut_down(*transports);
}

// A group's hub lasts as long as somebody is on it.
TEST(Registry, ALoopbackGroupMayMeetAgain) {
  for (int time = 0; time < 2; ++time) {
    Transports one = opened("loopback", {.size = 1, .group = 78});
    shut_down(one);
  }
}

}  // namespace
}  // namespace hocket
