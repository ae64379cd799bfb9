#include "bench/unequal.hpp"

#include <numeric>

namespace hocket::bench {

std::vector<std::size_t> block_counts(const Case& what, int rank, int ranks) {
  const auto all = static_cast<std::size_t>(ranks);
  const std::size_t first = what.collective->row->transposes() ? static_cast<std::size_t>(rank) : 0;
  std::vector<std::size_t> counts(all);
  for (std::size_t block = 0; block < all; ++block) {
    counts[block] = 2 * what.count * ((first + block) % all + 1) / (all + 1);
  }
  return counts;
}

std::size_t total_of(const std::vector<std::size_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
}

Block block_at(const std::vector<std::size_t>& counts, int index) {
  return {std::accumulate(counts.begin(), counts.begin() + index, std::size_t{0}),
          counts[static_cast<std::size_t>(index)]};
}

std::vector<Segment> expected_unequal_output(const Case& what, Place place) {
  const std::vector<std::size_t> counts = block_counts(what, place.rank, place.size);
  const Block own = block_at(counts, place.rank);
  const CollectiveInfo& collective = *what.collective->row;
  if (collective.output.held == Held::own_chunk) {
    return {{collective.reduces() ? reduction : what.root, own.offset, 0, own.count}};
  }
  std::vector<Segment> segments;
  for (int rank = 0; rank < place.size; ++rank) {
    const Block here = block_at(counts, rank);
    const std::size_t first =
        collective.transposes() ? block_at(block_counts(what, rank, place.size), place.rank).offset : 0;
    segments.push_back({rank, first, here.offset, here.count});
  }
  return segments;
}

hocket_result call_unequal(const Case& what, Place place, hocket_comm* comm, const void* send, void* recv,
                           const hocket_call_options& options, hocket_work** work) {
  const std::vector<std::size_t> blocks = block_counts(what, place.rank, place.size);
  const std::size_t own = blocks[static_cast<std::size_t>(place.rank)];
  const std::size_t* const counts = blocks.data();
  const auto dtype = static_cast<hocket_dtype>(what.dtype);
  const auto op = static_cast<hocket_op>(what.op);
  const int root = what.root;
  const Collective collective = what.collective->row;
  if (collective == Collective::reduce_scatter_v) {
    return hocket_reduce_scatter_v(send, recv, counts, dtype, op, comm, &options, work);
  }
  if (collective == Collective::allgather_v) {
    return hocket_allgather_v(send, own, recv, counts, nullptr, dtype, comm, &options, work);
  }
  if (collective == Collective::scatter_v) {
    return hocket_scatter_v(send, counts, nullptr, recv, own, dtype, root, comm, &options, work);
  }
  if (collective == Collective::gather_v) {
    return hocket_gather_v(send, own, recv, counts, nullptr, dtype, root, comm, &options, work);
  }
  return hocket_alltoall_v(send, counts, nullptr, recv, counts, nullptr, dtype, comm, &options, work);
}

}  // namespace hocket::bench
