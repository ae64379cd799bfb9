#include "bench/collectives.hpp"

#include <algorithm>
#include <cstring>

#include "bench/data.hpp"
#include "bench/lists.hpp"
#include "bench/uneven.hpp"
#include "src/comm/validate.hpp"

namespace hocket::bench {
namespace {

// name, kind, reduces, has root, has in place, send is blocks, recv is blocks
constexpr CollectiveInfo table[] = {
    {"allreduce", Kind::allreduce, true, false, true, false, false},
    {"reduce", Kind::reduce, true, true, true, false, false},
    {"reduce_scatter", Kind::reduce_scatter, true, false, true, true, false},
    {"allgather", Kind::allgather, false, false, true, false, true},
    {"broadcast", Kind::broadcast, false, true, true, false, false},
    {"scatter", Kind::scatter, false, true, true, true, false},
    {"gather", Kind::gather, false, true, true, false, true},
    {"alltoall", Kind::alltoall, false, false, true, true, true},
    {"scan", Kind::scan, true, false, true, false, false},
    {"exscan", Kind::exscan, true, false, true, false, false},
    {"sendrecv", Kind::sendrecv, false, false, false, false, false},
    {"recv_any", Kind::recv_any, false, false, false, false, false},
    {"group", Kind::group, false, false, false, true, true},
    {"barrier", Kind::barrier, false, false, false, false, false},
    {"reduce_scatter_v", Kind::reduce_scatter_v, true, false, true, true, false},
    {"allgather_v", Kind::allgather_v, false, false, true, false, true},
    {"scatter_v", Kind::scatter_v, false, true, true, true, false},
    {"gather_v", Kind::gather_v, false, true, true, false, true},
    {"alltoall_v", Kind::alltoall_v, false, false, true, true, true},
};

// Elements of a buffer that holds all blocks (`many`) or one.
std::size_t blocks(bool many, const Case& what, Place place) {
  if (!is_uneven(what.collective->kind)) return many ? what.count * static_cast<std::size_t>(place.size) : what.count;
  const std::vector<std::size_t> counts = block_counts(what, place.rank, place.size);
  return many ? total_of(counts) : block_at(counts, place.rank).count;
}

// Where this rank's block begins among all.
std::size_t own_offset(const Case& what, Place place) {
  if (!is_uneven(what.collective->kind)) return static_cast<std::size_t>(place.rank) * what.count;
  return block_at(block_counts(what, place.rank, place.size), place.rank).offset;
}

}  // namespace

std::span<const CollectiveInfo> all_benchmarks() {
  return table;
}

const CollectiveInfo* find_benchmark(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &CollectiveInfo::name);
  return found == std::end(table) ? nullptr : found;
}

bool has_meaning(const CollectiveInfo& collective, DataType dtype, ReduceOp op) {
  const bool prefix = collective.kind == Kind::scan || collective.kind == Kind::exscan;
  return is_defined(dtype, op) && is_defined(prefix ? Collective::scan : Collective::allreduce, op);
}

std::optional<Collective> collective_of(const CollectiveInfo& info) {
  const auto equal = find_by_name(all_collectives, info.name);
  return equal ? equal : find_by_name(uneven_collectives, info.name);
}

bool has_wire(const CollectiveInfo& info, DataType dtype, ReduceOp op) {
  const auto collective = collective_of(info);
  return collective && has_wire_formats(*collective, dtype, op);
}

double bus_factor(Kind kind, int ranks) {
  const double n = ranks;
  switch (kind) {
    case Kind::allreduce: return 2 * (n - 1) / n;
    case Kind::reduce_scatter:
    case Kind::allgather:
    case Kind::scatter:
    case Kind::gather:
    case Kind::alltoall:
    case Kind::group:
    case Kind::reduce_scatter_v:
    case Kind::allgather_v:
    case Kind::scatter_v:
    case Kind::gather_v:
    case Kind::alltoall_v: return (n - 1) / n;
    case Kind::reduce:
    case Kind::broadcast:
    case Kind::scan:
    case Kind::exscan:
    case Kind::sendrecv:
    case Kind::recv_any:
    case Kind::barrier: return 1;
  }
  return 1;
}

std::size_t count_for(const CollectiveInfo& collective, DataType dtype, int ranks, std::uint64_t bytes) {
  if (collective.kind == Kind::barrier) return 0;
  const bool many = collective.send_is_blocks || collective.recv_is_blocks;
  return bytes / size_of(dtype) / (many ? static_cast<std::size_t>(ranks) : 1);
}

std::size_t send_elements(const Case& what, Place place) {
  return blocks(what.collective->send_is_blocks, what, place);
}

std::size_t recv_elements(const Case& what, Place place) {
  return blocks(what.collective->recv_is_blocks, what, place);
}

std::uint64_t bytes_of(const Case& what, int ranks) {
  const Place any{0, ranks};
  return std::max(send_elements(what, any), recv_elements(what, any)) * size_of(what.dtype);
}

bool ignores_recv(const Case& what, Place place) {
  const Kind kind = what.collective->kind;
  if (kind == Kind::exscan) return place.rank == 0;
  return (kind == Kind::reduce || kind == Kind::gather || kind == Kind::gather_v) && place.rank != what.root;
}

bool ignores_send(const Case& what, Place place) {
  const Kind kind = what.collective->kind;
  return (kind == Kind::broadcast || kind == Kind::scatter || kind == Kind::scatter_v) && place.rank != what.root;
}

std::vector<Segment> input_of(const Case& what, Place place) {
  if (what.tensors > 0) return list_input(what, place);
  return {{place.rank, 0, 0, send_elements(what, place)}};
}

std::vector<Segment> expected_output(const Case& what, Place place) {
  const std::size_t count = what.count;
  const std::size_t own_block = static_cast<std::size_t>(place.rank) * count;
  if (ignores_recv(what, place)) return {};
  if (is_uneven(what.collective->kind)) return expected_uneven_output(what, place);
  if (what.tensors > 0) return expected_list_output(what, place);
  const auto from_each_rank = [&](std::size_t first) {
    std::vector<Segment> segments;
    for (int rank = 0; rank < place.size; ++rank) {
      segments.push_back({rank, first, static_cast<std::size_t>(rank) * count, count});
    }
    return segments;
  };
  switch (what.collective->kind) {
    case Kind::allreduce:
    case Kind::reduce: return {{reduction, 0, 0, count}};
    case Kind::reduce_scatter: return {{reduction, own_block, 0, count}};
    case Kind::scan: return {{prefix_to(place.rank), 0, 0, count}};
    case Kind::exscan: return {{prefix_to(place.rank - 1), 0, 0, count}};
    case Kind::broadcast: return {{what.root, 0, 0, count}};
    case Kind::scatter: return {{what.root, own_block, 0, count}};
    case Kind::allgather:
    case Kind::gather: return from_each_rank(0);
    case Kind::alltoall:
    case Kind::group: return from_each_rank(own_block);
    case Kind::sendrecv:
    case Kind::recv_any: return {{(place.rank + place.size - 1) % place.size, 0, 0, count}};
    default: return {};  // barrier
  }
  return {};
}

std::size_t in_place_send_offset(const Case& what, Place place) {
  if (what.tensors > 0) return 0;  // each tensor has an offset of its own
  const Kind kind = what.collective->kind;
  const bool to_root = kind == Kind::gather || kind == Kind::gather_v;
  const bool gathers = kind == Kind::allgather || kind == Kind::allgather_v || (to_root && place.rank == what.root);
  return gathers ? own_offset(what, place) : 0;
}

std::size_t in_place_recv_offset(const Case& what, Place place) {
  if (what.tensors > 0) return 0;
  const Kind kind = what.collective->kind;
  const bool from_root = kind == Kind::scatter || kind == Kind::scatter_v;
  const bool scatters =
      kind == Kind::reduce_scatter || kind == Kind::reduce_scatter_v || (from_root && place.rank == what.root);
  return scatters ? own_offset(what, place) : 0;
}

double tolerance(const Case& what, int ranks, double largest) {
  if (what.wire == WireFormat::exact) return 0;
  const bool bfloat16 = what.wire == WireFormat::bfloat16;
  const double once = bfloat16 ? 1.0 / 256 : 1.0 / 253, twice = bfloat16 ? 1.0 / 127 : 1.0 / 126;
  if (!what.collective->reduces) return once * largest;
  const double error = what.collective->kind == Kind::allreduce ? twice : once;
  return (error + ranks * 0x1p-22) * ranks * largest;
}

namespace {

// What a call in the group fails with is what its end fails with.
hocket_result call_group(const Case& what, Place place, hocket_comm* comm, const void* send, void* recv,
                         const hocket_call_options& options, hocket_work** work) {
  const auto dtype = static_cast<hocket_dtype>(what.dtype);
  if (const hocket_result result = hocket_group_start(); result != HOCKET_OK) return result;
  if (what.collective->kind == Kind::recv_any) {
    (void)hocket_recv_any(recv, what.count, dtype, nullptr, comm, &options, nullptr);
    (void)hocket_send(send, what.count, dtype, (place.rank + 1) % place.size, comm, &options, nullptr);
    return hocket_group_end(work);
  }
  const std::size_t block_bytes = what.count * size_of(what.dtype);
  for (int distance = 0; distance < place.size; ++distance) {
    const int to = (place.rank + distance) % place.size, from = (place.rank + place.size - distance) % place.size;
    const auto* const block = static_cast<const std::byte*>(send) + static_cast<std::size_t>(to) * block_bytes;
    auto* const room = static_cast<std::byte*>(recv) + static_cast<std::size_t>(from) * block_bytes;
    (void)hocket_send(block, what.count, dtype, to, comm, &options, nullptr);
    (void)hocket_recv(room, what.count, dtype, from, comm, &options, nullptr);
  }
  return hocket_group_end(work);
}

}  // namespace

hocket_result call(const Case& what, Place place, hocket_comm* comm, const void* send, void* recv, hocket_work** work) {
  const auto dtype = static_cast<hocket_dtype>(what.dtype);
  const auto op = static_cast<hocket_op>(what.op);
  const std::size_t count = what.count;
  const int root = what.root;
  std::uint64_t scalar[2] = {};  // one element of any type
  elements::visit(what.dtype, [&]<class T>(T) {
    const T value = elements::whole<T>(premultiplier);
    std::memcpy(scalar, &value, sizeof value);
  });
  hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
  options.scalar = scalar;
  options.wire = static_cast<hocket_wire>(what.wire);
  options.persistent = what.persistent ? 1 : 0;
  if (what.tensors > 0) return call_list(what, place, comm, send, recv, options, work);
  switch (what.collective->kind) {
    case Kind::allreduce: return hocket_allreduce(send, recv, count, dtype, op, comm, &options, work);
    case Kind::reduce: return hocket_reduce(send, recv, count, dtype, op, root, comm, &options, work);
    case Kind::reduce_scatter: return hocket_reduce_scatter(send, recv, count, dtype, op, comm, &options, work);
    case Kind::allgather: return hocket_allgather(send, recv, count, dtype, comm, &options, work);
    case Kind::broadcast: return hocket_broadcast(send, recv, count, dtype, root, comm, &options, work);
    case Kind::scatter: return hocket_scatter(send, recv, count, dtype, root, comm, &options, work);
    case Kind::gather: return hocket_gather(send, recv, count, dtype, root, comm, &options, work);
    case Kind::alltoall: return hocket_alltoall(send, recv, count, dtype, comm, &options, work);
    case Kind::scan: return hocket_scan(send, recv, count, dtype, op, comm, &options, work);
    case Kind::exscan: return hocket_exscan(send, recv, count, dtype, op, comm, &options, work);
    case Kind::sendrecv: {
      const int next = (place.rank + 1) % place.size, previous = (place.rank + place.size - 1) % place.size;
      return hocket_sendrecv(send, count, next, recv, count, previous, dtype, comm, &options, work);
    }
    case Kind::recv_any:
    case Kind::group: return call_group(what, place, comm, send, recv, options, work);
    case Kind::barrier: return hocket_barrier(comm, &options, work);
    default: return call_uneven(what, place, comm, send, recv, options, work);
  }
}

}  // namespace hocket::bench
