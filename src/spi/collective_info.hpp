// What the library knows of one collective: a row of the table in collectives.hpp, and what follows from a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/spi/rank.hpp"

namespace hocket {

enum class Collective : std::uint8_t;  // collectives.hpp has them all

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

}  // namespace hocket
