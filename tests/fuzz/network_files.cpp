// Networks as people describe them in JSON.
#include <algorithm>

#include "tests/fuzz/target.hpp"
#include "tools/plan/network_file.hpp"

namespace hocket::fuzz {
namespace {

bool run(std::string_view input) {
  bool taken = false;
  for (const Rank ranks : {0, 7}) {
    const auto network = read_network(input, "file", ranks);
    if (!network) continue;
    require(network->size() > 0 && (ranks == 0 || network->size() == ranks));
    Network::Route route;
    network->find_route(0, network->size() - 1, route);
    require(route.latency >= 0);
    (void)over_tcp(*network);
    taken = true;
  }
  return taken;
}

std::vector<std::string> seeds() {
  return {R"({"topology": "hosts", "hosts": 3, "ranks_per_host": 4, "cores_per_host": 2,
    "link": {"latency_us": 20, "send_us": 2, "receive_us": 3, "send_ns_per_byte": 0.5, "bytes_per_second": 1e9},
    "local": {"latency_us": 1}, "copy_ns_per_byte": 0.1, "reduce_ns_per_byte": 0.2,
    "slow": [{"rank": 3, "factor": 2}, {"from": 0, "to": 4, "factor": 10}]})",
          R"({"topology": "fat_tree", "ranks_per_leaf": 4, "ranks": 8})",
          R"({"topology": "torus", "rows": 2, "columns": 3})", R"({"topology": "flat"})",
          R"({"topology": "hosts", "hosts": 2, "local": {"wake_us": 3}})"};
}

}  // namespace

const Target network_files{"network_files", run, seeds};

}  // namespace hocket::fuzz
