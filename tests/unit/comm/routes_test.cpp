#include "src/comm/routes.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/unit/comm/fake_transport.hpp"

namespace hocket::comm {
namespace {

using testing_support::FakeTransport;

// Shared memory on host a, TCP anywhere.
std::vector<std::unique_ptr<Transport>> shm_and_tcp() {
  std::vector<std::unique_ptr<Transport>> transports;
  transports.push_back(std::make_unique<FakeTransport>("shm", "a", true));
  transports.push_back(std::make_unique<FakeTransport>("tcp", ""));
  return transports;
}

const std::vector<Endpoint> here = {{"shm", "a1"}, {"tcp", "a1"}};
const std::vector<Endpoint> elsewhere = {{"shm", "b1"}, {"tcp", "b1"}};

TEST(Routes, TakeTheFirstTransportThatBothSidesHave) {
  const auto transports = shm_and_tcp();
  Routes routes(transports, 4);
  routes.add(0, here);
  routes.add(1, elsewhere);
  routes.add(2, std::vector<Endpoint>{{"tcp", "a2"}, {"shm", "a2"}});
  EXPECT_EQ(routes[0].transport, transports[0].get());
  EXPECT_EQ(routes[0].address, "a1");
  EXPECT_EQ(routes[1].transport, transports[1].get());
  EXPECT_EQ(routes[1].address, "b1");
  EXPECT_EQ(routes[2].transport, transports[0].get()) << "this rank's order of preference counts";
  EXPECT_EQ(routes[3].transport, nullptr) << "nothing is known of it";
}

TEST(Routes, KeepWhatWasToldFirst) {
  const auto transports = shm_and_tcp();
  Routes routes(transports, 1);
  routes.add(0, elsewhere);
  routes.add(0, here);
  EXPECT_EQ(routes[0].address, "b1");
}

TEST(Routes, NameTheTransportsOfDirections) {
  const auto transports = shm_and_tcp();
  Routes routes(transports, 3);
  routes.add(0, here);
  routes.add(1, elsewhere);
  const std::vector<Direction> both = {{.peer = 1, .outgoing = true}, {.peer = 0}};
  EXPECT_EQ(routes.transports_of(both), "shm+tcp");
  EXPECT_EQ(routes.transports_of(std::span(both).first(1)), "tcp");
  EXPECT_EQ(routes.transports_of({}), "none");
}

TEST(Routes, HaveAWindowOnlyWhereItReachesEachOfTheRanks) {
  const auto transports = shm_and_tcp();
  Routes all(transports, 2), most(transports, 3), unfinished(transports, 3);
  for (Routes* routes : {&all, &most, &unfinished}) {
    routes->add(0, here);
    routes->add(1, here);
    routes->add(1, here);  // counts once
  }
  most.add(2, elsewhere);
  const std::vector<Rank> two = {0, 1}, three = {0, 1, 2};
  EXPECT_EQ(all.window_transport(two), transports[0].get());
  EXPECT_EQ(most.window_transport(three), nullptr);
  EXPECT_EQ(most.window_transport(two), transports[0].get());
  EXPECT_EQ(unfinished.window_transport(three), nullptr);
}

}  // namespace
}  // namespace hocket::comm
