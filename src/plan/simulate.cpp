#include "src/plan/simulate.hpp"

#include <fmt/format.h>

#include "src/plan/layout.hpp"
#include "src/plan/shared_programs.hpp"
#include "src/plan/simulation_run.hpp"

namespace hocket {

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
  if (layout.slices() == 0) return Simulation{};
  const auto size_of_chunk = [&](std::uint32_t chunk, std::size_t slice) {
    return layout.extent({.chunk = chunk}, slice).bytes;
  };
  const std::size_t last_slice = layout.slices() - 1;
  const std::uint32_t interleave = slices_in_group(layout.slices());
  Result<std::vector<RankProgram>> programs =
      write_programs({.algorithm = &algorithm,
                      .size = network.size(),
                      .root = call.root,
                      .topology = network.topology(),
                      .placement = call.placement,
                      .interleave = interleave,
                      .chunks_differ = size_of_chunk(0, 0) != size_of_chunk(shape.chunks - 1, 0) ||
                                       size_of_chunk(0, last_slice) != size_of_chunk(shape.chunks - 1, last_slice)});
  if (!programs) return programs.status();
  SimulationRun run(network, call, layout, interleave);
  if (Status status = run.prepare(std::move(*programs)); !status) return status;
  return run.run();
}

}  // namespace hocket
