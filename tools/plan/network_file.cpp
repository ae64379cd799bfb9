#include "tools/plan/network_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

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

// Reads the fields of one object and complains about those that nobody asked for.
class Fields {
 public:
  // `path` is what the object is called in messages: "", "link" or "slow[2]".
  Fields(const json& object, std::string path) : object_(object), path_(std::move(path)) {}

  void number(const std::string& name, double& into, double unit) {
    const json* found = take(name);
    if (found == nullptr) return;
    if (!found->is_number()) return complain(name, "is no number");
    into = found->get<double>() * unit;
  }
  void truth(const std::string& name, bool& into) {
    const json* found = take(name);
    if (found == nullptr) return;
    if (!found->is_boolean()) return complain(name, "is neither true nor false");
    into = found->get<bool>();
  }
  void count(const std::string& name, Rank& into) {
    const json* found = take(name);
    if (found == nullptr) return;
    if (!found->is_number_integer() || found->get<double>() < 0 || found->get<double>() > network_ranks_max) {
      return complain(name, fmt::format("is no whole number from 0 to {}", network_ranks_max));
    }
    into = found->get<Rank>();
  }
  // Null where there is none.
  const json* take(const std::string& name) {
    known_.push_back(name);
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }
  void complain(const std::string& name, const std::string& what) {
    if (!problem_.empty()) return;
    problem_ = what;
    field_ = path_.empty() ? name : fmt::format("{}.{}", path_, name);
  }
  // Nothing where all is well; else field and problem.
  std::optional<std::pair<std::string, std::string>> problem() {
    for (const auto& [name, value] : object_.items()) {
      if (std::ranges::find(known_, name) != known_.end()) continue;
      std::string names;
      for (const std::string& known : known_) names += fmt::format(", {}", known);
      complain(name, fmt::format("is no field; there are {}", names.substr(2)));
    }
    if (problem_.empty()) return std::nullopt;
    return std::pair{field_, problem_};
  }

 private:
  const json& object_;
  std::string path_;
  std::vector<std::string> known_;
  std::string field_, problem_;
};

using Problem = std::optional<std::pair<std::string, std::string>>;

Problem read_link(const json& object, const std::string& path, LinkCost& cost) {
  if (!object.is_object()) return std::pair{path, std::string("is no object")};
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

Problem read_direct(const json& object, DirectCost& cost) {
  if (!object.is_object()) return std::pair{std::string("direct"), std::string("is no object")};
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

Problem read_slow(const json& list, std::vector<Slow>& slow) {
  if (!list.is_array()) return std::pair{std::string("slow"), std::string("is no list")};
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string path = fmt::format("slow[{}]", i);
    if (!list[i].is_object()) return std::pair{path, std::string("is no object")};
    Fields fields(list[i], path);
    Slow made;
    fields.count("rank", made.rank);
    fields.count("from", made.from);
    fields.count("to", made.to);
    fields.number("factor", made.factor, 1);
    if (Problem problem = fields.problem()) return problem;
    slow.push_back(made);
  }
  return std::nullopt;
}

Problem read_description(const json& text, NetworkDescription& into, Rank& hosts) {
  Fields fields(text, "");
  const json* kind = fields.take("topology");
  if (kind == nullptr || !kind->is_string()) return std::pair{std::string("topology"), std::string("is missing")};
  const auto known = find_by_name(all_network_kinds, kind->get<std::string>());
  if (!known) return std::pair{std::string("topology"), std::string("is none of flat, hosts, torus and fat_tree")};
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
  if (Problem problem = fields.problem()) return problem;
  if (link != nullptr) {
    if (Problem problem = read_link(*link, "link", into.link)) return problem;
  }
  if (local != nullptr) {
    if (Problem problem = read_link(*local, "local", into.local)) return problem;
  }
  if (direct != nullptr) {
    if (Problem problem = read_direct(*direct, *into.direct)) return problem;
  }
  return slow == nullptr ? std::nullopt : read_slow(*slow, into.slow);
}

// The line on which a field such as "link.latency_us" or "slow[2].factor" stands: each part is looked for after the
// one before. The last line that was found where the rest is not there.
std::size_t line_of(std::string_view text, std::string_view field) {
  std::size_t at = 0;
  while (!field.empty()) {
    const std::size_t end = std::min(field.find('.'), field.size());
    std::string_view part = field.substr(0, end);
    field.remove_prefix(std::min(end + 1, field.size()));
    std::size_t objects = 0;  // of a list, to pass
    if (const std::size_t bracket = part.find('['); bracket != std::string_view::npos) {
      objects = 1 + static_cast<std::size_t>(std::stoul(std::string(part.substr(bracket + 1))));
      part = part.substr(0, bracket);
    }
    const std::size_t found = text.find(fmt::format("\"{}\"", part), at);
    if (found == std::string_view::npos) break;
    at = found;
    for (; objects > 0; --objects) at = std::min(text.find('{', at + 1), text.size());
  }
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

Status wrong(std::string_view text, std::string_view name, std::string_view field, std::string_view what) {
  return Status(Code::invalid_argument, fmt::format("{}, line {}: {} {}", name, line_of(text, field), field, what));
}

// The file's JSON. A repeated field is a mistake, which the parser would take without a word.
Result<json> parse(std::string_view text, std::string_view name) {
  std::istringstream stream{std::string(text)};
  std::vector<std::set<std::string>> open;  // objects, with the fields that they have so far
  std::optional<Status> repeated;
  const auto watch = [&](int, json::parse_event_t event, const json& value) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event != json::parse_event_t::key || open.back().insert(value.get<std::string>()).second || repeated) {
      return true;
    }
    const std::string_view so_far = text.substr(0, static_cast<std::size_t>(stream.tellg()));
    repeated =
        Status(Code::invalid_argument, fmt::format("{}, line {}: {} stands there twice", name,
                                                   1 + std::ranges::count(so_far, '\n'), value.get<std::string>()));
    return true;
  };
  try {
    json parsed = json::parse(stream, watch);
    if (repeated) return *repeated;
    return parsed;
  } catch (const json::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 3, column 5: …"
    const std::string_view said = error.what();
    const std::size_t begin = std::min(said.find("at line"), said.size());
    return Status(Code::invalid_argument, begin == said.size()
                                              ? fmt::format("{} holds a number that is too large", name)
                                              : fmt::format("{}: no JSON {}", name, said.substr(begin)));
  }
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
  const Result<json> parsed = parse(text, name);
  if (!parsed) return parsed.status();
  if (!parsed->is_object()) return wrong(text, name, "the file", "holds no object");

  NetworkDescription description = defaults();
  description.ranks = 0;
  description.ranks_per_host = 0;
  description.rows = description.columns = 0;
  Rank hosts = 0;
  if (const Problem problem = read_description(*parsed, description, hosts)) {
    return wrong(text, name, problem->first, problem->second);
  }
  if (description.kind == NetworkKind::torus) {
    const char* missing = complete_torus(description, description.ranks == 0 ? ranks : description.ranks);
    if (missing != nullptr) return wrong(text, name, missing, "is missing");
  }
  const std::int64_t implied = implied_ranks(description, hosts);
  if (implied > network_ranks_max) {
    return Status(Code::invalid_argument,
                  fmt::format("{} describes {} ranks, but there are at most {}", name, implied, network_ranks_max));
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
      return !digits.empty() && digits.size() <= 6 && digits.find('x') == std::string::npos;
    };
    if (!is_number(hosts) || !is_number(each)) {
      return Status(Code::invalid_argument, fmt::format("--topology {} is no HOSTSxRANKS, as in 8x4", topology));
    }
    description.kind = NetworkKind::hosts;
    description.ranks_per_host = std::stoi(each);
    const std::int64_t all = std::int64_t{std::stoi(hosts)} * description.ranks_per_host;
    if (all == 0) {
      return Status(Code::invalid_argument, fmt::format("--topology {}: {} is 0, but there is at least one", topology,
                                                        description.ranks_per_host == 0 ? "RANKS" : "HOSTS"));
    }
    if (all > network_ranks_max) {
      return Status(Code::invalid_argument, fmt::format("--topology {} has {} ranks, but there are at most {}",
                                                        topology, all, network_ranks_max));
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
