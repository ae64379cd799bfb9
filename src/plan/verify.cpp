#include "src/plan/verify.hpp"

#include <fmt/format.h>

#include <set>

#include "src/plan/semantics.hpp"
#include "src/plan/symbolic_run.hpp"
#include "src/plan/text.hpp"
#include "src/plan/wide_sums.hpp"

namespace hocket {
namespace {

Status failure(std::string message) {
  return Status(Code::internal, std::move(message));
}

Status check_shape(const Shape& shape, Rank rank, Rank size, std::uint32_t chunks) {
  if (shape.rank == rank && shape.size == size && shape.chunks == chunks) return {};
  return failure(
      fmt::format("the schedule of rank {} is written for rank {} of {} with {} chunks, expected {} of {} with {}",
                  rank, shape.rank, shape.size, shape.chunks, rank, size, chunks));
}

Status check_output(SymbolicRun& run, const Shape& shape, std::uint32_t chunk, Expressions::Id held,
                    const Wanted& wanted, bool in_rank_order) {
  const Rank rank = shape.rank;
  Expressions& expressions = run.expressions();
  const auto wrong = [&](const std::string& expected) {
    return failure(fmt::format("rank {} ends with {} in output chunk {}, expected {}", rank,
                               held == SymbolicRun::nothing ? "nothing" : expressions.describe(held), chunk, expected));
  };
  if (wanted.rank != no_rank) {
    Expressions::Id expected = expressions.contribution(wanted.rank, wanted.chunk);
    if (run.counted().encoded_cells_max > 0) expected = expressions.round(expected);  // once, on the way to all alike
    return held == expected ? Status() : wrong(expressions.describe(expected));
  }
  const bool all = wanted.last == run.size() - 1;
  const std::string expected = all ? fmt::format("chunk {} of all ranks", wanted.chunk)
                                   : fmt::format("chunk {} of ranks 0 to {}", wanted.chunk, wanted.last);
  if (held == SymbolicRun::nothing || expressions.chunk(held) != wanted.chunk) return wrong(expected);
  for (Rank contributor = 0; contributor < run.size(); ++contributor) {
    const bool contributes = expressions.has(held, contributor);
    if (contributes == (contributor <= wanted.last)) continue;
    return wrong(fmt::format("{} (rank {} is {})", expected, contributor, contributes ? "too many" : "missing"));
  }
  if (in_rank_order && held != expressions.left_fold(wanted.chunk, wanted.last + 1)) {
    return failure(fmt::format("rank {} does not sum chunk {} from left to right in rank order", rank, wanted.chunk));
  }
  return {};
}

Status check_outputs(SymbolicRun& run, const std::vector<Shape>& shapes, const VerifyOptions& options) {
  struct First {
    Rank rank = no_rank;
    Expressions::Id held = SymbolicRun::nothing;
  };
  std::vector<First> first(shapes.front().chunks);  // which rank was first seen to hold the sum of a chunk
  for (const Shape& shape : shapes) {
    for (std::uint32_t chunk = 0; chunk < shape.chunks; ++chunk) {
      const std::optional<Wanted> wanted = wanted_output(shape, chunk);
      if (!wanted || run.is_empty(chunk)) continue;
      for (std::uint32_t piece = 0; piece < options.interleave; ++piece) {
        const Expressions::Id held = run.output(shape.rank, chunk, piece);
        const Status status = check_output(run, shape, chunk, held, *wanted, options.in_rank_order);
        if (!status) return status;
        run.count_roundings(held);
        if (wanted->rank != no_rank || shape.collective->is_prefix()) continue;
        if (first[chunk].rank == no_rank) first[chunk] = {shape.rank, held};
        if (first[chunk].held != held) {
          return failure(
              fmt::format("ranks {} and {} sum chunk {} in different orders, or round it differently, so their "
                          "results may differ",
                          first[chunk].rank, shape.rank, chunk));
        }
      }
    }
  }
  return {};
}

Status check_barrier(SymbolicRun& run, Rank size) {
  for (Rank rank = 0; rank < size; ++rank) {
    if (const auto missing = run.expressions().first_missing(run.heard(rank))) {
      return failure(fmt::format("rank {} leaves the barrier without having heard of rank {}", rank, *missing));
    }
  }
  return {};
}

Status check_multi_block(const Algorithm& algorithm, const Schedule& schedule) {
  if (algorithm.multi_block || algorithm.collective->is_vector()) return {};
  for (const Step& step : schedule.steps) {
    for (const Range& range : {step.left, step.right, step.to}) {
      if (range.count <= 1) continue;
      return failure(fmt::format("rank {} moves {} at once, so the algorithm's catalog entry must say `multi_block`",
                                 schedule.shape.rank, describe(range)));
    }
  }
  return {};
}

// Send and recv: the peer runs the other half, and further ranks do nothing.
Schedule half_of(const Algorithm& algorithm, Rank rank, Rank size, Rank root) {
  const Rank active = (root + 1) % size;
  if (rank == active) return algorithm.write(rank, size, root);
  const bool sends = algorithm.collective == Collective::send;
  const Algorithm* other = find_algorithm(sends ? Collective::recv : Collective::send, algorithm.name);
  if (rank == root && other != nullptr) return other->write(rank, size, active);
  Schedule idle;
  idle.shape = {.collective = Collective::send, .rank = rank, .size = size, .root = root, .chunks = 1};
  return idle;
}

}  // namespace

Result<Verified> verify(CollectiveRef collective, Rank size, Rank root,
                        const std::function<Schedule(Rank rank)>& schedule_of, const VerifyOptions& options) {
  SymbolicRun run(collective, size, options);
  std::vector<Shape> shapes;
  const auto check = [&]() -> Status {
    for (Rank rank = 0; rank < size; ++rank) {
      Schedule schedule = schedule_of(rank);
      if (options.rounding == Rounding::wide_sums) schedule = with_wide_sums(std::move(schedule));
      shapes.push_back(schedule.shape);
      if (Status status = check_shape(schedule.shape, rank, size, shapes.front().chunks); !status) return status;
      if (Status status = check_form(schedule); !status) return status;
      run.add(schedule);
    }
    if (Status status = run.run(); !status) return status;
    if (collective->chunks == Chunks::token) return check_barrier(run, size);
    return check_outputs(run, shapes, options);
  };
  const Status status = check();
  if (status) return run.counted();
  return failure(
      fmt::format("{} on {} ranks{}{}, {}: {}", name_of(collective), size,
                  options.topology.hosts() == 1 ? "" : fmt::format(" on hosts {}", describe(options.topology, size)),
                  collective->takes_root() ? fmt::format(", root {}", root) : "",
                  options.placement == Placement::in_place ? "in place" : "out of place", status.message()));
}

Result<Verified> verify(const Algorithm& algorithm, Rank size, Rank root, const VerifyOptions& options) {
  const bool point_to_point = algorithm.collective->is_message();
  // One rank has nobody to speak with.
  if (point_to_point && size == 1) return Verified{};
  VerifyOptions chosen = options;
  chosen.in_rank_order = (options.in_rank_order || algorithm.in_rank_order) && options.rounding == Rounding::none;
  Status whole;
  Result<Verified> result = verify(
      algorithm.collective, size, root,
      [&](Rank rank) {
        Schedule schedule =
            point_to_point ? half_of(algorithm, rank, size, root) : algorithm.write(rank, size, root, options.topology);
        if (whole) whole = check_multi_block(algorithm, schedule);
        return schedule;
      },
      chosen);
  const Status status = result ? whole : result.status();
  if (status) return result;
  return failure(fmt::format("{} {}", algorithm.name, status.message()));
}

std::vector<VerifyCase> verify_cases(const Algorithm& algorithm, Rank size) {
  const bool thorough = size <= 17;
  std::vector<Rank> roots{0};
  if (algorithm.collective->takes_root()) {
    for (Rank root = 1; root < size; ++root) {
      if (thorough || root == 1 || root == size - 1) roots.push_back(root);
    }
  }
  std::vector<VerifyOptions> options;
  for (const Topology& topology : algorithm.by_host ? verify_topologies(size) : std::vector<Topology>{{}}) {
    const std::uint32_t chunks = chunks_of(algorithm, size, topology);
    for (const Placement placement : {Placement::out_of_place, Placement::in_place}) {
      if (placement == Placement::in_place && !algorithm.collective->runs_in_place()) continue;
      options.push_back({.placement = placement, .topology = topology});
      if (!thorough) continue;
      options.push_back({.placement = placement, .interleave = 2, .topology = topology});
      for (const std::uint32_t empty_from : std::set<std::uint32_t>{0, 1, chunks - 1}) {
        options.push_back({.placement = placement, .interleave = 1, .empty_from = empty_from, .topology = topology});
      }
    }
  }
  std::vector<VerifyCase> cases;
  for (const Rank root : roots) {
    for (const VerifyOptions& chosen : options) cases.push_back({root, chosen});
  }
  return cases;
}

std::vector<Topology> verify_topologies(Rank size) {
  using Ranks = std::uint32_t;
  std::vector<Topology> topologies;
  const auto add = [&](auto host_of) {
    std::vector<std::uint32_t> hosts;
    for (Ranks rank = 0; rank < static_cast<Ranks>(size); ++rank) hosts.push_back(host_of(rank));
    const Topology made(hosts);
    if (std::ranges::find(topologies, made) == topologies.end()) topologies.push_back(made);
  };
  const auto ranks = static_cast<Ranks>(size);
  for (Ranks hosts = 1; hosts <= std::min<Ranks>(ranks, 5); ++hosts) {
    if (size > 33 && hosts != 1 && hosts != 3) continue;
    add([&](Ranks rank) { return rank * hosts / ranks; });                         // 0 0 0 1 1 1
    add([&](Ranks rank) { return rank % hosts; });                                 // 0 1 0 1 0 1
    add([&](Ranks rank) { return rank < hosts ? rank : 0; });                      // 0 1 0 0 0 0
    add([&](Ranks rank) { return rank % 4 < 3 ? hosts - 1 : rank % hosts; });      // 1 1 1 0 1 1
    add([&](Ranks rank) { return std::min(hosts - 1, (ranks - 1 - rank) / 2); });  // 1 1 1 1 0 0
  }
  return topologies;
}

}  // namespace hocket
