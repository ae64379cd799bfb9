// Refinement: which algorithm is best for calls of one collective and size, found out while a program runs. Pure: it is
// told of calls and of times, and has neither clock nor messages. Ranks that are told of the same calls in the same
// order, and of the same verdicts, choose alike (docs/guide/choosing.md).
//
// Calls of one range of sizes are compared in rounds. In a round some calls run by what is in force and as many by a
// challenger, in an order that no pattern of calls follows. Which call is what depends on how many calls there were,
// never on times. The first call after a round exchanges the times that the ranks measured, and is the first for which
// the round's verdict holds.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/plan/plan.hpp"
#include "src/spi/schedule.hpp"

namespace hocket {

class Refinement {
 private:
  struct Range;

 public:
  // Which algorithms may be best for calls of this size; what runs without refinement comes first. Equal on all ranks.
  using Contenders = std::function<std::vector<const Algorithm*>(Collective, std::size_t bytes)>;

  // What all ranks know of a call. Calls of a round are equal in all of this, so that times can be compared.
  struct Call {
    Collective collective = Collective::barrier;
    std::size_t bytes = 1;  // of the larger buffer, not 0
    DataType dtype = DataType::uint8;
    ReduceOp op = ReduceOp::sum;
    Rank root = 0;

    friend bool operator==(const Call&, const Call&) = default;
  };

  // In numbers of calls of one range.
  struct Pace {
    unsigned before = 8;      // the first round
    unsigned pairs = 8;       // one by each algorithm
    unsigned patience = 256;  // a round that has not got its calls among so many ends without a verdict
    unsigned rest = 1024;     // between rounds, once each contender has been tried
  };

  enum Side : std::uint8_t { in_force, challenger };

  struct Round {
    Call call;
    // Seconds of this rank's calls, by side. Whoever runs them adds to these.
    std::array<std::vector<double>, 2> seconds;

    std::array<double, 2> medians() const;

   private:
    friend class Refinement;
    Range* range = nullptr;
    bool over = false;
    std::optional<std::array<double, 2>> agreed;  // over and without: no verdict
  };

  // What becomes of a call.
  struct Turn {
    Range* range = nullptr;
    std::uint64_t rounds = 0;  // whose end must be known before it can run
    Side side = in_force;
    std::shared_ptr<Round> measured;   // not null: its time belongs to this round
    std::shared_ptr<Round> exchanged;  // not null: before it, the ranks agree() on this round
  };

  struct Verdict {
    Collective collective;
    std::size_t bytes_min, bytes_max;
    std::array<const Algorithm*, 2> algorithms;
    std::array<double, 2> seconds;
    bool switched;  // from the first to the second
  };

  explicit Refinement(Contenders contenders) : Refinement(std::move(contenders), Pace()) {}
  Refinement(Contenders contenders, const Pace& pace) : contenders_(std::move(contenders)), pace_(pace) {}

  // The next call. For each call once, in the order in which all ranks make them.
  Turn next(const Call& call);
  // Which algorithm runs a call. Null: that depends on a round whose end is not known yet.
  const Algorithm* algorithm(const Turn& turn);
  // The end of a round: the largest medians of any rank. Rounds of one range in their order.
  void agree(Round& round, const std::array<double, 2>& seconds);
  // What has been decided since this was asked last.
  std::vector<Verdict> take_verdicts() { return std::exchange(verdicts_, {}); }

  // What calls of this size run by as far as is known here, which may differ from rank to rank for a while.
  const Algorithm* known(Collective collective, std::size_t bytes);

 private:
  // Of sizes: above one power of two, up to the next.
  struct Range {
    std::vector<const Algorithm*> contenders;
    std::vector<std::optional<double>> seconds;  // of contenders, as agreed last
    std::size_t holds = 0;                       // the contender in force
    // By calls alone, so the same everywhere:
    std::uint64_t calls = 0;  // since the latest round began or ended
    unsigned trials = 0;
    std::uint64_t rounds = 0, exchanges = 0;  // that are over; with an exchange
    std::shared_ptr<Round> running;
    // By what is known here:
    std::deque<std::shared_ptr<Round>> unsettled;  // rounds that are over
    std::uint64_t settled = 0;

    std::size_t challenger() const;
  };

  Range& range_of(Collective collective, std::size_t bytes);
  void finish_round(Range& range, bool exchange);
  void settle(Range& range);

  const Contenders contenders_;
  const Pace pace_;
  std::map<std::pair<Collective, int>, Range> ranges_;
  std::vector<Verdict> verdicts_;
};

// A verdict in words, for people.
std::string describe(const Refinement::Verdict& verdict);

// The contenders for a call: what is chosen for it, and what would be if it were somewhat larger or smaller, if cores
// were more or fewer, or if all ranks were on hosts of their own. `wanted` is by size, as select_algorithm() takes it.
std::vector<const Algorithm*> contenders_for(const hocket::Call& call,
                                             const std::function<std::string_view(std::size_t bytes)>& wanted);

}  // namespace hocket
