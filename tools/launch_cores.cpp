#include "tools/launch_cores.hpp"

#include <fmt/core.h>
#include <hwloc.h>
#include <hwloc/glibc-sched.h>

#include <memory>
#include <type_traits>

namespace hocket::launch {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;

// Of this process's own cores; null where hwloc cannot tell.
Topology own_topology() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  Topology owned(topology);
  const bool loaded = hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING |
                                                             HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM) == 0 &&
                      hwloc_topology_load(topology) == 0;
  return loaded ? std::move(owned) : nullptr;
}

}  // namespace

Result<std::vector<cpu_set_t>> cores_for(int ranks, std::string_view binding) {
  std::vector<cpu_set_t> sets;
  if (binding == "none") return sets;
  const Topology topology = own_topology();
  const int cores = topology ? hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE) : 0;
  if (cores < ranks && binding == "auto") return sets;
  if (cores <= 0) return Status(Code::out_of_resources, "Cannot bind ranks: the system does not report its cores.");
  if (cores < ranks) {
    return Status(
        Code::invalid_argument,
        fmt::format("{} ranks cannot have a core each: {} may be used here. Start fewer, or do not bind them.", ranks,
                    cores));
  }
  sets.resize(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const hwloc_obj_t core = hwloc_get_obj_by_type(topology.get(), HWLOC_OBJ_CORE, static_cast<unsigned>(rank));
    cpu_set_t& set = sets[static_cast<std::size_t>(rank)];
    hwloc_cpuset_to_glibc_sched_affinity(topology.get(), core->cpuset, &set, sizeof set);
  }
  return sets;
}

}  // namespace hocket::launch
