// Selection: which algorithm runs a call. The first of these that says something, and whose algorithm is fit for the
// call, decides (docs/guide/choosing.md):
//
//   1. a name that somebody gave (HOCKET_ALGORITHM)
//   2. somebody's tables (HOCKET_TUNING)
//   3. the library's tables for the machine class (class_tables.hpp)
//
// A function of what all ranks know, so that all choose alike.
#pragma once

#include <string>
#include <string_view>

#include "src/plan/choices.hpp"
#include "src/plan/machine_class.hpp"
#include "src/plan/tuning.hpp"

namespace hocket {

struct Call {
  Collective collective = Collective::barrier;
  Rank size = 1;
  std::size_t bytes = 0;  // the larger of the two buffers
  Topology topology{};
  Rank cores = 0;  // of the one host that has all ranks, if it has fewer; else 0
  WireFormat wire = WireFormat::exact;
  bool in_rank_order = false;  // only what Algorithm::in_rank_order says may be chosen, where something is reduced
  bool unequal = false;        // blocks vary: `bytes` are those of all blocks, 0 where not all ranks know them
  bool narrow_floats = false;  // that are summed or multiplied, so that roundings count
  NetworkSpeed speed = NetworkSpeed::unknown;  // of the slowest interface between hosts

  const MachineClass& machine() const { return machine_class_of(topology, size, cores, speed); }
};

CallKind kind_of(const Call& call);
// Whether the algorithm may run the call when it is named: in its order, of its precision, for its blocks.
bool is_fit(const Algorithm& algorithm, const Call& call);

struct Selection {
  const Algorithm* algorithm = nullptr;
  std::string_view source;          // "name", "user's table", or the library's table: "measured/one-host"
  const TableHead* head = nullptr;  // of the table; null where there is none
  std::size_t bytes_max = any_bytes;

  // "measured/one-host [2 ranks], up to 64K"
  std::string explanation() const;
};

// What `named` says, if it fits; null: nothing.
const Algorithm* named_algorithm(const Call& call, const Choices& named);
Selection select(const Call& call, const Choices& named = {}, const Tuning& tables = {});

// What the library chooses by itself, or `wanted` by name where that fits.
const Algorithm& select_algorithm(const Call& call, std::string_view wanted = automatic_algorithm);

}  // namespace hocket
