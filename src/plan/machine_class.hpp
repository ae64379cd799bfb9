// Machine classes: what all ranks know of the machines they run on, as far as it decides which algorithm is fastest.
// Each class has tables of its own (src/plan/tables, docs/guide/choosing.md).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "src/spi/topology.hpp"
#include "src/spi/types.hpp"

namespace hocket {

// Of the interface by which a host speaks to others. Ranks take the slowest of all, so that they agree.
enum class NetworkSpeed : std::uint8_t {
  unknown,    // loopback, virtual interfaces and those that do not tell
  mbit_2500,  // up to 2.5 Gbit/s
  gbit_10,    // up to 10
  gbit_25,    // 25 to 50
  gbit_100,   // more
};
inline constexpr NetworkSpeed all_network_speeds[] = {NetworkSpeed::unknown, NetworkSpeed::mbit_2500,
                                                      NetworkSpeed::gbit_10, NetworkSpeed::gbit_25,
                                                      NetworkSpeed::gbit_100};

// "unknown", "2.5g", "10g", "25g", "100g".
std::string_view name_of(NetworkSpeed speed);
// 0 or less: the interface does not tell.
NetworkSpeed network_speed_of(std::int64_t megabits_per_second);

enum class HostSharing : std::uint8_t {
  one_host,
  several_hosts,  // every rank on a host of its own
  shared_hosts,   // some ranks share a host, but not all
};

struct MachineClass {
  std::string_view name;  // "one-host-2-cores"; the tables' files are called so
  HostSharing sharing = HostSharing::one_host;
  Rank cores_max = 0;                          // one host: how many cores the ranks share; 0: each rank has a core
  NetworkSpeed speed = NetworkSpeed::unknown;  // between hosts
};

// Those of one kind of sharing follow one another with rising cores_max.
std::span<const MachineClass> machine_classes();
// `cores`: of the one host that has all ranks, if they are fewer than the ranks; else 0.
const MachineClass& machine_class_of(const Topology& topology, Rank size, Rank cores, NetworkSpeed speed);
// Null where there is none of this name.
const MachineClass* find_machine_class(std::string_view name);

}  // namespace hocket
