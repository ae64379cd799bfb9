#include "bench/collectives.hpp"

#include <algorithm>

#include "bench/data.hpp"
#include "bench/lists.hpp"
#include "bench/unequal.hpp"

namespace hocket::bench {
namespace {

constexpr CollectiveInfo sendrecv{
    .collective = Collective::send, .name = "sendrecv", .input = everything, .output = everything};
constexpr CollectiveInfo recv_any{
    .collective = Collective::send, .name = "recv_any", .input = everything, .output = everything};
constexpr CollectiveInfo group{.collective = Collective::send,
                               .name = "group",
                               .chunks = Chunks::blocks,
                               .input = everything,
                               .output = everything};

std::vector<Benchmark> make_benchmarks() {
  std::vector<Benchmark> all;
  for (const Collective collective : all_collectives) {
    if (!info_of(collective).is_message()) all.push_back({collective});
  }
  all.insert(all.end(),
             {{sendrecv, CallPattern::neighbours}, {recv_any, CallPattern::any_source}, {group, CallPattern::group}});
  for (const Collective collective : unequal_collectives) all.push_back({collective});
  return all;
}

// Elements of a buffer, wherever one is.
std::size_t elements_in(const BufferShape& buffer, const Case& what, Place place) {
  const CollectiveInfo& collective = *what.collective->row;
  const bool many = !collective.is_vector() && buffer.held == Held::all_chunks;
  if (!collective.has_unequal_blocks()) return many ? what.count * static_cast<std::size_t>(place.size) : what.count;
  const std::vector<std::size_t> counts = block_counts(what, place.rank, place.size);
  return many ? total_of(counts) : block_at(counts, place.rank).count;
}

// Where this rank's block begins among all.
std::size_t own_offset(const Case& what, Place place) {
  if (!what.collective->row->has_unequal_blocks()) return static_cast<std::size_t>(place.rank) * what.count;
  return block_at(block_counts(what, place.rank, place.size), place.rank).offset;
}

}  // namespace

std::span<const Benchmark> all_benchmarks() {
  static const std::vector<Benchmark> all = make_benchmarks();
  return all;
}

const Benchmark* find_benchmark(std::string_view name) {
  const auto found = std::ranges::find(all_benchmarks(), name, &Benchmark::name);
  return found == all_benchmarks().end() ? nullptr : &*found;
}

bool has_meaning(const Benchmark& benchmark, DataType dtype, ReduceOp op) {
  return is_defined(dtype, op) && is_defined(benchmark.row, op);
}

std::optional<Collective> collective_of(const Benchmark& benchmark) {
  return benchmark.pattern == CallPattern::one_call ? std::optional<Collective>(benchmark.row) : std::nullopt;
}

bool has_wire(const Benchmark& benchmark, DataType dtype, ReduceOp op) {
  return has_wire_formats(benchmark.row, dtype, op);
}

double bus_factor(const CollectiveInfo& collective, int ranks) {
  const double n = ranks;
  if (!collective.is_vector()) return (n - 1) / n;
  const bool to_everyone = collective.output == everything;
  return collective.combines == Combines::all_ranks && to_everyone ? 2 * (n - 1) / n : 1;
}

std::size_t count_for(const Benchmark& benchmark, DataType dtype, int ranks, std::uint64_t bytes) {
  if (!benchmark.has_data()) return 0;
  return bytes / size_of(dtype) / (benchmark.row->is_vector() ? 1 : static_cast<std::size_t>(ranks));
}

std::size_t send_elements(const Case& what, Place place) {
  return elements_in(what.collective->row->input, what, place);
}

std::size_t recv_elements(const Case& what, Place place) {
  return elements_in(what.collective->row->output, what, place);
}

std::uint64_t bytes_of(const Case& what, int ranks) {
  const Place any{0, ranks};
  return std::max(send_elements(what, any), recv_elements(what, any)) * size_of(what.dtype);
}

bool ignores_recv(const Case& what, Place place) {
  return !what.collective->row->output.is_on(place.rank, what.root);
}

bool ignores_send(const Case& what, Place place) {
  return !what.collective->row->input.is_on(place.rank, what.root);
}

std::uint64_t touched_bytes(const Case& what, int ranks) {
  std::uint64_t elements = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const Place place{rank, ranks};
    if (!ignores_send(what, place)) elements += send_elements(what, place);
    if (!ignores_recv(what, place)) elements += recv_elements(what, place);
  }
  return elements * size_of(what.dtype);
}

std::vector<Segment> input_of(const Case& what, Place place) {
  if (what.tensors > 0) return list_input(what, place);
  return {{place.rank, 0, 0, send_elements(what, place)}};
}

int source_of(const Case& what, Place place) {
  const CollectiveInfo& collective = *what.collective->row;
  switch (collective.combines) {
    case Combines::all_ranks: return reduction;
    case Combines::ranks_up_to_own: return prefix_to(place.rank);
    case Combines::ranks_before_own: return prefix_to(place.rank - 1);
    case Combines::nothing: break;
  }
  return what.collective->is_message() ? (place.rank + place.size - 1) % place.size : what.root;
}

std::vector<Segment> expected_output(const Case& what, Place place) {
  const CollectiveInfo& collective = *what.collective->row;
  const std::size_t count = what.count;
  if (ignores_recv(what, place)) return {};
  if (collective.has_unequal_blocks()) return expected_unequal_output(what, place);
  if (what.tensors > 0) return expected_list_output(what, place);
  if (collective.is_vector()) return {{source_of(what, place), 0, 0, count}};
  const std::size_t own_block = static_cast<std::size_t>(place.rank) * count;
  if (collective.output.held == Held::own_chunk) return {{source_of(what, place), own_block, 0, count}};
  std::vector<Segment> segments;
  for (int rank = 0; rank < place.size; ++rank) {
    const std::size_t first = collective.transposes() ? own_block : 0;
    segments.push_back({rank, first, static_cast<std::size_t>(rank) * count, count});
  }
  return segments;
}

std::size_t in_place_send_offset(const Case& what, Place place) {
  if (what.tensors > 0) return 0;  // each tensor has an offset of its own
  const bool gathers = what.collective->row->input.held == Held::own_chunk && !ignores_recv(what, place);
  return gathers ? own_offset(what, place) : 0;
}

std::size_t in_place_recv_offset(const Case& what, Place place) {
  if (what.tensors > 0) return 0;
  const bool scatters = what.collective->row->output.held == Held::own_chunk && !ignores_send(what, place);
  return scatters ? own_offset(what, place) : 0;
}

double tolerance(const Case& what, int ranks, double largest) {
  if (what.wire == WireFormat::exact) return 0;
  const WireFormatInfo& wire = info_of(what.wire);
  if (!what.collective->row->reduces()) return wire.rounded_once * largest;
  const double error = what.collective->row->is_vector() ? wire.rounded_twice : wire.rounded_once;
  return (error + ranks * 0x1p-22) * ranks * largest;
}

}  // namespace hocket::bench
