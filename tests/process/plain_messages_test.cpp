// Long messages that stay in plain memory of their senders, mostly with HOCKET_SINGLE_COPY=on.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/with_comm.hpp"
#include "tests/support/plain_memory.hpp"

namespace hocket::process_testing {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr std::size_t plain_count = 25'000;  // which the ring would hold

Words words_of(int rank, std::size_t round, std::size_t size) {
  Words words(size);
  for (std::size_t at = 0; at < size; ++at)
    words[at] = static_cast<std::uint32_t>(at * 7 + round * 1000 + 13) * 5 + static_cast<std::uint32_t>(rank);
  return words;
}

// Behind two messages each way either end knows what the other can read.
void pass_around(hocket_comm* comm, int rank, int size, std::size_t round, std::size_t words) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  const Words mine = words_of(rank, round, words);
  Words theirs(words);
  expect_result(
      hocket_sendrecv(mine.data(), words, right, theirs.data(), words, left, HOCKET_UINT32, comm, nullptr, nullptr),
      HOCKET_OK);
  EXPECT_EQ(theirs, words_of(left, round, words));
}

TEST(PlainMessages, AreReadWhereTheyLie) {
  if (!ranks_may_read_each_other()) GTEST_SKIP() << "this user may not read other processes' memory here";
  ProcessGroup group(2, [](Child& child) {
    ::setenv("HOCKET_SINGLE_COPY", "on", 1);
    const Comm comm;
    ASSERT_TRUE(comm);
    for (std::size_t round = 0; round < 2; ++round) pass_around(comm.get(), child.index, 2, round, plain_count);
    if (child.index == 0) {
      Words words(plain_count, 1);
      hocket_work* work = nullptr;
      expect_result(hocket_send(words.data(), plain_count, HOCKET_UINT32, 1, comm.get(), nullptr, &work), HOCKET_OK);
      std::ranges::fill(words, 2);  // which no sender may do, but shows where the receiver reads
      child.say("sent");
      expect_result(hocket_work_finish(work), HOCKET_OK);
    } else {
      (void)child.hear();
      Words words(plain_count);
      expect_result(hocket_recv(words.data(), plain_count, HOCKET_UINT32, 0, comm.get(), nullptr, nullptr), HOCKET_OK);
      EXPECT_EQ(words, Words(plain_count, 2));
    }
  });
  EXPECT_EQ(group.hear(0), "sent");
  group.tell(1, "receive");
  group.expect_success();
}

TEST(PlainMessages, ArriveWholeAndInOrder) {
  run_ranks(3, [](Child& child) {
    ::setenv("HOCKET_SINGLE_COPY", "on", 1);
    const Comm comm;
    ASSERT_TRUE(comm);
    std::size_t round = 0;
    for (const std::size_t words : {8'192, 20'000, 3, 70'001, 1'300'003, 8'191, 600'000}) {
      for (int time = 0; time < 3; ++time) pass_around(comm.get(), child.index, child.size, ++round, words);
    }
  });
}

// Two receives from one rank stay in their order; so do a send and a receive that start together, as a sendrecv does.
TEST(PlainMessages, OfAGroupArriveInTheOrderOfItsCalls) {
  run_ranks(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    constexpr std::size_t words = 40'000;
    for (std::size_t round = 0; round < 200; ++round) {
      const Words first = words_of(0, 2 * round, words), second = words_of(0, 2 * round + 1, words);
      Words got_first(words), got_second(words);
      expect_result(hocket_group_start(), HOCKET_OK);
      for (const auto& [sent, got] : {std::pair{&first, &got_first}, {&second, &got_second}}) {
        expect_result(child.index == 0
                          ? hocket_send(sent->data(), words, HOCKET_UINT32, 1, comm.get(), nullptr, nullptr)
                          : hocket_recv(got->data(), words, HOCKET_UINT32, 0, comm.get(), nullptr, nullptr),
                      HOCKET_OK);
      }
      expect_result(hocket_group_end(nullptr), HOCKET_OK);
      if (child.index == 1) {
        ASSERT_TRUE(got_first == first && got_second == second) << round;
      }
      pass_around(comm.get(), child.index, 2, round, words);  // of which most stay in place
    }
  });
}

}  // namespace
}  // namespace hocket::process_testing
