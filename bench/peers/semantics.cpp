#include "bench/peers/semantics.hpp"

#include <algorithm>

namespace peers {

float value(int rank, std::size_t i) {
  return static_cast<float>((i % period * 7 + static_cast<std::size_t>(rank) * 131) % 127) - 63;
}

namespace {

using enum Blocks;

constexpr CollectiveRow rows[] = {
    {Collective::allreduce, "allreduce", {one}, {one}, true, 2},
    {Collective::reduce, "reduce", {one}, {one, true}, true, 0},
    {Collective::broadcast, "broadcast", {one, true}, {one}, false, 0},
    {Collective::reduce_scatter, "reduce_scatter", {one_for_each}, {one}, true, 1},
    {Collective::allgather, "allgather", {one}, {one_for_each}, false, 1},
    {Collective::gather, "gather", {one}, {one_for_each, true}, false, 1},
    {Collective::scatter, "scatter", {one_for_each, true}, {one}, false, 1},
    {Collective::alltoall, "alltoall", {one_for_each}, {one_for_each}, false, 1},
    {Collective::barrier, "barrier", {}, {}, false, 0},
};

const CollectiveRow& row_of(Collective collective) {
  return *std::ranges::find(rows, collective, &CollectiveRow::collective);
}

std::size_t elements_of(const Side& side, std::size_t count, int rank, int size) {
  if (side.blocks == none || (side.at_root_only && rank != 0)) return 0;
  return side.blocks == one ? count : count * static_cast<std::size_t>(size);
}

}  // namespace

const CollectiveRow* find_row(std::string_view name) {
  const auto* const found = std::ranges::find(rows, name, &CollectiveRow::name);
  return found == std::end(rows) ? nullptr : found;
}

Shape shape_of(Collective collective, std::size_t count, int rank, int size) {
  const CollectiveRow& row = row_of(collective);
  return {elements_of(row.input, count, rank, size), elements_of(row.output, count, rank, size)};
}

bool is_blocks(Collective collective) {
  const CollectiveRow& row = row_of(collective);
  return row.input.blocks == one_for_each || row.output.blocks == one_for_each;
}

float expected(Collective collective, std::size_t count, int rank, int size, std::size_t i) {
  const CollectiveRow& row = row_of(collective);
  const std::size_t block = i / count;
  const std::size_t before = row.input.blocks == one_for_each ? static_cast<std::size_t>(rank) * count : 0;
  if (row.output.blocks == one_for_each) return value(static_cast<int>(block), before + i % count);
  if (!row.sums) return value(0, before + i);
  float total = 0;
  for (int other = 0; other < size; ++other) total += value(other, before + i);
  return total;
}

double bus_factor(Collective collective, int size) {
  const int times = row_of(collective).travels;
  return times == 0 ? 1 : times * static_cast<double>(size - 1) / size;
}

}  // namespace peers
