// The table of collectives. One row says all that the library knows of a collective; validation, layout, the verifier,
// the direct paths, messages, help texts and benchmarks read it, and nothing else tells collectives apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "hocket/types.h"
#include "src/spi/rank.hpp"

namespace hocket {

// Numbers of the table's rows, which travel in messages.
enum class Collective : std::uint8_t {
  allreduce = HOCKET_ALLREDUCE,
  reduce = HOCKET_REDUCE,
  reduce_scatter = HOCKET_REDUCE_SCATTER,
  allgather = HOCKET_ALLGATHER,
  broadcast = HOCKET_BROADCAST,
  scatter = HOCKET_SCATTER,
  gather = HOCKET_GATHER,
  alltoall = HOCKET_ALLTOALL,
  barrier = HOCKET_BARRIER,
  send = HOCKET_SEND,  // point to point: planned and run like the rest, by two ranks
  recv = HOCKET_RECV,
  reduce_scatter_v = HOCKET_REDUCE_SCATTER_V,
  allgather_v = HOCKET_ALLGATHER_V,
  scatter_v = HOCKET_SCATTER_V,
  gather_v = HOCKET_GATHER_V,
  alltoall_v = HOCKET_ALLTOALL_V,
  scan = HOCKET_SCAN,      // each rank gets the reduction of the ranks up to itself
  exscan = HOCKET_EXSCAN,  // each rank gets that of the ranks before it
};

// What the chunks of a collective are, and with it how many there are.
enum class Chunks : std::uint8_t {
  parts,    // of one vector: as many as the algorithm asks for
  blocks,   // the caller's, one for each rank
  message,  // one, between `rank` and `root`, which names the peer
  token,    // one byte, which the caller does not see
};

// The chunks that a buffer of the caller's holds, on the ranks that have one.
enum class Held : std::uint8_t { nothing, own_chunk, all_chunks };
enum class Holders : std::uint8_t { every_rank, root, all_but_rank_0 };

struct BufferShape {
  Held held = Held::nothing;
  Holders holders = Holders::every_rank;

  constexpr bool is_on(Rank rank, Rank root) const {
    if (held == Held::nothing) return false;
    return holders == Holders::every_rank || (holders == Holders::root ? rank == root : rank != 0);
  }
  constexpr bool has(std::uint32_t chunk, Rank rank, Rank root) const {
    return is_on(rank, root) && (held == Held::all_chunks || chunk == static_cast<std::uint32_t>(rank));
  }
  constexpr std::uint32_t first_chunk(Rank rank) const {
    return held == Held::own_chunk ? static_cast<std::uint32_t>(rank) : 0;
  }

  friend bool operator==(const BufferShape&, const BufferShape&) = default;
};

// The ranks whose inputs an output chunk combines.
enum class Combines : std::uint8_t { nothing, all_ranks, ranks_up_to_own, ranks_before_own };

// The side of a call with unequal blocks for which the caller gives counts.
enum class GivenCounts : std::uint8_t { none, send, recv, both };

struct CollectiveInfo {
  Collective collective{};
  std::string_view name;
  Chunks chunks = Chunks::parts;
  BufferShape input{}, output{};
  Combines combines = Combines::nothing;
  std::string_view count_name = "count";  // the argument of hocket.h with a block's elements; empty: there is none
  bool direct_paths = false;              // over memory that all ranks share
  bool wire_formats = false;              // floats may travel in lower precision
  Collective equal_blocks = collective;   // whose schedules it runs: another one's, where blocks may be unequal
  GivenCounts counts = GivenCounts::none;

  constexpr bool reduces() const { return combines != Combines::nothing; }
  // Whether each rank gets a reduction of its own: of the ranks before it, and perhaps of itself.
  constexpr bool is_prefix() const { return reduces() && combines != Combines::all_ranks; }
  constexpr bool is_message() const { return chunks == Chunks::message; }
  // Whether one rank plays a special part.
  constexpr bool has_root() const { return input.holders == Holders::root || output.holders == Holders::root; }
  constexpr bool is_from_root() const { return has_root() && input.holders == Holders::root; }
  constexpr bool takes_root() const { return has_root() || is_message(); }  // of a message, the root is its peer
  // Whether chunks are parts of one vector, and not blocks.
  constexpr bool is_vector() const { return chunks != Chunks::blocks; }
  constexpr bool has_unequal_blocks() const { return equal_blocks != collective; }
  // Whether input chunk j goes to rank j, and output chunk i comes from rank i.
  constexpr bool transposes() const {
    return !is_vector() && !reduces() && input.held == Held::all_chunks && output.held == Held::all_chunks;
  }
  // Whether every rank knows the size of every block. Else only the two ends of a message know how large it is.
  constexpr bool all_know_blocks() const { return is_vector() || !(has_root() || transposes()); }
  // Whether some ranks only send, so that they run ahead of the others in a row of calls. Then the mean over the row is
  // what a call takes, and not the median.
  constexpr bool runs_ahead() const { return has_root() || is_prefix(); }
  // Whether a schedule may work in place. Else the input of a call in place is copied first.
  constexpr bool runs_in_place() const { return !transposes(); }

  // How many blocks of `count` elements a rank's buffer holds; 0: the call does not use it there.
  constexpr std::size_t blocks_in(const BufferShape& buffer, Rank rank, Rank root, Rank size) const {
    if (!buffer.is_on(rank, root)) return 0;
    return !is_vector() && buffer.held == Held::all_chunks ? static_cast<std::size_t>(size) : 1;
  }
  // In place, the smaller buffer is this block of the larger one: a rank's own, or the first.
  constexpr std::size_t block_in_place(Rank rank) const {
    return !is_vector() && input.held != output.held ? static_cast<std::size_t>(rank) : 0;
  }
  // The rank whose input chunk becomes an output chunk. Requires that nothing is combined.
  constexpr Rank source_of(std::uint32_t chunk, Rank root) const {
    return is_message() || input.holders == Holders::root ? root : static_cast<Rank>(chunk);
  }
};

inline constexpr BufferShape no_buffer{};
inline constexpr BufferShape everything{Held::all_chunks};
inline constexpr BufferShape everything_at_root{Held::all_chunks, Holders::root};
inline constexpr BufferShape own_chunk{Held::own_chunk};

// By number.
inline constexpr CollectiveInfo collective_table[] = {
    {.collective = Collective::allreduce,
     .name = "allreduce",
     .input = everything,
     .output = everything,
     .combines = Combines::all_ranks,
     .direct_paths = true,
     .wire_formats = true},
    {.collective = Collective::reduce,
     .name = "reduce",
     .input = everything,
     .output = everything_at_root,
     .combines = Combines::all_ranks,
     .direct_paths = true},
    {.collective = Collective::reduce_scatter,
     .name = "reduce_scatter",
     .chunks = Chunks::blocks,
     .input = everything,
     .output = own_chunk,
     .combines = Combines::all_ranks,
     .count_name = "recvcount",
     .direct_paths = true,
     .wire_formats = true},
    {.collective = Collective::allgather,
     .name = "allgather",
     .chunks = Chunks::blocks,
     .input = own_chunk,
     .output = everything,
     .count_name = "sendcount",
     .direct_paths = true,
     .wire_formats = true},
    {.collective = Collective::broadcast,
     .name = "broadcast",
     .input = everything_at_root,
     .output = everything,
     .direct_paths = true},
    {.collective = Collective::scatter,
     .name = "scatter",
     .chunks = Chunks::blocks,
     .input = everything_at_root,
     .output = own_chunk,
     .count_name = "recvcount",
     .direct_paths = true},
    {.collective = Collective::gather,
     .name = "gather",
     .chunks = Chunks::blocks,
     .input = own_chunk,
     .output = everything_at_root,
     .count_name = "sendcount",
     .direct_paths = true},
    {.collective = Collective::alltoall,
     .name = "alltoall",
     .chunks = Chunks::blocks,
     .input = everything,
     .output = everything,
     .direct_paths = true},
    {.collective = Collective::barrier, .name = "barrier", .chunks = Chunks::token, .direct_paths = true},
    {.collective = Collective::send, .name = "send", .chunks = Chunks::message, .input = everything},
    {.collective = Collective::recv, .name = "recv", .chunks = Chunks::message, .output = everything},
    {.collective = Collective::reduce_scatter_v,
     .name = "reduce_scatter_v",
     .chunks = Chunks::blocks,
     .input = everything,
     .output = own_chunk,
     .combines = Combines::all_ranks,
     .count_name = "",
     .wire_formats = true,
     .equal_blocks = Collective::reduce_scatter,
     .counts = GivenCounts::recv},
    {.collective = Collective::allgather_v,
     .name = "allgather_v",
     .chunks = Chunks::blocks,
     .input = own_chunk,
     .output = everything,
     .count_name = "sendcount",
     .wire_formats = true,
     .equal_blocks = Collective::allgather,
     .counts = GivenCounts::recv},
    {.collective = Collective::scatter_v,
     .name = "scatter_v",
     .chunks = Chunks::blocks,
     .input = everything_at_root,
     .output = own_chunk,
     .count_name = "recvcount",
     .equal_blocks = Collective::scatter,
     .counts = GivenCounts::send},
    {.collective = Collective::gather_v,
     .name = "gather_v",
     .chunks = Chunks::blocks,
     .input = own_chunk,
     .output = everything_at_root,
     .count_name = "sendcount",
     .equal_blocks = Collective::gather,
     .counts = GivenCounts::recv},
    {.collective = Collective::alltoall_v,
     .name = "alltoall_v",
     .chunks = Chunks::blocks,
     .input = everything,
     .output = everything,
     .count_name = "",
     .equal_blocks = Collective::alltoall,
     .counts = GivenCounts::both},
    {.collective = Collective::scan,
     .name = "scan",
     .input = everything,
     .output = everything,
     .combines = Combines::ranks_up_to_own},
    {.collective = Collective::exscan,
     .name = "exscan",
     .input = everything,
     .output = {Held::all_chunks, Holders::all_but_rank_0},
     .combines = Combines::ranks_before_own},
};
inline constexpr CollectiveInfo unknown_collective{.collective = Collective{255}, .name = "unknown collective"};

constexpr bool is_known(Collective collective) {
  return static_cast<std::size_t>(collective) < std::size(collective_table);
}
// unknown_collective for a number that is none.
constexpr const CollectiveInfo& info_of(Collective collective) {
  return is_known(collective) ? collective_table[static_cast<std::size_t>(collective)] : unknown_collective;
}

// A collective by its row, which is the table's where it is named by number; a test may bring a row of its own.
class CollectiveRef {
 public:
  constexpr CollectiveRef(Collective collective) : info_(&info_of(collective)) {}
  constexpr CollectiveRef(const CollectiveInfo& info) : info_(&info) {}  // which must outlive this
  CollectiveRef(CollectiveInfo&&) = delete;

  constexpr const CollectiveInfo& operator*() const { return *info_; }
  constexpr const CollectiveInfo* operator->() const { return info_; }
  constexpr operator Collective() const { return info_->collective; }

 private:
  const CollectiveInfo* info_;
};

constexpr std::string_view name_of(CollectiveRef collective) {
  return collective->name;
}
constexpr bool reduces(CollectiveRef collective) {
  return collective->reduces();
}
constexpr bool is_prefix(CollectiveRef collective) {
  return collective->is_prefix();
}
constexpr bool has_root(CollectiveRef collective) {
  return collective->has_root();
}

namespace table {

template <bool unequal_blocks>
consteval auto select_collectives() {
  const auto belongs = [](const CollectiveInfo& row) { return row.has_unequal_blocks() == unequal_blocks; };
  constexpr std::size_t number = [belongs] {
    std::size_t counted = 0;
    for (const CollectiveInfo& row : collective_table) counted += belongs(row);
    return counted;
  }();
  std::array<Collective, number> selected{};
  std::size_t next = 0;
  for (const CollectiveInfo& row : collective_table) {
    if (belongs(row)) selected[next++] = row.collective;
  }
  return selected;
}

consteval bool numbers_are_places() {
  for (std::size_t place = 0; place < std::size(collective_table); ++place) {
    if (static_cast<std::size_t>(collective_table[place].collective) != place) return false;
  }
  return true;
}
static_assert(numbers_are_places());

}  // namespace table

// What schedules are written for.
inline constexpr auto all_collectives = table::select_collectives<false>();
// Those with blocks of unequal size.
inline constexpr auto uneven_collectives = table::select_collectives<true>();

}  // namespace hocket
