#include "src/plan/simulate.hpp"

#include <fmt/format.h>

#include <numeric>

#include "src/base/arithmetic.hpp"
#include "src/plan/layout.hpp"
#include "src/plan/shared_programs.hpp"
#include "src/plan/simulation_run.hpp"
#include "src/plan/symmetry.hpp"

namespace hocket {
namespace {

constexpr std::size_t messages_max = 600'000'000;  // take several minutes

Status too_many_messages(const SimulatedCall& call, const ProgramsWanted& wanted, std::size_t runs,
                         std::uint32_t chunks) {
  std::string advice = "take larger slices (hocket-plan: --slice-bytes, 0 for one), fewer bytes or fewer ranks";
  if (wanted.chunks_differ) {
    const std::size_t unit = chunks * call.element_bytes;
    advice = fmt::format(
        "chunks of one size would make ranks alike, so that one stood for many: take a multiple of {} "
        "bytes, as {}",
        unit, round_up(call.count * call.element_bytes, unit));
  }
  return Status(
      Code::out_of_resources,
      fmt::format("{} {} on {} ranks sends more than {} million messages in {} slices; {}", wanted.algorithm->name,
                  name_of(wanted.algorithm->collective), wanted.size, messages_max / 1'000'000, runs, advice));
}

}  // namespace

Result<Simulation> simulate(const Network& network, const SimulatedCall& call) {
  const Algorithm& algorithm = *call.algorithm;
  if (algorithm.collective->is_message()) {
    return Status(Code::invalid_argument, fmt::format("{} is between two ranks; only collectives can be simulated",
                                                      name_of(algorithm.collective)));
  }
  if (algorithm.encoded != (call.wire != WireFormat::exact)) {
    return Status(Code::invalid_argument, fmt::format("{} {} and this wire format do not go together", algorithm.name,
                                                      name_of(algorithm.collective)));
  }
  const Shape shape{.collective = algorithm.collective,
                    .size = network.size(),
                    .root = call.root,
                    .chunks = chunks_of(algorithm, network.size(), network.topology())};
  const Layout layout(shape, call.count, call.element_bytes, algorithm.multi_block ? 0 : call.slice_bytes, call.wire);
  if (layout.slices() == 0) {
    Simulation nothing;
    nothing.ranks = nothing.period = network.size();
    return nothing;
  }
  const auto size_of_chunk = [&](std::uint32_t chunk, std::size_t slice) {
    return layout.extent({.chunk = chunk}, slice).bytes;
  };
  const std::size_t last_slice = layout.slices() - 1;
  ProgramsWanted wanted{.algorithm = &algorithm,
                        .size = network.size(),
                        .root = call.root,
                        .topology = network.topology(),
                        .placement = call.placement,
                        .interleave = slices_in_group(layout.slices()),
                        .chunks_differ = size_of_chunk(0, 0) != size_of_chunk(shape.chunks - 1, 0) ||
                                         size_of_chunk(0, last_slice) != size_of_chunk(shape.chunks - 1, last_slice)};
  // What the schedules repeat is written first, since it tells how many messages there are; then what is simulated.
  wanted.ranks = period_of(algorithm, network.size(), network.topology());
  const bool whole = wanted.chunks_differ || call.every_rank;
  const Rank period = whole ? network.size() : std::lcm(wanted.ranks, network.period());
  Result<std::vector<RankProgram>> programs = write_programs(wanted);
  if (!programs) return programs.status();
  const std::size_t runs = layout.slices() * call.calls;  // of a program, side by side or one after the other
  const std::size_t messages =
      messages_of(*programs) / wanted.interleave * static_cast<std::size_t>(period / wanted.ranks);
  if (messages > messages_max / runs) return too_many_messages(call, wanted, runs, shape.chunks);
  if (wanted.ranks != period) {
    wanted.ranks = period;
    programs = write_programs(wanted);
    if (!programs) return programs.status();
  }
  SimulationRun run(network, call, layout, wanted.interleave, period);
  if (Status status = run.prepare(std::move(*programs)); !status) return status;
  return run.run();
}

}  // namespace hocket
