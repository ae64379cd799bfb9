#include "tools/plan/network_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "tools/plan/json_fields.hpp"

namespace hocket {
namespace {

using nlohmann::json;

// Figures of no machine in particular: a 10 Gbit/s network, and memory that ranks of one host share.
constexpr LinkCost default_link{.latency = 10e-6,
                                .send = 2e-6,
                                .receive = 2e-6,
                                .send_per_byte = 0.1e-9,
                                .receive_per_byte = 0.1e-9,
                                .wire_per_byte = 0.8e-9};
constexpr LinkCost default_local{.latency = 0.5e-6, .send = 0.2e-6, .receive = 0.2e-6, .receive_per_byte = 0.1e-9};

constexpr DirectCost default_direct{.call = 0.2e-6,
                                    .line = 0.05e-6,
                                    .flag = 0.1e-6,
                                    .copy_per_byte = 0.05e-9,
                                    .reduce_per_byte = 0.05e-9,
                                    .far_copy_per_byte = 0.1e-9,
                                    .far_reduce_per_byte = 0.1e-9,
                                    .cache_bytes = 1 << 20,
                                    .read = 1e-6,
                                    .read_per_byte = 0.1e-9,
                                    .reads_plain_memory = true};

NetworkDescription defaults() {
  NetworkDescription description;
  description.link = default_link;
  description.local = default_local;
  description.direct = default_direct;
  description.copy_per_byte = 0.1e-9;
  description.reduce_per_byte = 0.1e-9;
  return description;
}

FieldProblem read_link(const json& object, const std::string& path, LinkCost& cost) {
  if (!object.is_object()) return std::pair{path, std::string("is not an object")};
  Fields fields(object, path);
  fields.number("latency_us", cost.latency, 1e-6);
  fields.number("send_us", cost.send, 1e-6);
  fields.number("receive_us", cost.receive, 1e-6);
  fields.number("send_ns_per_byte", cost.send_per_byte, 1e-9);
  fields.number("receive_ns_per_byte", cost.receive_per_byte, 1e-9);
  fields.number("wake_us", cost.wake, 1e-6);
  fields.count("streams", cost.streams);
  double bandwidth = -1;
  fields.number("bytes_per_second", bandwidth, 1);
  if (object.contains("bytes_per_second")) {
    if (bandwidth > 0) {
      cost.wire_per_byte = 1 / bandwidth;
    } else {
      fields.complain("bytes_per_second", "is not above 0");
    }
  }
  return fields.problem();
}

FieldProblem read_direct(const json& object, DirectCost& cost) {
  if (!object.is_object()) return std::pair{std::string("direct"), std::string("is not an object")};
  Fields fields(object, "direct");
  fields.number("call_us", cost.call, 1e-6);
  fields.number("line_us", cost.line, 1e-6);
  fields.number("flag_us", cost.flag, 1e-6);
  fields.number("wake_us", cost.wake, 1e-6);
  fields.number("copy_ns_per_byte", cost.copy_per_byte, 1e-9);
  fields.number("reduce_ns_per_byte", cost.reduce_per_byte, 1e-9);
  fields.number("far_copy_ns_per_byte", cost.far_copy_per_byte, 1e-9);
  fields.number("far_reduce_ns_per_byte", cost.far_reduce_per_byte, 1e-9);
  fields.number("cache_bytes", cost.cache_bytes, 1);
  fields.number("read_us", cost.read, 1e-6);
  fields.number("read_ns_per_byte", cost.read_per_byte, 1e-9);
  fields.truth("reads_plain_memory", cost.reads_plain_memory);
  return fields.problem();
}

FieldProblem read_slow(const json& list, std::vector<Slow>& slow) {
  if (!list.is_array()) return std::pair{std::string("slow"), std::string("is not a list")};
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string path = fmt::format("slow[{}]", i);
    if (!list[i].is_object()) return std::pair{path, std::string("is not an object")};
    Fields fields(list[i], path);
    Slow made;
    fields.count("rank", made.rank);
    fields.count("from", made.from);
    fields.count("to", made.to);
    fields.number("factor", made.factor, 1);
    if (FieldProblem problem = fields.problem()) return problem;
    slow.push_back(made);
  }
  return std::nullopt;
}

FieldProblem read_description(const json& text, NetworkDescription& into, Rank& hosts) {
  Fields fields(text, "");
  const json* kind = fields.take("topology");
  if (kind == nullptr || !kind->is_string()) return std::pair{std::string("topology"), std::string("is missing")};
  const auto known = find_by_name(all_network_kinds, kind->get<std::string>());
  if (!known) return std::pair{std::string("topology"), std::string("is not one of flat, hosts, torus and fat_tree")};
  into.kind = *known;
  fields.count("ranks", into.ranks);
  if (into.kind == NetworkKind::hosts) {
    fields.count("hosts", hosts);
    fields.count("ranks_per_host", into.ranks_per_host);
  }
  if (into.kind == NetworkKind::torus) {
    fields.count("rows", into.rows);
    fields.count("columns", into.columns);
  }
  if (into.kind == NetworkKind::fat_tree) {
    fields.count("ranks_per_leaf", into.ranks_per_leaf);
    fields.number("oversubscription", into.oversubscription, 1);
  }
  fields.count("cores_per_host", into.cores_per_host);
  fields.number("copy_ns_per_byte", into.copy_per_byte, 1e-9);
  fields.number("reduce_ns_per_byte", into.reduce_per_byte, 1e-9);
  (void)fields.take("measured");  // for people
  const json* link = fields.take("link");
  const json* local = into.kind == NetworkKind::hosts ? fields.take("local") : nullptr;
  const json* direct = into.kind == NetworkKind::hosts ? fields.take("direct") : nullptr;
  const json* slow = fields.take("slow");
  if (FieldProblem problem = fields.problem()) return problem;
  if (link != nullptr) {
    if (FieldProblem problem = read_link(*link, "link", into.link)) return problem;
  }
  if (local != nullptr) {
    if (FieldProblem problem = read_link(*local, "local", into.local)) return problem;
  }
  if (direct != nullptr) {
    if (FieldProblem problem = read_direct(*direct, *into.direct)) return problem;
  }
  return slow == nullptr ? std::nullopt : read_slow(*slow, into.slow);
}

Status wrong(std::string_view text, std::string_view name, std::string_view field, std::string_view what) {
  return Status(Code::invalid_argument, fmt::format("{}, line {}: {} {}", name, line_of(text, field), field, what));
}

// Of a torus, one of rows and columns follows from the other and the number of ranks. Null, or the field that is
// missing.
const char* complete_torus(NetworkDescription& description, Rank ranks) {
  Rank &rows = description.rows, &columns = description.columns;
  if (rows == 0 && columns == 0) return "rows";
  if ((rows == 0 || columns == 0) && ranks == 0) return rows == 0 ? "rows" : "columns";
  if (rows == 0) rows = std::max(ranks / columns, 1);
  if (columns == 0) columns = std::max(ranks / rows, 1);
  return nullptr;
}

// How many ranks there are, where the description implies it.
std::int64_t implied_ranks(const NetworkDescription& description, Rank hosts) {
  if (description.ranks != 0) return description.ranks;
  if (description.kind == NetworkKind::torus) return std::int64_t{description.rows} * description.columns;
  return std::int64_t{hosts} * description.ranks_per_host;
}

// How many ranks a host has, where the description does not say it: the hosts share them out.
Rank share_of_host(Rank ranks, Rank hosts) {
  return hosts == 0 || ranks == 0 ? 1 : (ranks + hosts - 1) / hosts;
}

}  // namespace

Result<Network> read_network(std::string_view text, std::string_view name, Rank ranks) {
  const Result<json> parsed = parse_json(text, name);
  if (!parsed) return parsed.status();
  if (!parsed->is_object()) return wrong(text, name, "the file", "holds no object");

  NetworkDescription description = defaults();
  description.ranks = 0;
  description.ranks_per_host = 0;
  description.rows = description.columns = 0;
  Rank hosts = 0;
  if (const FieldProblem problem = read_description(*parsed, description, hosts)) {
    return wrong(text, name, problem->first, problem->second);
  }
  if (description.kind == NetworkKind::torus) {
    const char* missing = complete_torus(description, description.ranks == 0 ? ranks : description.ranks);
    if (missing != nullptr) return wrong(text, name, missing, "is missing");
  }
  const std::int64_t implied = implied_ranks(description, hosts);
  if (implied > group_ranks_max) {
    return Status(Code::invalid_argument,
                  fmt::format("{} describes {} ranks, but there are at most {}", name, implied, group_ranks_max));
  }
  if (implied != 0 && ranks != 0 && implied != ranks) {
    return Status(Code::invalid_argument,
                  fmt::format("{} describes {} ranks, but {} are wanted", name, implied, ranks));
  }
  description.ranks = implied != 0 ? static_cast<Rank>(implied) : ranks;
  if (description.ranks == 0 && hosts != 0) description.ranks = hosts;
  if (description.ranks_per_host == 0) description.ranks_per_host = share_of_host(description.ranks, hosts);
  if (description.ranks == 0) return wrong(text, name, "ranks", "is missing");
  Result<Network> made = Network::make(description);
  if (made) return made;
  const std::string& said = made.status().message();  // "ranks_per_host: …"
  const std::string field = said.substr(0, said.find(':'));
  return Status(Code::invalid_argument, fmt::format("{}, line {}: {}", name, line_of(text, field), said));
}

Result<Network> over_tcp(const Network& network) {
  NetworkDescription description = network.description();
  description.local = description.link;
  description.direct.reset();
  return Network::make(description);
}

Result<Network> open_network(const std::string& topology, Rank ranks, Rank cores) {
  const auto with_cores = [&](NetworkDescription description) {
    if (cores != 0) description.cores_per_host = cores;
    return Network::make(description);
  };
  NetworkDescription description = defaults();
  if (topology == "flat") {
    if (ranks == 0) return Status(Code::invalid_argument, "--ranks is required with --topology flat");
    description.ranks = ranks;
    return with_cores(description);
  }
  const std::size_t cross = topology.find('x');
  if (cross != std::string::npos && topology.find_first_not_of("0123456789x") == std::string::npos) {
    const std::string hosts = topology.substr(0, cross), each = topology.substr(cross + 1);
    const auto is_number = [](const std::string& digits) {
      return !digits.empty() && digits.size() <= 7 && digits.find('x') == std::string::npos;
    };
    if (!is_number(hosts) || !is_number(each)) {
      return Status(Code::invalid_argument, fmt::format("--topology {} is not HOSTSxRANKS, as in 8x4", topology));
    }
    description.kind = NetworkKind::hosts;
    description.ranks_per_host = std::stoi(each);
    const std::int64_t all = std::int64_t{std::stoi(hosts)} * description.ranks_per_host;
    if (all == 0) {
      return Status(Code::invalid_argument, fmt::format("--topology {}: {} is 0, but there is at least one", topology,
                                                        description.ranks_per_host == 0 ? "RANKS" : "HOSTS"));
    }
    if (all > group_ranks_max) {
      return Status(Code::invalid_argument, fmt::format("--topology {} has {} ranks, but there are at most {}",
                                                        topology, all, group_ranks_max));
    }
    if (ranks != 0 && all != ranks) {
      return Status(Code::invalid_argument,
                    fmt::format("--topology {} has {} ranks, but --ranks says {}", topology, all, ranks));
    }
    description.ranks = static_cast<Rank>(all);
    return with_cores(description);
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(topology, ignored)) {
    return Status(Code::invalid_argument,
                  fmt::format("--topology: '{}' is a folder; name the file that describes the network", topology));
  }
  std::ifstream file(topology);
  if (!file) {
    return Status(
        Code::not_found,
        fmt::format("--topology: '{}' is neither flat, nor HOSTSxRANKS, nor a file that can be read", topology));
  }
  std::ostringstream text;
  text << file.rdbuf();
  Result<Network> made = read_network(text.str(), topology, ranks);
  return made && cores != 0 ? with_cores(made->description()) : std::move(made);
}

}  // namespace hocket
