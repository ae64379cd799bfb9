// What collectives over a window take: closed forms for each direct path, from what it does
// (docs/performance/cost-direct-paths.md derives them), and what both they and the simulation (simulate.hpp) build on.
// Which path a call takes is the executor's own rule (path.hpp).
#pragma once

#include <optional>

#include "src/plan/direct/path.hpp"
#include "src/plan/network.hpp"

namespace hocket {

struct DirectCall {
  Collective collective = Collective::barrier;
  Rank ranks = 2;
  std::size_t count = 0;  // as in the C API: elements of the vector, or of one block
  std::size_t element_bytes = 4;
  bool in_place = false;
  bool registered = false;  // all buffers are
  Rank root = 0;

  // Requires at least two ranks. As parts of `grain` bytes.
  Exchange exchange(std::size_t grain = first_grain_bytes) const;
};

// One rank's processor work in a call, on average.
struct DirectWork {
  double lines = 0;     // that others have written, and this rank reads
  double copied = 0;    // bytes
  double combined = 0;  // bytes of operands after the first
  double reads = 0;     // of others' plain memory
  double read = 0;      // their bytes

  friend bool operator==(const DirectWork&, const DirectWork&) = default;
};

// What work takes on a network's host. Seconds.
struct DirectRates {
  double line = 0, copy = 0, reduce = 0, read = 0, read_per_byte = 0;

  double seconds(const DirectWork& work) const {
    return work.lines * line + work.copied * copy + work.combined * reduce + work.reads * read +
           work.read * read_per_byte;
  }
};
// Requires a network that describes direct paths.
DirectRates direct_rates(const Network& network, const DirectCall& call);
// What the members of a window on the network's host have in common.
DirectSetting direct_setting(const Network& network, const DirectCall& call);

// What one call consists of.
struct DirectTerms {
  // Of the root, and of each other rank; the same where the collective has no root. Of a prefix: of the last rank,
  // which has the most to do, and of each other rank on average.
  DirectWork root{}, other{};
  // What one side brings and the other takes, where these are different ranks that wait for one another: parts of the
  // work above, both in so many rounds.
  DirectWork brought{}, taken{};
  double rounds = 1;
  double flags = 0;        // waits for another rank's line, one after the other
  double time_slices = 0;  // how often each rank gets a core, where they share cores
};

// The terms of a call that takes `path`. Requires a collective that has direct paths, and at least two ranks. Parts are
// taken to be equal. `shares_work`: ranks outnumber cores.
DirectTerms direct_terms(const DirectCall& call, DirectPath path, bool shares_work);

struct DirectExpectation {
  DirectPath path = DirectPath::one_shot;
  double seconds = 0;     // of one of many calls, one after another
  double processors = 0;  // work of all ranks / cores: no less than that
  DirectTerms terms{};
};

// What a communicator makes of a call on a network of one host whose ranks share memory; on `path`, if that is given.
// Nothing where no direct path runs: one rank, several hosts, point to point, blocks of unequal size; prefixes on
// another path than one-shot, or too large for it.
std::optional<DirectExpectation> expect_direct(const Network& network, const DirectCall& call,
                                               std::optional<DirectPath> path = std::nullopt);

}  // namespace hocket
