// One member stops at any point of any path; all who still wait name it. And whoever has given up lets nobody in any
// more.
#include <gtest/gtest.h>

#include <random>

#include "src/exec/direct/control_lines.hpp"
#include "src/exec/direct/direct_operation.hpp"
#include "src/exec/reduce.hpp"
#include "src/exec/wait_chains.hpp"
#include "tests/unit/exec/memory_window.hpp"
#include "tests/unit/exec/no_peers.hpp"

namespace hocket {
namespace {

using testing_support::MemoryWindow;
using testing_support::NoPeers;
using testing_support::SharedMemory;

struct Path {
  bool shares_work = false;
  SingleCopy single_copy = SingleCopy::never;
  bool registered = false;
};

class MissingMember {
 public:
  MissingMember(SharedMemory& shared, std::uint32_t self, const Path& path, const Signature& call)
      : window_(shared, self),
        use_{.window = &window_, .setting = {.shares_work = path.shares_work, .single_copy = path.single_copy}},
        operation_(use_) {
    const std::size_t bytes = call.count * sizeof(float) * window_.size();
    input_.resize(bytes);
    output_.resize(bytes);
    for (auto* memory : {&input_, &output_}) {
      if (path.registered) shared.enroll(self, memory->data(), bytes);
    }
    operation_.bind({.input = input_.data(),
                     .output = output_.data(),
                     .signature = call,
                     .reduction = reduction_for(call.dtype, call.op, static_cast<Rank>(window_.size())),
                     .timeout = std::chrono::hours(1),
                     .root = call.root});
    NoPeers nobody;
    EXPECT_TRUE(operation_.start(operation_.tag(), nobody).ok());
  }
  bool step() {
    Counters counters;
    return !operation_.complete() && operation_.advance(counters);
  }
  DirectOperation& operation() { return operation_; }
  // As members do who have waited for a while: says for whom, by what the others have said.
  Blame blame() {
    LifeLines lines(window_);
    const Blame found = blame_for(operation_.missing().peers, static_cast<Rank>(window_.self()), lines);
    lines.show(found.through);
    return found;
  }

 private:
  MemoryWindow window_;
  WindowUse use_;
  DirectOperation operation_;
  std::vector<std::byte> input_, output_;
};

class MissingOf : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(MissingOf, WhoStopsIsNamedByAllWhoWait) {
  const std::uint32_t size = GetParam();
  constexpr Collective collectives[] = {Collective::allreduce, Collective::reduce,    Collective::allgather,
                                        Collective::alltoall,  Collective::broadcast, Collective::scan};
  int waited = 0;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t limit) { return random() % limit; };
    const Path path{below(2) == 0, below(3) == 0 ? SingleCopy::always : SingleCopy::never, below(2) == 0};
    const Collective collective = collectives[below(std::size(collectives))];
    const bool is_small = below(2) == 0 || info_of(collective).is_prefix();
    const Signature call{.collective = collective,
                         .dtype = DataType::float32,
                         .op = ReduceOp::sum,
                         .root = static_cast<Rank>(below(size)),
                         .count = 1 + below(is_small ? 100 : 60'000)};
    SCOPED_TRACE("seed " + std::to_string(seed));
    SharedMemory shared(size, direct::payload_bytes + (std::size_t{96} << 10));  // little, for many rounds
    std::deque<MissingMember> members;
    for (std::uint32_t self = 0; self < size; ++self) members.emplace_back(shared, self, path, call);
    const std::uint32_t victim = static_cast<std::uint32_t>(below(size));
    std::size_t steps_left = below(12);
    for (int idle = 0; idle < 200;) {
      const std::size_t who = below(size);
      if (who == victim && steps_left == 0) continue;
      const bool happened = members[who].step();
      if (who == victim && (happened || below(4) == 0)) --steps_left;
      idle = happened ? 0 : idle + 1;
    }
    const bool began = shared.members[victim].lines[direct::announcement_line(1)].words[0] != 0;
    for (std::uint32_t self = 0; self < size; ++self) {
      if (self != victim && !members[self].operation().complete()) members[self].blame();
    }
    bool gave_up = false;
    for (std::uint32_t self = 0; self < size; ++self) {
      DirectOperation& operation = members[self].operation();
      if (self == victim || operation.complete()) continue;
      EXPECT_EQ(members[self].blame().missing, static_cast<Rank>(victim))
          << "as member " << self << " sees it: " << operation.missing().text;
      ++waited;
      operation.withdraw();
      gave_up = true;
    }
    for (int step = 0; step < 1000; ++step) members[victim].step();
    const bool may_run_ahead =
        info_of(call.collective).runs_ahead();  // a rank that only sends does not look whether others still wait
    EXPECT_TRUE(began || !gave_up || may_run_ahead || !members[victim].operation().complete()) << "it came too late";
    if (HasFailure()) return;
  }
  EXPECT_GT(waited, 50) << "or this test tests nothing";
}

INSTANTIATE_TEST_SUITE_P(Members, MissingOf, ::testing::Values(2, 3, 5), ::testing::PrintToStringParamName());

// Member 1 has sent to member 0 and needs its next word, while member 0 waits for member 2, which has not come.
TEST(Missing, IsWhoHoldsUpTheOneThatIsNeeded) {
  SharedMemory shared(3, direct::payload_bytes + (std::size_t{96} << 10));
  const Signature gather{.collective = Collective::gather, .dtype = DataType::float32, .root = 0, .count = 4};
  const Signature broadcast{.collective = Collective::broadcast, .dtype = DataType::float32, .root = 0, .count = 4};
  MemoryWindow window_of_1(shared, 1);
  WindowUse use_of_1{.window = &window_of_1};
  std::vector<std::byte> memory(64);
  NoPeers nobody;
  Counters counters;
  MissingMember root(shared, 0, {}, gather);
  root.step();
  EXPECT_EQ(root.blame().missing, 1) << "nobody has said anything yet";
  DirectOperation first(use_of_1), second(use_of_1);
  const auto begin = [&](DirectOperation& operation, const Signature& call) {
    operation.bind(
        {.input = memory.data(), .output = memory.data(), .signature = call, .timeout = std::chrono::hours(1)});
    ASSERT_TRUE(operation.start(operation.tag(), nobody).ok());
    for (int step = 0; step < 10 && !operation.complete(); ++step) operation.advance(counters);
  };
  begin(first, gather);
  ASSERT_TRUE(first.complete());
  begin(second, broadcast);
  ASSERT_FALSE(second.complete());
  EXPECT_EQ(root.blame().missing, 2);
  EXPECT_EQ(second.missing().peers, std::vector<Rank>{0});
  EXPECT_EQ(blame_for(second.missing().peers, 1, LifeLines(window_of_1)).missing, 2);
}

}  // namespace
}  // namespace hocket
