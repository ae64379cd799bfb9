// The collectives that can be measured: their shapes, their calls, and what they must leave in each rank's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "bench/data.hpp"
#include "src/spi/types.hpp"

namespace hocket::bench {

// How a benchmark calls what it measures.
enum class CallPattern : std::uint8_t {
  one_call,    // the collective
  neighbours,  // every rank sends to the next one and receives from the one before
  any_source,  // the same, by a receive from any rank
  group,       // every rank sends a block to every rank, itself too, by messages in one group: what alltoall does
};

struct Benchmark {
  CollectiveRef row;  // for messages, one that says what they amount to
  CallPattern pattern = CallPattern::one_call;

  std::string_view name() const { return row->name; }
  bool has_data() const { return row->chunks != Chunks::token; }
  bool has_in_place() const {
    return pattern == CallPattern::one_call && row->input.held != Held::nothing && row->output.held != Held::nothing;
  }
  // Whether it consists of messages between ranks, which need more than one.
  bool is_message() const { return pattern == CallPattern::neighbours || pattern == CallPattern::any_source; }
  // Whether some ranks of a collective may not need to wait for all others. Blocks that vary may be empty.
  bool may_run_ahead() const { return row->runs_ahead() || row->has_unequal_blocks(); }
  // Whether operations may come in bursts, as ranks that run ahead make them.
  bool comes_in_bursts() const { return may_run_ahead() || is_message(); }
  // Whether it is a group of calls, which cannot be persistent.
  bool is_grouped() const { return pattern == CallPattern::any_source || pattern == CallPattern::group; }
};

std::span<const Benchmark> all_benchmarks();
const Benchmark* find_benchmark(std::string_view name);  // null: none
// Whether the reduction has a meaning for the collective and the type.
bool has_meaning(const Benchmark& benchmark, DataType dtype, ReduceOp op);
// What the library calls it; nothing for what is made of several calls.
std::optional<Collective> collective_of(const Benchmark& benchmark);
// Whether it can travel in lower precision.
bool has_wire(const Benchmark& benchmark, DataType dtype, ReduceOp op);

// busbw / algbw, as nccl-tests defines it.
double bus_factor(const CollectiveInfo& collective, int ranks);

// One thing to measure.
struct Case {
  const Benchmark* collective = nullptr;
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
std::size_t count_for(const Benchmark& benchmark, DataType dtype, int ranks, std::uint64_t bytes);
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

// Bytes that all ranks together read and write at least: each one's input once, and its output once.
std::uint64_t touched_bytes(const Case& what, int ranks);

}  // namespace hocket::bench
