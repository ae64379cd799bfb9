#include "src/plan/machine_class.hpp"

#include <algorithm>

namespace hocket {
namespace {

using enum HostSharing;
using enum NetworkSpeed;

constexpr Rank any_cores = INT32_MAX;

constexpr MachineClass classes[] = {
    {"one-host", one_host},
    {"one-host-2-cores", one_host, 2},
    {"one-host-4-cores", one_host, 7},
    {"one-host-16-cores", one_host, any_cores},
    {"several-hosts", several_hosts},
    {"several-hosts-2.5g", several_hosts, 0, mbit_2500},
    {"several-hosts-10g", several_hosts, 0, gbit_10},
    {"several-hosts-25g", several_hosts, 0, gbit_25},
    {"several-hosts-100g", several_hosts, 0, gbit_100},
    {"shared-hosts", shared_hosts},
    {"shared-hosts-2.5g", shared_hosts, 0, mbit_2500},
    {"shared-hosts-10g", shared_hosts, 0, gbit_10},
    {"shared-hosts-25g", shared_hosts, 0, gbit_25},
    {"shared-hosts-100g", shared_hosts, 0, gbit_100},
};

}  // namespace

std::string_view name_of(NetworkSpeed speed) {
  switch (speed) {
    case unknown: return "unknown";
    case mbit_2500: return "2.5g";
    case gbit_10: return "10g";
    case gbit_25: return "25g";
    case gbit_100: return "100g";
  }
  return "unknown";
}

NetworkSpeed network_speed_of(std::int64_t megabits_per_second) {
  if (megabits_per_second <= 0) return unknown;
  if (megabits_per_second <= 2'500) return mbit_2500;
  if (megabits_per_second <= 10'000) return gbit_10;
  return megabits_per_second <= 50'000 ? gbit_25 : gbit_100;
}

std::span<const MachineClass> machine_classes() {
  return classes;
}

const MachineClass& machine_class_of(const Topology& topology, Rank size, Rank cores, NetworkSpeed speed) {
  const Rank hosts = topology.hosts();
  const HostSharing sharing = hosts <= 1 ? one_host : hosts < size ? shared_hosts : several_hosts;
  return *std::ranges::find_if(classes, [&](const MachineClass& one) {
    return one.sharing == sharing && (sharing == one_host ? cores <= one.cores_max : one.speed == speed);
  });
}

const MachineClass* find_machine_class(std::string_view name) {
  const auto* const found = std::ranges::find(classes, name, &MachineClass::name);
  return found == std::end(classes) ? nullptr : found;
}

}  // namespace hocket
