#include "bench/lists.hpp"

namespace hocket::bench {
namespace {

// One tensor, in elements.
struct Tensor {
  std::size_t begin = 0;  // in a list of one rank's blocks
  std::size_t count = 0;
  std::size_t send = 0, recv = 0;  // where its buffers begin in those of the case
};

void for_each_tensor(const Case& what, Place place, const auto& visit) {
  const CollectiveInfo& collective = *what.collective->row;
  const bool scatters = collective.output.held == Held::own_chunk, gathers = collective.input.held == Held::own_chunk;
  std::size_t begin = 0;
  for (std::size_t index = 0; index < what.tensors; ++index) {
    const std::size_t count = what.count / what.tensors + (index < what.count % what.tensors ? 1 : 0);
    const std::size_t all_blocks = begin * static_cast<std::size_t>(place.size);
    const std::size_t own_block = what.in_place ? all_blocks + static_cast<std::size_t>(place.rank) * count : begin;
    Tensor tensor{begin, count, begin, begin};
    if (scatters || gathers) {
      tensor.send = scatters ? all_blocks : own_block;
      tensor.recv = gathers ? all_blocks : own_block;
    }
    visit(tensor);
    begin += count;
  }
}

}  // namespace

bool has_list(const Benchmark& benchmark) {
  const Collective collective = benchmark.row;
  return benchmark.pattern == CallPattern::one_call &&
         (collective == Collective::allreduce || collective == Collective::reduce ||
          collective == Collective::reduce_scatter || collective == Collective::allgather ||
          collective == Collective::broadcast);
}

std::vector<Segment> list_input(const Case& what, Place place) {
  std::vector<Segment> segments;
  const std::size_t blocks =
      what.collective->row->output.held == Held::own_chunk ? static_cast<std::size_t>(place.size) : 1;
  for_each_tensor(what, place, [&](const Tensor& tensor) {
    segments.push_back({place.rank, tensor.begin * blocks, tensor.send, tensor.count * blocks});
  });
  return segments;
}

std::vector<Segment> expected_list_output(const Case& what, Place place) {
  const auto size = static_cast<std::size_t>(place.size), rank = static_cast<std::size_t>(place.rank);
  const CollectiveInfo& collective = *what.collective->row;
  std::vector<Segment> segments;
  for_each_tensor(what, place, [&](const Tensor& tensor) {
    if (collective.input.held == Held::own_chunk) {
      for (std::size_t of = 0; of < size; ++of) {
        segments.push_back({static_cast<int>(of), tensor.begin, tensor.recv + of * tensor.count, tensor.count});
      }
      return;
    }
    const bool own_block = collective.output.held == Held::own_chunk;
    const std::size_t first = own_block ? tensor.begin * size + rank * tensor.count : tensor.begin;
    segments.push_back({collective.reduces() ? reduction : what.root, first, tensor.recv, tensor.count});
  });
  return segments;
}

std::vector<hocket_tensor> tensors_of(const Case& what, Place place, const void* send, void* recv) {
  const std::size_t element_bytes = size_of(what.dtype);
  const auto* const from = static_cast<const std::byte*>(send);
  auto* const to = static_cast<std::byte*>(recv);
  std::vector<hocket_tensor> list;
  list.reserve(what.tensors);
  for_each_tensor(what, place, [&](const Tensor& tensor) {
    list.push_back({from == nullptr ? nullptr : from + tensor.send * element_bytes,
                    to == nullptr ? nullptr : to + tensor.recv * element_bytes, tensor.count,
                    static_cast<hocket_dtype>(what.dtype)});
  });
  return list;
}

}  // namespace hocket::bench
