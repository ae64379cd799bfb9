// The run of all ranks' programs with synchronous sends, on expressions instead of bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "src/plan/expressions.hpp"
#include "src/plan/program.hpp"
#include "src/plan/verify.hpp"
#include "src/spi/status.hpp"

namespace hocket {

// Schedules that have passed check_form(). What is wrong is Code::internal and names ranks and steps.
class SymbolicRun {
 public:
  static constexpr Expressions::Id nothing = UINT32_MAX;

  SymbolicRun(CollectiveRef collective, Rank size, const VerifyOptions& options);

  void add(const Schedule& schedule);  // once for each rank, in order
  Status run();                        // until all programs have ended

  // What an output chunk holds; `nothing`: it was never written.
  Expressions::Id output(Rank rank, std::uint32_t chunk, std::uint32_t piece);
  // Barrier: what the rank has heard, its own word included.
  Expressions::Id heard(Rank rank) const { return processes_[rank].heard; }
  Rank size() const { return size_; }
  bool is_empty(std::uint32_t chunk) const { return filled({Space::output, 0, chunk, 1}) == 0; }
  const Verified& counted() const { return counted_; }
  Expressions& expressions() { return expressions_; }
  void count_roundings(Expressions::Id output) {
    counted_.roundings_max = std::max(counted_.roundings_max, expressions_.roundings(output));
  }

 private:
  // One chunk of memory: what it holds, and which chunk's size and meaning that has.
  struct Spot {
    Expressions::Id value = nothing;
    std::uint32_t chunk = 0;
  };

  struct Process {
    Program program;
    std::vector<std::uint32_t> waits;  // by instruction: what is left of its waits
    std::vector<std::uint32_t> depth;  // by instruction: messages in the longest chain before it
    std::vector<bool> complete;
    std::vector<std::uint32_t> pairs;  // by channel
    std::vector<Spot> memory;
    Expressions::Id heard = nothing;
  };

  // The way from one rank to another, with the messages on it that are not empty. An end posts its messages in their
  // order; the k-th message moves once both ends have posted it, and only then is either of them complete.
  struct Pair {
    struct End {
      Rank rank = no_rank;
      std::vector<std::uint32_t> instructions;
      std::size_t posted = 0;
    };
    End from, to;
    std::size_t matched = 0;
  };

  struct Place {
    Rank rank;
    std::uint32_t index;

    friend bool operator==(const Place&, const Place&) = default;
  };

  std::uint32_t filled(const Range& range) const;  // how many of its chunks are not empty
  bool is_message(const Instruction& instruction) const;
  const Instruction& at(Place place) const { return processes_[place.rank].program.instructions[place.index]; }
  Spot* spots(Process& process, const Range& range, std::uint32_t piece);
  std::string name(Place place) const;  // "rank 2, step 5 (send to rank 3: output 1)"
  void fill_memory(Process& process);
  void add_channels(Process& process);
  void count(const Process& process);

  Status check_counts() const;
  Status advance(Place place);
  Status post(Pair& pair);
  Status transfer(Place from, Place to);
  Status work(Place place);
  Status load(Place place, const Range& range, std::vector<Spot>& into);
  Status combine(Place place, std::vector<Spot>& left, const std::vector<Spot>& right);
  void store(Place place, const std::vector<Spot>& values);
  void complete(Place place, std::uint32_t depth);

  Status check_finished() const;
  Place blocker(Place place) const;

  CollectiveRef collective_;
  Rank size_;
  VerifyOptions options_;
  Expressions expressions_;
  std::vector<Process> processes_;  // by rank
  std::vector<Pair> pairs_;
  std::unordered_map<std::uint64_t, std::uint32_t> pair_of_;  // by sender and receiver
  std::vector<Place> ready_;
  std::vector<Spot> left_, right_;  // operands of the step at hand
  Verified counted_;
};

}  // namespace hocket
