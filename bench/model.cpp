#include "bench/model.hpp"

#include "src/plan/direct/cost.hpp"
#include "src/plan/simulate.hpp"
#include "src/plan/tuner.hpp"
#include "tools/plan/network_file.hpp"
#include "tools/plan/probe.hpp"

namespace hocket::bench {

Result<Model> Model::open(const std::string& file, int ranks) {
  return make(open_network(file, ranks, 0));
}

Result<Model> Model::of(const ProbeFigures& measured, int ranks) {
  return make(read_network(write_network(description_of(measured), measured.hosts, {}), "the probe", ranks));
}

Result<Model> Model::make(Result<Network> described) {
  if (!described) return described.status();
  Result<Network> tcp = over_tcp(*described);
  if (!tcp) return tcp.status();
  return Model(std::move(described).value(), std::move(tcp).value());
}

std::optional<double> Model::expected_us(const Case& what, const Measurement& measured, bool fresh) const {
  const auto collective = find_by_name(all_collectives, std::string(what.collective->name()));
  if (!collective || measured.transport == "loopback") return std::nullopt;
  if (const auto path = find_by_name(all_direct_paths, measured.algorithm)) {
    const auto expected = expect_direct(described_,
                                        {.collective = *collective,
                                         .ranks = described_.size(),
                                         .count = what.count,
                                         .element_bytes = size_of(what.dtype),
                                         .in_place = what.in_place,
                                         .registered = what.registered},
                                        path);
    return expected ? std::optional(expected->seconds * 1e6) : std::nullopt;
  }
  const Algorithm* algorithm = find_algorithm(*collective, measured.algorithm);
  if (algorithm == nullptr || algorithm->encoded) return std::nullopt;
  const bool token = info_of(*collective).chunks == Chunks::token;  // of one byte
  const auto time_of = [&](std::size_t calls) -> std::optional<double> {
    const Result<Simulation> run = simulate(measured.transport == "tcp" ? tcp_ : described_,
                                            {.algorithm = algorithm,
                                             .root = what.root,
                                             .count = token ? 1 : what.count,
                                             .element_bytes = token ? 1 : size_of(what.dtype),
                                             .slice_bytes = call_slice_bytes,
                                             .placement = what.in_place ? Placement::in_place : Placement::out_of_place,
                                             .calls = calls});
    return run ? std::optional(seconds(run->time) * 1e6) : std::nullopt;
  };
  if (fresh) return time_of(1);
  // What one more call takes: in a row, ranks that are done go on with the next while others are at work.
  constexpr std::size_t calls = 4;
  const std::optional<double> few = time_of(calls), many = time_of(2 * calls);
  return few && many ? std::optional((*many - *few) / calls) : std::nullopt;
}

}  // namespace hocket::bench
