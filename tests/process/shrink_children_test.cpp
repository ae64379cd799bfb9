// Communicators made from others break, and the ranks that are left agree and go on in them.
#include <signal.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/process/support/agreeing.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"

namespace hocket::process_testing {
namespace {

constexpr int victim = 3;

hocket_comm* shrink_of(const Comm& comm) {
  hocket_comm* shrunk = nullptr;
  expect_result(hocket_comm_shrink(comm.get(), &shrunk, nullptr), HOCKET_OK);
  return shrunk;
}

void break_and_shrink(const Comm& comm, const std::vector<int>& left) {
  expect_result(allreduce_until_failure(comm.get(), 10, [] {}), HOCKET_PEER_LOST);
  const std::int32_t lost = last_cause().peer;
  const Agreed agreed = agree(comm.get(), 1);
  EXPECT_EQ(agreed.result, HOCKET_OK) << hocket_last_error();
  EXPECT_EQ(agreed.dead, std::vector<std::int32_t>{lost});
  const Comm shrunk(shrink_of(comm));
  ASSERT_TRUE(shrunk);
  EXPECT_EQ(size_of(shrunk), static_cast<int>(left.size()));
  std::int32_t previous = -1;
  expect_result(hocket_comm_previous_rank(shrunk.get(), 1, &previous), HOCKET_OK);
  EXPECT_EQ(previous, lost == 1 ? 2 : 1);
  EXPECT_EQ(members(shrunk, std::stoi(std::getenv("RANK"))), left);
  use(shrunk);
}

using ShrinkingChildren = OverTransports;

// Odd ranks lose one, in a child of theirs alone, in one of all, and in the parent; even ranks use theirs all the time.
TEST_P(ShrinkingChildren, GoOnWithoutADeadRank) {
  ProcessGroup group(ranks(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const bool odd = child.index % 2 == 1;
    const Comm half(split(comm, odd ? 1 : 0, -child.index));
    const Comm of_half(duplicate(half));
    const Comm all(duplicate(comm));
    use(half);
    child.say("here");
    EXPECT_EQ(child.hear(), "go");
    if (child.index == victim) ::raise(SIGKILL);
    if (odd) {
      break_and_shrink(of_half, {5, 1});
      break_and_shrink(half, {5, 1});
    } else {
      use(half);
    }
    break_and_shrink(all, {0, 1, 2, 4, 5});
    break_and_shrink(comm, {0, 1, 2, 4, 5});
    if (!odd) use(half);
  });
  group.hear_from_all("here");
  for (int rank = 0; rank < group.size(); ++rank) group.tell(rank, "go");
  group.expect_success(victim);
}

INSTANTIATE_TEST_SUITE_P(Process, ShrinkingChildren,
                         testing::Combine(testing::Values(Ranks(6), Ranks("001122")), testing::Values("tcp", "auto")));

}  // namespace
}  // namespace hocket::process_testing
