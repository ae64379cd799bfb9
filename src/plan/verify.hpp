// The verifier: proves by exhaustion, for one algorithm and one number of ranks, that its schedules do what the
// collective means, without moving a byte.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "src/plan/program.hpp"
#include "src/spi/schedule.hpp"
#include "src/spi/status.hpp"

namespace hocket {

// What a run of all ranks counted.
struct Verified {
  std::uint64_t steps = 0;            // of all ranks
  std::uint64_t sends_max = 0;        // send steps of the busiest rank
  std::uint64_t chunks_sent_max = 0;  // non-empty chunks that the busiest sender sent
  std::uint64_t rounds = 0;           // longest chain of messages that depend on each other
  std::uint32_t scratch_cells_max = 0;
  std::uint32_t encoded_cells_max = 0;
  std::uint32_t wide_cells_max = 0;
  std::uint32_t roundings_max = 0;  // how often a contribution to an output was encoded, or a sum that has it rounded
};

// Where sums are rounded, which counts as part of what the outputs hold.
enum class Rounding : std::uint8_t {
  none,       // nowhere, or as for float32, where nobody asks how often
  each_sum,   // narrow floats in deterministic mode
  wide_sums,  // narrow floats: all but those that with_wide_sums() puts into wide cells
};

struct VerifyOptions {
  Placement placement = Placement::out_of_place;
  std::uint32_t interleave = 1;
  std::uint32_t empty_from = UINT32_MAX;  // chunks from this one on are empty, as when count < N
  Topology topology{};                    // of algorithms that ask for it
  bool in_rank_order = false;             // sums must be what Algorithm::in_rank_order says
  Rounding rounding = Rounding::none;     // else order is not looked at
};

// Writes the schedules of all `size` ranks with `schedule_of`, compiles them and runs them with synchronous sends (a
// send ends only when its receive has been reached). Since messages between two ranks keep their order and no receive
// is wild, one order of running decides for all (a Kahn network), and what needs no buffering needs none of any size.
// Checks: every receive gets a message whose chunks have the size and meaning that it expects; nothing is read before
// it is written; the outputs are what the collective means (Schedule's comment), every contribution exactly once
// (barrier: at least once); all ranks build equal expression trees for the same chunk, up to exchange of operands and
// with the same roundings, so results have equal bits; inputs are not written out of place; nothing is left unreceived;
// the run finishes. The failure (Code::internal) names algorithm, ranks, step and what is wrong.
Result<Verified> verify(CollectiveRef collective, Rank size, Rank root,
                        const std::function<Schedule(Rank rank)>& schedule_of, const VerifyOptions& options = {});
// In rank order also where the algorithm's entry says so.
Result<Verified> verify(const Algorithm& algorithm, Rank size, Rank root, const VerifyOptions& options = {});

// What an algorithm is tried with on `size` ranks: every root up to 17 ranks, then the first two and the last; out of
// place, and in place where schedules may run so; up to 17 ranks also two slices side by side, and with
// empty chunks; algorithms that go by hosts, on many groupings of the ranks.
struct VerifyCase {
  Rank root = 0;
  VerifyOptions options;
};
std::vector<VerifyCase> verify_cases(const Algorithm& algorithm, Rank size);

// Groupings of `size` ranks on one to five hosts: adjoining, dealt out in turn, and of unequal numbers, both ways; from
// 34 ranks on a few of them.
std::vector<Topology> verify_topologies(Rank size);

}  // namespace hocket
