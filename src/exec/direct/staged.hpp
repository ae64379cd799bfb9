// The staged path: through the staging areas, in rounds, with a few rounds in flight.
//
// In a round every member copies in what others need of its input; where the collective combines, part p is combined by
// member p, which takes its own operand from its own buffer and writes its own output itself; then everyone copies out
// what it needs. Each member publishes how many rounds it has brought through each stage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/exec/counters.hpp"
#include "src/exec/direct/stage_counts.hpp"

namespace hocket {

class StagedPath {
 public:
  explicit StagedPath(DirectRun& run);

  // One stage of one round.
  bool advance(Counters& counters);
  bool done() const { return copied_out_ == run_.exchange.rounds(); }
  bool has_done_its_part(std::uint32_t member) const;
  // See Operation.
  MemberSet awaited_members() const;

 private:
  bool copy_in(Counters& counters);
  bool combine_own();
  bool copy_out();
  AwaitedByStage awaited_to_copy_in() const;
  AwaitedByStage awaited_to_combine() const;
  AwaitedByStage awaited_to_copy_out() const;
  std::byte* slot(std::uint32_t member, std::size_t round, std::uint32_t place) const;
  std::byte* input_slot(std::uint32_t member, std::size_t round, std::uint32_t part) const;
  std::byte* result_slot(std::uint32_t member, std::size_t round) const;

  DirectRun& run_;
  StageCounts stage_counts_;
  const Stage before_copying_out_;
  const bool streams_output_;
  std::size_t copied_in_ = 0, combined_ = 0, copied_out_ = 0;  // rounds
};

}  // namespace hocket
