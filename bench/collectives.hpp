// The collectives that can be measured: their shapes, their calls, and what they must leave in each rank's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bench/data.hpp"
#include "hocket/hocket.h"
#include "src/spi/types.hpp"

namespace hocket::bench {

enum class Kind : std::uint8_t {
  allreduce,
  reduce,
  reduce_scatter,
  allgather,
  broadcast,
  scatter,
  gather,
  alltoall,
  scan,
  exscan,
  sendrecv,  // every rank sends to the next one and receives from the one before
  recv_any,  // the same, by a receive from any rank
  group,     // every rank sends a block to every rank, itself too, by messages in one group: what alltoall does
  barrier,
  reduce_scatter_v,  // these have blocks of unequal size, see uneven.hpp
  allgather_v,
  scatter_v,
  gather_v,
  alltoall_v,
};

struct CollectiveInfo {
  std::string_view name;
  Kind kind;
  bool reduces;
  bool has_root;
  bool has_in_place;
  bool send_is_blocks;  // send holds one block of `count` elements for each rank, not `count` elements
  bool recv_is_blocks;
};

std::span<const CollectiveInfo> all_benchmarks();
const CollectiveInfo* find_benchmark(std::string_view name);  // null: none
// Whether it consists of messages between ranks, which need more than one.
constexpr bool is_message(Kind kind) {
  return kind == Kind::sendrecv || kind == Kind::recv_any;
}
// Whether it is a group of calls, which cannot be persistent.
constexpr bool is_grouped(Kind kind) {
  return kind == Kind::recv_any || kind == Kind::group;
}
// Whether the reduction has a meaning for the collective and the type.
bool has_meaning(const CollectiveInfo& collective, DataType dtype, ReduceOp op);
// What the library calls it; nothing for what is made of several calls.
std::optional<Collective> collective_of(const CollectiveInfo& info);
// Whether it can travel in lower precision.
bool has_wire(const CollectiveInfo& info, DataType dtype, ReduceOp op);

// busbw / algbw, as nccl-tests defines it.
double bus_factor(Kind kind, int ranks);

// One thing to measure.
struct Case {
  const CollectiveInfo* collective = nullptr;
  DataType dtype = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;
  std::size_t count = 0;  // the argument of the call; where blocks vary, their mean
  bool in_place = false;
  bool registered = false;  // the buffers' memory
  WireFormat wire = WireFormat::exact;
  bool persistent = false;  // planned once, started for each operation
  std::size_t tensors = 0;  // that the data is cut into, for one call on a list; 0: a call that is none
};

struct Place {
  int rank = 0;
  int size = 1;
};

// The count whose larger buffer is as near to `bytes` as possible, and not above.
std::size_t count_for(const CollectiveInfo& collective, DataType dtype, int ranks, std::uint64_t bytes);
std::size_t send_elements(const Case& what, Place place);
std::size_t recv_elements(const Case& what, Place place);
// Of the larger buffer.
std::uint64_t bytes_of(const Case& what, int ranks);

// Elements of a buffer that must equal elements of the pattern.
struct Segment {
  int source = 0;          // rank or `reduction`
  std::size_t first = 0;   // element of the source
  std::size_t offset = 0;  // element of the buffer
  std::size_t count = 0;
};
// What send holds before.
std::vector<Segment> input_of(const Case& what, Place place);
// What recv must hold afterwards. Empty where the call ignores recv.
std::vector<Segment> expected_output(const Case& what, Place place);
// Whether this rank's recv / send argument takes no part.
bool ignores_recv(const Case& what, Place place);
bool ignores_send(const Case& what, Place place);
// Where send and recv begin in a buffer that holds both, in elements from its start.
std::size_t in_place_send_offset(const Case& what, Place place);
std::size_t in_place_recv_offset(const Case& what, Place place);

// How far an element of the output may be from what it must be; inputs are at most `largest` in magnitude. The bounds
// of docs/reference/lower-precision.md.
double tolerance(const Case& what, int ranks, double largest);

// Makes the call: a blocking one where `work` is null.
hocket_result call(const Case& what, Place place, hocket_comm* comm, const void* send, void* recv, hocket_work** work);

}  // namespace hocket::bench
