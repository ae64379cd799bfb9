#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/plan/network_file.hpp"

namespace hocket {

std::string write_network(const NetworkDescription& description, Rank hosts, const std::vector<std::string>& notes) {
  using nlohmann::ordered_json;
  const auto rounded = [](double value) { return std::round(value * 1e5) / 1e5; };
  const auto link = [&](const LinkCost& cost) {
    ordered_json made{{"latency_us", rounded(cost.latency * 1e6)},
                      {"send_us", rounded(cost.send * 1e6)},
                      {"receive_us", rounded(cost.receive * 1e6)},
                      {"send_ns_per_byte", rounded(cost.send_per_byte * 1e9)},
                      {"receive_ns_per_byte", rounded(cost.receive_per_byte * 1e9)},
                      {"wake_us", rounded(cost.wake * 1e6)}};
    if (cost.streams > 1) made["streams"] = cost.streams;
    made["bytes_per_second"] = cost.wire_per_byte > 0 ? std::round(1 / cost.wire_per_byte) : 1e15;
    return made;
  };
  const DirectCost direct = description.direct.value_or(DirectCost());
  const ordered_json window{{"call_us", rounded(direct.call * 1e6)},
                            {"line_us", rounded(direct.line * 1e6)},
                            {"flag_us", rounded(direct.flag * 1e6)},
                            {"wake_us", rounded(direct.wake * 1e6)},
                            {"copy_ns_per_byte", rounded(direct.copy_per_byte * 1e9)},
                            {"reduce_ns_per_byte", rounded(direct.reduce_per_byte * 1e9)},
                            {"far_copy_ns_per_byte", rounded(direct.far_copy_per_byte * 1e9)},
                            {"far_reduce_ns_per_byte", rounded(direct.far_reduce_per_byte * 1e9)},
                            {"cache_bytes", std::round(direct.cache_bytes)},
                            {"read_us", rounded(direct.read * 1e6)},
                            {"read_ns_per_byte", rounded(direct.read_per_byte * 1e9)},
                            {"reads_plain_memory", direct.reads_plain_memory}};
  ordered_json all{{"topology", "hosts"},
                   {"hosts", hosts},
                   {"cores_per_host", description.cores_per_host},
                   {"link", link(description.link)},
                   {"local", link(description.local)},
                   {"copy_ns_per_byte", rounded(description.copy_per_byte * 1e9)},
                   {"reduce_ns_per_byte", rounded(description.reduce_per_byte * 1e9)},
                   {"measured", notes}};
  if (description.direct) all["direct"] = window;
  return all.dump(2) + "\n";
}

}  // namespace hocket
