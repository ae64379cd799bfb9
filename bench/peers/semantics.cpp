#include "bench/peers/semantics.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace peers {

float value(int rank, std::size_t i) {
  return static_cast<float>((i % period * 7 + static_cast<std::size_t>(rank) * 131) % 127) - 63;
}

namespace {

using enum Blocks;

constexpr CollectiveRow rows[] = {
    {Collective::allreduce, "allreduce", {one}, {one}, From::all, 2},
    {Collective::reduce, "reduce", {one}, {one, true}, From::all, 0},
    {Collective::broadcast, "broadcast", {one, true}, {one}, From::root, 0},
    {Collective::reduce_scatter, "reduce_scatter", {one_for_each}, {one}, From::all, 1},
    {Collective::allgather, "allgather", {one}, {one_for_each}, From::all, 1},
    {Collective::gather, "gather", {one}, {one_for_each, true}, From::all, 1},
    {Collective::scatter, "scatter", {one_for_each, true}, {one}, From::root, 1},
    {Collective::alltoall, "alltoall", {one_for_each}, {one_for_each}, From::all, 1},
    {Collective::barrier, "barrier", {}, {}, From::all, 0},
    {Collective::scan, "scan", {one}, {one}, From::all_up_to_own, 0},
    {Collective::exscan, "exscan", {one}, {one}, From::all_before_own, 0},
    {Collective::sendrecv, "sendrecv", {one}, {one}, From::previous, 0},
    {Collective::reduce_scatter_v, "reduce_scatter_v", {one_for_each}, {one}, From::all, 1, true},
    {Collective::allgather_v, "allgather_v", {one}, {one_for_each}, From::all, 1, true},
    {Collective::gather_v, "gather_v", {one}, {one_for_each, true}, From::all, 1, true},
    {Collective::scatter_v, "scatter_v", {one_for_each, true}, {one}, From::root, 1, true},
    {Collective::alltoall_v, "alltoall_v", {one_for_each}, {one_for_each}, From::all, 1, true},
};

const CollectiveRow& row_of(Collective collective) {
  return *std::ranges::find(rows, collective, &CollectiveRow::collective);
}

bool sends_blocks(const CollectiveRow& row) {
  return row.input.blocks == one_for_each;
}

bool transposes(const CollectiveRow& row) {
  return sends_blocks(row) && row.output.blocks == one_for_each;
}

std::size_t total(const std::vector<std::size_t>& counts, int blocks) {
  return std::accumulate(counts.begin(), counts.begin() + blocks, std::size_t{0});
}

// Ranks whose inputs are summed.
std::pair<int, int> sources_of(From from, int rank, int size) {
  switch (from) {
    case From::root: return {0, 1};
    case From::previous: return {(rank + size - 1) % size, (rank + size - 1) % size + 1};
    case From::all: break;
    case From::all_up_to_own: return {0, rank + 1};
    case From::all_before_own: return {0, rank};
  }
  return {0, size};
}

}  // namespace

const CollectiveRow* find_row(std::string_view name) {
  const auto* const found = std::ranges::find(rows, name, &CollectiveRow::name);
  return found == std::end(rows) ? nullptr : found;
}

std::vector<std::size_t> block_counts(Collective collective, std::size_t count, int rank, int size) {
  const CollectiveRow& row = row_of(collective);
  const auto all = static_cast<std::size_t>(size);
  std::vector<std::size_t> counts(all, count);
  const std::size_t first = transposes(row) ? static_cast<std::size_t>(rank) : 0;
  for (std::size_t block = 0; row.varies && block < all; ++block) {
    counts[block] = 2 * count * ((first + block) % all + 1) / (all + 1);
  }
  return counts;
}

Shape shape_of(Collective collective, std::size_t count, int rank, int size) {
  const CollectiveRow& row = row_of(collective);
  const std::vector<std::size_t> counts = block_counts(collective, count, rank, size);
  const std::size_t own = is_blocks(collective) ? counts[static_cast<std::size_t>(rank)] : count;
  const auto elements_of = [&](const Side& side) -> std::size_t {
    if (side.blocks == none || (side.at_root_only && rank != 0)) return 0;
    return side.blocks == one ? own : total(counts, size);
  };
  return {elements_of(row.input), elements_of(row.output)};
}

bool is_blocks(Collective collective) {
  const CollectiveRow& row = row_of(collective);
  return sends_blocks(row) || row.output.blocks == one_for_each;
}

std::vector<Segment> expected_output(Collective collective, std::size_t count, int rank, int size) {
  const CollectiveRow& row = row_of(collective);
  const std::size_t elements = shape_of(collective, count, rank, size).output;
  if (elements == 0) return {};
  if (row.output.blocks != one_for_each) {
    const auto [from, to] = sources_of(row.from, rank, size);
    const std::size_t first = sends_blocks(row) ? total(block_counts(collective, count, rank, size), rank) : 0;
    return {{from, to, first, elements}};
  }
  const std::vector<std::size_t> counts = block_counts(collective, count, rank, size);
  std::vector<Segment> segments;
  for (int other = 0; other < size; ++other) {
    const std::size_t first = transposes(row) ? total(block_counts(collective, count, other, size), rank) : 0;
    segments.push_back({other, other + 1, first, counts[static_cast<std::size_t>(other)]});
  }
  return segments;
}

double bus_factor(Collective collective, int size) {
  const int times = row_of(collective).travels;
  return times == 0 ? 1 : times * static_cast<double>(size - 1) / size;
}

}  // namespace peers
