// What single copy makes of members that end the call before the others have read their memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "src/exec/reduce.hpp"
#include "tests/unit/exec/direct_member.hpp"

namespace hocket::testing {
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

constexpr std::size_t count = 200'000;
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

}  // namespace
}  // namespace hocket::testing
