// Which class a group of ranks is in.
#include "src/plan/machine_class.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hocket {
namespace {

std::string_view class_of(const Topology& topology, Rank size, Rank cores, NetworkSpeed speed) {
  return machine_class_of(topology, size, cores, speed).name;
}

TEST(MachineClass, GoesByCoresOnOneHost) {
  for (const NetworkSpeed speed : all_network_speeds) {  // which no message of such ranks meets
    EXPECT_EQ(class_of({}, 8, 0, speed), "one-host");
    for (const Rank cores : {1, 2}) EXPECT_EQ(class_of({}, 8, cores, speed), "one-host-2-cores") << cores;
    for (const Rank cores : {3, 4, 7}) EXPECT_EQ(class_of({}, 8, cores, speed), "one-host-4-cores") << cores;
    for (const Rank cores : {8, 16, 96}) EXPECT_EQ(class_of({}, 128, cores, speed), "one-host-16-cores") << cores;
  }
}

TEST(MachineClass, GoesByTheNetworkOnSeveralHosts) {
  const Topology apart({0, 1, 2, 3}), shared({0, 0, 1, 1});
  EXPECT_EQ(class_of(apart, 4, 0, NetworkSpeed::unknown), "several-hosts");
  EXPECT_EQ(class_of(apart, 4, 0, NetworkSpeed::gbit_10), "several-hosts-10g");
  EXPECT_EQ(class_of(shared, 4, 0, NetworkSpeed::unknown), "shared-hosts");
  EXPECT_EQ(class_of(shared, 4, 0, NetworkSpeed::gbit_100), "shared-hosts-100g");
  EXPECT_EQ(class_of(Topology({0, 0, 1}), 3, 0, NetworkSpeed::mbit_2500), "shared-hosts-2.5g");
}

TEST(MachineClass, HasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const MachineClass& machine : machine_classes()) {
    EXPECT_TRUE(names.insert(machine.name).second) << machine.name;
    EXPECT_EQ(find_machine_class(machine.name), &machine);
  }
  EXPECT_EQ(find_machine_class("two-hosts"), nullptr);
}

TEST(NetworkSpeed, IsThatOfTheClassThatReachesSoFar) {
  struct Example {
    std::int64_t megabits;
    NetworkSpeed speed;
  };
  for (const auto& [megabits, speed] :
       {Example{-1, NetworkSpeed::unknown}, Example{0, NetworkSpeed::unknown}, Example{100, NetworkSpeed::mbit_2500},
        Example{2500, NetworkSpeed::mbit_2500}, Example{5000, NetworkSpeed::gbit_10},
        Example{10'000, NetworkSpeed::gbit_10}, Example{25'000, NetworkSpeed::gbit_25},
        Example{50'000, NetworkSpeed::gbit_25}, Example{100'000, NetworkSpeed::gbit_100},
        Example{400'000, NetworkSpeed::gbit_100}}) {
    EXPECT_EQ(network_speed_of(megabits), speed) << megabits;
  }
}

}  // namespace
}  // namespace hocket
