// One call of a collective whose blocks vary, with everything around it: inputs that every rank can compute, buffers
// between fences, and a look at every byte afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hocket/hocket.h"
#include "src/spi/types.hpp"
#include "tests/process/support/fenced_memory.hpp"

namespace hocket::process_testing {

enum class Sizes : std::uint8_t {
  zero,         // of all blocks
  one_has_all,  // of all blocks but one
  random,       // every fourth one is zero
};

// What to call. Blocks have `scale` elements or less. Salted so that no two calls of a test move the same values.
struct UnequalCase {
  Collective collective = Collective::allgather_v;
  Sizes sizes = Sizes::random;
  std::size_t scale = 50;
  DataType dtype = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  Rank root = 0;
  // Ranks may differ in the next three; of alltoall_v not in the first, since that takes sizes that are alike both
  // ways.
  bool in_place = false;
  bool displaced = false;  // blocks lie in descending order with gaps, where the call takes displacements
  std::size_t misalignment = 0;
  std::uint64_t salt = 1;
};

std::string describe(const UnequalCase& what);

class UnequalCall {
 public:
  UnequalCall(const UnequalCase& what, Rank rank, Rank size);
  UnequalCall(UnequalCall&&) = default;  // moved buffers stay where they are

  hocket_result issue(hocket_comm* comm, hocket_work** work = nullptr, const hocket_call_options* options = nullptr);
  // After success: every element of the output, and that nothing else was written.
  void expect_correct() const;
  // issue() and expect_correct().
  void run(hocket_comm* comm);

 private:
  struct Side {
    std::vector<std::size_t> counts, displacements;  // by rank; 0 for blocks that this rank's buffer has not
    std::size_t elements = 0;                        // from the first to the last, with gaps
    std::byte* data = nullptr;
  };
  Side side(bool output) const;
  bool holds(bool output, Rank block) const;
  std::size_t count_of(Rank source, Rank target) const;
  const std::size_t* displacements_of(const Side& side) const {
    return what_.displaced ? side.displacements.data() : nullptr;
  }
  void write_input();

  const UnequalCase what_;
  const Rank rank_, size_;
  Side send_, recv_;
  FencedMemory first_, second_;  // in place: the first for both
  std::size_t first_bytes_ = 0, second_bytes_ = 0;
  std::vector<std::byte> first_before_, second_before_;
};

}  // namespace hocket::process_testing
