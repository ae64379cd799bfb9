// The table of collectives. One row says all that the library knows of a collective; validation, layout, the verifier,
// the direct paths, messages, help texts and benchmarks read it, and nothing else in the library tells collectives
// apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "hocket/types.h"
#include "src/spi/collective_info.hpp"
#include "src/spi/numbered_rows.hpp"

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
static_assert(table::numbers_are_places(collective_table, &CollectiveInfo::collective));
inline constexpr CollectiveInfo unknown_collective{.collective = Collective{255}, .name = "unknown collective"};

constexpr bool is_known(Collective collective) {
  return table::has(collective_table, collective);
}
// unknown_collective for a number that is none.
constexpr const CollectiveInfo& info_of(Collective collective) {
  return table::row_of(collective_table, collective, unknown_collective);
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

constexpr bool has_unequal_blocks(const CollectiveInfo& row) {
  return row.has_unequal_blocks();
}
constexpr bool has_equal_blocks(const CollectiveInfo& row) {
  return !row.has_unequal_blocks();
}

// What schedules are written for.
inline constexpr auto all_collectives =
    table::numbers_of<collective_table, &CollectiveInfo::collective, has_equal_blocks>();
// Those with blocks of unequal size.
inline constexpr auto unequal_collectives =
    table::numbers_of<collective_table, &CollectiveInfo::collective, has_unequal_blocks>();

}  // namespace hocket
