// What communicators made by a split cost, and what they do without.
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hocket/hocket.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/local_ranks.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

TEST(SplitAlone, CostsNeitherThreadsNorDescriptors) {
  run_ranks(3, [](Child& child) {
    const Comm parent;
    ASSERT_TRUE(parent);
    use(parent);
    const int descriptors = open_descriptors();
    const int threads = running_threads();
    const Comm made(split(parent, child.index, 0));
    ASSERT_TRUE(made);
    EXPECT_EQ(open_descriptors(), descriptors);
    EXPECT_EQ(running_threads(), threads);
    use(made);
    Call call({.count = 1000}, 0, 1);
    hocket_work* work = nullptr;
    expect_result(call.issue(made.get(), &work), HOCKET_OK);
    expect_result(hocket_work_test(work), HOCKET_OK);
    call.expect_correct();
    hocket_work_release(work);
    const Comm again(duplicate(made));
    use(again);
    EXPECT_EQ(open_descriptors(), descriptors);
    EXPECT_EQ(running_threads(), threads);
    expect_result(hocket_comm_abort(made.get(), "enough"), HOCKET_OK);
    expect_result(hocket_barrier(made.get(), nullptr, nullptr), HOCKET_ABORTED);
    use(again);
  });
}

TEST(SplitAlone, IsUsedFromSeveralThreads) {
  run_ranks(1, [](Child&) {
    const Comm parent;
    const Comm made(duplicate(parent));
    ASSERT_TRUE(made);
    std::vector<std::thread> threads;
    for (std::uint64_t salt = 1; salt <= 4; ++salt) {
      threads.emplace_back([&made, salt] {
        for (int round = 0; round < 200; ++round) {
          Call call({.count = 300, .salt = salt}, 0, 1);
          hocket_work* work = nullptr;
          expect_result(call.issue(made.get(), salt % 2 == 0 ? &work : nullptr), HOCKET_OK);
          call.expect_correct();
          hocket_work_release(work);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST(SplitStore, IsNotNeeded) {
  const std::string file = "/tmp/hocket-split-" + std::to_string(::getpid());
  ProcessGroup group(3, [&](Child& child) {
    ::setenv("HOCKET_STORE", ("file://" + file).c_str(), 1);
    const Comm parent;
    ASSERT_TRUE(parent);
    child.say("here");
    EXPECT_EQ(child.hear(), "store is gone");
    const Comm made(split(parent, child.index % 2, 0));
    ASSERT_TRUE(made);
    use(made);
  });
  group.hear_from_all("here");
  EXPECT_GT(std::filesystem::remove_all(file), 0U);
  for (int index = 0; index < 3; ++index) group.tell(index, "store is gone");
  group.expect_success();
}

class SplitThreads : public testing::TestWithParam<Links> {};

TEST_P(SplitThreads, RanksThatAreThreads) {
  run_ranks(1, [](Child&) {
    constexpr int size = 5;
    on_local_ranks(size, [](Communicator& parent) {
      const SplitOptions options{.share_links = GetParam() == Links::shared};
      std::optional<Communicator> half = parent.split(parent.rank() % 2, -parent.rank(), options);
      ASSERT_TRUE(half);
      Communicator again = half->duplicate(options);
      Communicator apart = again.duplicate();
      const std::vector<int> mine = {parent.rank()};
      std::vector<int> expected;
      for (int rank = size; rank-- > 0;) {
        if (rank % 2 == parent.rank() % 2) expected.push_back(rank);
      }
      for (Communicator* comm : {&again, &apart}) {
        std::vector<int> all(static_cast<std::size_t>(comm->size()));
        comm->allgather(mine, all);
        EXPECT_EQ(all, expected);
      }
      std::vector<int> everyone(size);
      parent.allgather(mine, everyone);
      EXPECT_EQ(everyone, (std::vector<int>{0, 1, 2, 3, 4}));
      const std::vector<std::int32_t> list = {4, 1};
      const auto pair = parent.subset(list, options);
      EXPECT_EQ(pair.has_value(), parent.rank() == 1 || parent.rank() == 4);
      if (pair) {
        EXPECT_EQ(pair->rank(), parent.rank() == 4 ? 0 : 1);
      }
      EXPECT_FALSE(parent.split(HOCKET_NO_COLOR, 0, options));
    });
  });
}

INSTANTIATE_TEST_SUITE_P(On, SplitThreads, testing::Values(Links::own, Links::shared),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::process_testing
