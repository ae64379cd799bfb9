// What single copy makes of members that end the call before the others have read their memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "src/exec/reduce.hpp"
#include "tests/unit/exec/direct_member.hpp"

namespace hocket::testing_support {
namespace {

class Member final : public DirectMember {
 public:
  Member(SharedMemory& shared, std::uint32_t self)
      : DirectMember(shared, self, {.staging_bytes = shared.staging_bytes, .single_copy = SingleCopy::always}) {}

  void begin(Collective collective, std::vector<std::byte>& input, std::vector<std::byte>& output, std::size_t count) {
    start({.input = input.data(),
           .output = output.data(),
           .signature =
               {.collective = collective, .dtype = DataType::uint8, .op = ReduceOp::max, .root = 0, .count = count},
           .reduction = reduction_for(DataType::uint8, ReduceOp::max, 2),
           .timeout = std::chrono::hours(1),
           .root = 0});
  }
  DirectOperation& operation() { return operation_; }
  MemoryWindow& window() { return window_; }
};

// What a member wants, and how often it tries copies instead.
TEST(SingleCopies, AreWantedWhereAReadPays) {
  constexpr auto traffic = SharedCopy::Traffic::both_ways;
  constexpr std::size_t bytes = 1 << 20;
  for (const std::uint32_t members : {2U, 3U}) {
    SharedMemory shared(members, direct::payload_bytes + (std::size_t{1} << 18));
    MemoryWindow window(shared, 0);
    WindowUse use{.window = &window};
    window.reads = {.read = 3, .copy = 1};  // 2.5 is the limit
    EXPECT_FALSE(use.makes_single_copies(bytes, traffic));
    EXPECT_TRUE(use.makes_single_copies(0, traffic)) << "a member that gives nothing saves no copy";
    for (int i = 0; i < 3; ++i) use.copy_for(everyone).learn({.gain = 1, .ordinary = 2});
    EXPECT_EQ(use.makes_single_copies(bytes, traffic), members == 2);
    int trials = 0;
    for (std::uint64_t turn = 2; turn < 2 + 2 * 6400; turn += 2) trials += use.tries_copies(turn) ? 1 : 0;
    EXPECT_NEAR(trials, members == 2 ? 100 : 0, 10) << "whatever the rhythm of calls";
    use.setting.single_copy = SingleCopy::always;
    window.reads.read = 1000;
    EXPECT_TRUE(use.makes_single_copies(bytes, traffic));
    EXPECT_FALSE(use.tries_copies(0));
  }
}

constexpr std::size_t count = 2'200'000;  // more than a piece, of two members as well
constexpr std::byte sent{1}, later{2};

// The caller of member 0 has its buffers back during a read of member 1, which counts from 1 on, and uses them for
// something else. Whether there were so many reads.
bool end_during_read(int number, Collective collective) {
  SharedMemory shared(2, direct::payload_bytes + (std::size_t{1} << 18));
  std::vector<std::byte> input[2], output[2];
  Member members[2]{{shared, 0}, {shared, 1}};
  for (int self = 0; self < 2; ++self) {
    input[self].assign(2 * count, sent);
    output[self].assign(2 * count, std::byte{});
    members[self].begin(collective, input[self], output[self], count);
  }
  int reads = 0;
  members[1].window().before_read = [&] {
    if (++reads != number) return;
    members[0].operation().withdraw();
    std::ranges::fill(input[0], later);
    std::ranges::fill(output[0], later);
  };
  for (int step = 0; step < 500; ++step) {
    while (reads < number && members[0].step()) {
    }
    members[1].step();
  }
  if (reads < number) {
    EXPECT_TRUE(members[1].complete());
    return false;
  }
  EXPECT_EQ(reads, number) << "what is read can help nobody any more";
  EXPECT_FALSE(members[1].complete());
  members[1].operation().withdraw();
  return true;
}

TEST(SingleCopy, DoesNotCompleteWithWhatAMemberHasWrittenAfterItsOwnEnd) {
  for (const Collective collective :
       {Collective::broadcast, Collective::scatter, Collective::allgather, Collective::allreduce}) {
    SCOPED_TRACE(name_of(collective));
    int number = 1;
    while (end_during_read(number, collective) && !HasFailure()) ++number;
    EXPECT_GT(number, 2) << "or it reads nothing";
  }
}

// A member whose memory the others read waits for them, and nobody else does.
TEST(SingleCopy, OnlyThoseWhoGiveStayUntilAllHaveRead) {
  for (const Collective collective : {Collective::broadcast, Collective::scatter, Collective::allgather}) {
    SCOPED_TRACE(name_of(collective));
    SharedMemory shared(3, direct::payload_bytes + (std::size_t{1} << 18));
    std::vector<std::byte> input[3], output[3];
    Member members[3]{{shared, 0}, {shared, 1}, {shared, 2}};
    for (int self = 0; self < 3; ++self) {
      input[self].assign(3 * count, sent);
      output[self].assign(3 * count, std::byte{});
      members[self].begin(collective, input[self], output[self], count);
    }
    members[2].step();  // it announces its call, and is late from then on
    bool reads = false;
    members[2].window().before_read = [&] { reads = true; };
    for (int step = 0; step < 500; ++step) {
      members[0].step();
      members[1].step();
    }
    ASSERT_FALSE(reads);
    EXPECT_FALSE(members[0].complete());
    EXPECT_EQ(members[1].complete(), collective != Collective::allgather);
    for (int step = 0; step < 500; ++step) {
      for (Member& member : members) member.step();
    }
    for (const Member& member : members) EXPECT_TRUE(member.complete());
    EXPECT_TRUE(reads);
  }
}

}  // namespace
}  // namespace hocket::testing_support
