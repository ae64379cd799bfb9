#include "bench/peers/semantics.hpp"

#include <algorithm>

namespace peers {

float value(int rank, std::size_t i) {
  return static_cast<float>((i % period * 7 + static_cast<std::size_t>(rank) * 131) % 127) - 63;
}

Shape shape_of(Collective collective, std::size_t count, int rank, int size) {
  const std::size_t all = count * static_cast<std::size_t>(size);
  const bool root = rank == 0;
  switch (collective) {
    case Collective::allreduce: return {count, count};
    case Collective::reduce: return {count, root ? count : 0};
    case Collective::broadcast: return {root ? count : 0, count};
    case Collective::reduce_scatter: return {all, count};
    case Collective::allgather: return {count, all};
    case Collective::gather: return {count, root ? all : 0};
    case Collective::scatter: return {root ? all : 0, count};
    case Collective::alltoall: return {all, all};
    case Collective::barrier: return {};
  }
  return {};
}

bool is_blocks(Collective collective) {
  const auto shape = shape_of(collective, 1, 0, 2);
  return std::max(shape.input, shape.output) == 2;
}

float expected(Collective collective, std::size_t count, int rank, int size, std::size_t i) {
  const auto mine = static_cast<std::size_t>(rank) * count;
  const auto sum = [size](std::size_t element) {
    float total = 0;
    for (int other = 0; other < size; ++other) total += value(other, element);
    return total;
  };
  switch (collective) {
    case Collective::allreduce:
    case Collective::reduce: return sum(i);
    case Collective::reduce_scatter: return sum(mine + i);
    case Collective::broadcast: return value(0, i);
    case Collective::scatter: return value(0, mine + i);
    case Collective::allgather:
    case Collective::gather: return value(static_cast<int>(i / count), i % count);
    case Collective::alltoall: return value(static_cast<int>(i / count), mine + i % count);
    case Collective::barrier: break;
  }
  return 0;
}

double bus_factor(Collective collective, int size) {
  const double others = static_cast<double>(size - 1) / size;
  switch (collective) {
    case Collective::allreduce: return 2 * others;
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::barrier: return 1;
    default: return others;
  }
}

}  // namespace peers
