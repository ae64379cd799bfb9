// Schedules: what an algorithm is. An algorithm is a pure function that writes, for one rank, the steps of one
// collective on one slice of the data, in units of chunks. It knows no pointers, bytes, sockets, threads or clocks.
//
// Chunks. The data of a collective is divided into `shape.chunks` chunks with global numbers; an empty chunk (count <
// N) is legal and its messages vanish on both sides. Which chunks each rank holds, and what must be in them at the end,
// is the collective's, not the algorithm's: the rows of collectives.hpp say it. Parts of a vector are as many as the
// algorithm asks for, blocks as many as there are ranks. Alltoall: input chunk j goes to rank j, output chunk i comes
// from rank i. Barrier: chunk 0 is one byte and lives in scratch, which stands for "I am here" from the start;
// recv_reduce passes on what a rank and its peer have heard (the byte itself means nothing). Send and recv: one chunk,
// between `rank` and `root`, which names the peer. Scan and exscan: combined in rank order, lower ranks on the left.
//
// Order. Steps are written in program order and run as soon as what they depend on allows. Dependencies are derived
// from the ranges (a read waits for the writes before it, a write for the reads and writes before it; a send reads
// until it is complete), and messages from one rank to another keep program order. Authors never write ids.
//
// Synchronous sends. A send may complete only when its receive has been reached. So a range must not be received into
// while it is still being sent to the same peer (in-place recursive doubling deadlocks so, for every N): receive into
// scratch instead. In place means that input chunk c and output chunk c are the same memory wherever a rank holds both;
// authors write for buffers that may or may not be so, and the verifier tries both.
//
// Encoded. Calls may allow their floats to travel in a format of lower precision (WireFormat), which algorithms that
// say `encoded` in the catalog use: they keep chunks in encoded cells. A copy into such a cell rounds, a copy out of it
// and a reduction whose right operand it is decode, and messages carry it as it is. Every rounding is the schedule
// function's step, so the verifier sees that all ranks round alike.
//
// Wide. Floats that are narrower than 32 bits lose something in every sum. So for these the steps of a schedule are
// rewritten (plan/wide_sums.hpp) where they do not care: a partial sum that is only added to lies in wide cells, whose
// elements are float32, and is rounded when it is complete or leaves. Algorithms do not write wide cells themselves.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "src/spi/topology.hpp"
#include "src/spi/types.hpp"

namespace hocket {

// The whole argument of an algorithm: equal shapes give equal schedules.
struct Shape {
  CollectiveRef collective = Collective::allreduce;
  Rank rank = 0;
  Rank size = 1;
  Rank root = 0;             // 0 where the collective has none; the peer of a send or recv
  std::uint32_t chunks = 1;  // as the catalog's entry asks
  Topology topology{};       // algorithms that treat all ranks alike leave it aside

  friend bool operator==(const Shape&, const Shape&) = default;
};

enum class Space : std::uint8_t { input, output, scratch, encoded, wide };

// `count` adjoining chunks from `chunk` on. In scratch the range lies at cell `cell`, one cell for each chunk, each
// cell as large as the largest chunk; `chunk` still says whose size and meaning the bytes have. Encoded cells are
// scratch that holds one chunk each, in the call's wire format; wide cells are scratch whose elements are float32.
struct Range {
  Space space = Space::output;
  std::uint16_t cell = 0;
  std::uint32_t chunk = 0;
  std::uint32_t count = 1;

  friend bool operator==(const Range&, const Range&) = default;
};

enum class StepKind : std::uint8_t {
  send,         // send `left` to `peer`
  recv,         // receive into `to` from `peer`
  recv_reduce,  // to = left ∘ incoming (or incoming ∘ left, if `swapped`)
  copy,         // to = left
  reduce,       // to = left ∘ right
};

struct Step {
  StepKind kind = StepKind::copy;
  bool swapped = false;
  bool waits_for_right = false;  // of a send: does not begin before `right` is written, too
  Rank peer = no_rank;
  Range left{}, right{}, to{};

  friend bool operator==(const Step&, const Step&) = default;
};

// The steps of one rank for one slice, and the scratch cells that they need.
struct Schedule {
  Shape shape;
  std::uint16_t scratch_cells = 0;
  std::uint16_t encoded_cells = 0;
  std::uint16_t wide_cells = 0;
  std::vector<Step> steps;

  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// What a schedule function writes with. Chunk numbers are taken modulo shape.chunks in input() and output() of one
// chunk, so a ring may count backwards past zero.
class ScheduleBuilder {
 public:
  explicit ScheduleBuilder(const Shape& shape) { schedule_.shape = shape; }

  const Shape& shape() const { return schedule_.shape; }
  Range input(std::int64_t chunk) const { return {Space::input, 0, wrap(chunk), 1}; }
  Range output(std::int64_t chunk) const { return {Space::output, 0, wrap(chunk), 1}; }
  // Requires first + count <= shape.chunks.
  Range input(std::uint32_t first, std::uint32_t count) const { return {Space::input, 0, first, count}; }
  Range output(std::uint32_t first, std::uint32_t count) const { return {Space::output, 0, first, count}; }
  // New scratch with room for `like`, whose size and meaning it takes. Use at(): to use the same cells for another
  // chunk.
  Range scratch(Range like) {
    const Range made{Space::scratch, schedule_.scratch_cells, like.chunk, like.count};
    schedule_.scratch_cells = static_cast<std::uint16_t>(schedule_.scratch_cells + like.count);
    return made;
  }
  // A new encoded cell with room for `like`, which is one chunk.
  Range encoded(Range like) { return {Space::encoded, schedule_.encoded_cells++, like.chunk, 1}; }
  // `count` of the range's chunks, from chunk `first` on. Requires that the range has them.
  static Range part(Range of, std::uint32_t first, std::uint32_t count) {
    const bool in_cells = of.space == Space::scratch || of.space == Space::wide;
    const std::uint32_t cells = in_cells ? first - of.chunk : 0;
    return {of.space, static_cast<std::uint16_t>(of.cell + cells), first, count};
  }
  // The same cells, now holding what `like` means. Requires like.count <= the count they were made with.
  static Range at(Range cells, Range like) { return {cells.space, cells.cell, like.chunk, like.count}; }

  void send(Rank to, Range from) { add({.kind = StepKind::send, .peer = to, .left = from}); }
  // The same, but not before `after` is written, too: for what nobody needs earlier, and which would only keep the link
  // from what somebody waits for.
  void send(Rank to, Range from, Range after) {
    add({.kind = StepKind::send, .waits_for_right = true, .peer = to, .left = from, .right = after});
  }
  void recv(Rank from, Range to) { add({.kind = StepKind::recv, .peer = from, .to = to}); }
  // to = mine ∘ incoming.
  void recv_reduce(Rank from, Range mine, Range to) {
    add({.kind = StepKind::recv_reduce, .peer = from, .left = mine, .to = to});
  }
  // to = incoming ∘ mine.
  void recv_reduce_swapped(Rank from, Range mine, Range to) {
    add({.kind = StepKind::recv_reduce, .swapped = true, .peer = from, .left = mine, .to = to});
  }
  // Vanishes where both are the same memory. Into an encoded cell: rounds; out of it: decodes.
  void copy(Range from, Range to) { add({.kind = StepKind::copy, .left = from, .to = to}); }
  // to = left ∘ right; `to` may be either of them. Only `right` may be encoded.
  void reduce(Range left, Range right, Range to) {
    add({.kind = StepKind::reduce, .left = left, .right = right, .to = to});
  }

  Schedule take() && { return std::move(schedule_); }

 private:
  std::uint32_t wrap(std::int64_t chunk) const {
    const auto chunks = static_cast<std::int64_t>(schedule_.shape.chunks);
    return static_cast<std::uint32_t>(((chunk % chunks) + chunks) % chunks);
  }
  void add(const Step& step) { schedule_.steps.push_back(step); }

  Schedule schedule_;
};

using ScheduleFunction = void (*)(const Shape&, ScheduleBuilder&);

// How the ranks of a group can be turned, each to a place so many further on, such that the schedules turn with them:
// every rank then writes, but for the names of peers and chunks, what the rank at its place wrote before.
enum class Symmetry : std::uint8_t {
  none,   // or none that is known
  ranks,  // by one rank
  rows,   // by one row of grid_of(size)
  hosts,  // by one host, where all have as many ranks, which adjoin
};

// How many chunks an algorithm wants. Only collectives whose chunks are parts of a vector ask. A rail is one rank of
// each host; there are as many as the host with the fewest ranks has ranks.
enum class Chunking : std::uint8_t { one, two, one_per_rank, one_per_rail, one_per_rail_and_host };

// One line of the catalog.
struct Algorithm {
  std::string_view name;  // "ring"
  CollectiveRef collective;
  Chunking chunking;
  ScheduleFunction function;
  std::string_view summary;  // one line for people: idea, steps, bytes
  // Moves ranges of several blocks (see Layout), so the data is not cut into slices. Equal on all ranks.
  bool multi_block = false;
  // Scatter, gather, alltoall: blocks pass through ranks that they are neither from nor for. So it needs blocks of
  // equal size: where sizes vary, only the two ends know them.
  bool forwards_blocks = false;
  // Writes by shape.topology, so it is proven for many of them.
  bool by_host = false;
  // Keeps chunks in encoded cells: for calls that allow lower precision, and only for these.
  bool encoded = false;
  // Every sum is ((x0 ∘ x1) ∘ x2) ∘ … by rank, the partial sum left of ∘: what deterministic mode and functions that
  // are not commutative need. Proven with all else.
  bool in_rank_order = false;
  // What the simulator may build on. A test proves it of every entry.
  Symmetry symmetry = Symmetry::none;
  // Raised when the schedule changes such that old and new do not work together: ranks of two builds then find out.
  std::uint32_t version = 1;

  Schedule write(Rank rank, Rank size, Rank root = 0, const Topology& topology = {}) const;
};

// Number of chunks that a schedule of this algorithm has on `size` ranks.
std::uint32_t chunks_of(const Algorithm& algorithm, Rank size, const Topology& topology = {});

// Every algorithm there is, in the order in which they are listed to people. algorithms/catalog.cpp.
std::span<const Algorithm> catalog();
// Null where there is none.
const Algorithm* find_algorithm(Collective collective, std::string_view name);

}  // namespace hocket
