// The accuracy of sums: what every algorithm's results are away from those of float64, on data that makes it hard, and
// what they may be. In one process and without a transport, since only the order of sums and roundings counts.
//
//     bench-accuracy [--types float16,bfloat16] [--ranks 2,4,33] [--collective allreduce] [--deterministic]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "bench/accuracy/measurement.hpp"

namespace {

using namespace hocket;

constexpr std::size_t elements = 1000;

struct Arguments {
  std::vector<std::string> types = {"float32", "float16", "bfloat16", "float8_e4m3", "float8_e5m2"};
  std::vector<Rank> ranks = {2, 3, 4, 7, 8, 16, 33};
  std::string collective;
  bool deterministic = false;
};

// Hosts of four ranks, or of two where there are no more than four.
Topology hosts_of(Rank size) {
  std::vector<std::uint32_t> hosts;
  for (Rank rank = 0; rank < size; ++rank) hosts.push_back(static_cast<std::uint32_t>(rank / (size > 4 ? 4 : 2)));
  return Topology(hosts);
}

// The worst of all data, beside its bound, in units of the roundoff. False: something failed, or is beyond it.
bool print_cell(const accuracy::Call& call) {
  const double unit = accuracy::unit_roundoff(call.dtype);
  const auto bound = accuracy::bound(call);
  if (!bound) {
    fmt::print(stderr, "bench-accuracy: {}\n", bound.status().message());
    return false;
  }
  accuracy::Errors worst;
  for (const accuracy::Data data : accuracy::all_data) {
    const auto errors = accuracy::measure(call, data, elements);
    if (!errors) {
      fmt::print(stderr, "bench-accuracy: {}\n", errors.status().message());
      return false;
    }
    worst.mean = std::max(worst.mean, errors->mean);
    worst.largest = errors->largest <= worst.largest ? worst.largest : errors->largest;
  }
  fmt::print(" {:.2f}, {:.2f} ≤ {:.2f} |", worst.mean / unit, worst.largest / unit, *bound / unit);
  return worst.largest <= *bound;
}

bool print_table(const Arguments& given, DataType dtype) {
  fmt::print("\n{}, in units of {:.2g}: mean, largest ≤ bound\n\n| collective | algorithm |", name_of(dtype),
             accuracy::unit_roundoff(dtype));
  for (const Rank size : given.ranks) fmt::print(" {} ranks |", size);
  fmt::print("\n|---|---|");
  for (std::size_t i = 0; i < given.ranks.size(); ++i) fmt::print("--:|");
  fmt::print("\n");
  bool all_within = true;
  for (const Algorithm& algorithm : catalog()) {
    if (!algorithm.collective->reduces() || algorithm.encoded) continue;
    if (!given.collective.empty() && name_of(algorithm.collective) != given.collective) continue;
    fmt::print("| {} | `{}` |", name_of(algorithm.collective), algorithm.name);
    for (const Rank size : given.ranks) {
      const Topology hosts = algorithm.by_host ? hosts_of(size) : Topology();
      all_within = print_cell({.algorithm = &algorithm,
                               .dtype = dtype,
                               .size = size,
                               .topology = hosts,
                               .deterministic = given.deterministic}) &&
                   all_within;
    }
    fmt::print("\n");
  }
  return all_within;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments given;
  CLI::App app("Errors of sums against float64, and their bounds, for every algorithm.");
  app.add_option("--types", given.types, "float32, float16 ... (all)")->delimiter(',');
  app.add_option("--ranks", given.ranks, "numbers of ranks (2,3,4,7,8,16,33)")
      ->delimiter(',')
      ->check(CLI::Range(2, 128));
  app.add_option("--collective", given.collective, "allreduce, reduce ... (all)");
  app.add_flag("--deterministic", given.deterministic, "as in deterministic mode: every operation rounds");
  CLI11_PARSE(app, argc, argv);
  bool all_within = true;
  for (const std::string& name : given.types) {
    const auto dtype = find_by_name(all_data_types, name);
    if (!dtype || !accuracy::is_measured(*dtype)) {
      fmt::print(stderr, "bench-accuracy: '{}' is not float32 or a narrower float.\n", name);
      return 2;
    }
    all_within = print_table(given, *dtype) && all_within;
  }
  return all_within ? 0 : 1;
}
