// Communicators made from others, between real processes.
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

// Over shared memory, over TCP, and over both; on links of their own or on the parent's.
class Split : public testing::TestWithParam<std::tuple<Ranks, std::string, Links>> {
 protected:
  static const Ranks& ranks() { return std::get<0>(GetParam()); }
  static hocket_comm* split(const Comm& parent, int color, int key) {
    return process_testing::split(parent, color, key, std::get<2>(GetParam()));
  }
  static hocket_comm* duplicate(const Comm& parent) {
    return process_testing::duplicate(parent, std::get<2>(GetParam()));
  }
  static hocket_comm* subset(const Comm& parent, const std::vector<int32_t>& list) {
    return process_testing::subset(parent, list, std::get<2>(GetParam()));
  }
  static void run(const std::function<void(Child&, const Comm&)>& body) {
    run_ranks(ranks(), [&](Child& child) {
      ::setenv("HOCKET_TRANSPORT", std::get<1>(GetParam()).c_str(), 1);
      const Comm parent;
      ASSERT_TRUE(parent);
      body(child, parent);
    });
  }
};

TEST_P(Split, EvenAndOddRanksFromTheLast) {
  run([](Child& child, const Comm& parent) {
    const Comm made(split(parent, child.index % 2, -child.index));
    ASSERT_TRUE(made);
    std::vector<int> expected;
    for (int rank = child.size; rank-- > 0;) {
      if (rank % 2 == child.index % 2) expected.push_back(rank);
    }
    EXPECT_EQ(members(made, child.index), expected);
    EXPECT_EQ(expected[static_cast<std::size_t>(rank_of(made))], child.index);
    use(made);
    use(parent);
  });
}

TEST_P(Split, EqualKeysKeepTheOrderOfTheParent) {
  run([](Child& child, const Comm& parent) {
    const Comm made(split(parent, 7, child.index == 0 ? 1 : 0));
    ASSERT_TRUE(made);
    std::vector<int> expected;
    for (int rank = 1; rank < child.size; ++rank) expected.push_back(rank);
    expected.push_back(0);
    EXPECT_EQ(members(made, child.index), expected);
  });
}

TEST_P(Split, WhoGivesNoColorTakesPartAndGetsNothing) {
  run([](Child& child, const Comm& parent) {
    const Comm made(split(parent, child.index == 1 ? HOCKET_NO_COLOR : 0, 0));
    EXPECT_EQ(static_cast<bool>(made), child.index != 1);
    if (made) {
      EXPECT_EQ(size_of(made), child.size == 1 ? 1 : child.size - 1);
      use(made);
    }
    const Comm none(split(parent, HOCKET_NO_COLOR, 0));
    EXPECT_FALSE(none);
    use(parent);
  });
}

TEST_P(Split, DuplicatesAndParentTakeTurns) {
  run([](Child& child, const Comm& parent) {
    const Comm first(duplicate(parent));
    const Comm second(duplicate(first));
    ASSERT_TRUE(first && second);
    EXPECT_EQ(rank_of(second), child.index);
    EXPECT_EQ(size_of(second), child.size);
    for (std::uint64_t round = 0; round < 5; ++round) {
      for (const Comm* comm : {&parent, &second, &first}) use(*comm, round);
    }
  });
}

// What is in flight on one need not be finished before a call on another.
TEST_P(Split, OperationsInFlightOnParentAndChildren) {
  run([](Child& child, const Comm& parent) {
    const Comm left(duplicate(parent));
    const Comm right(split(parent, 0, -child.index));
    ASSERT_TRUE(left && right);
    std::vector<Call> calls;
    std::vector<hocket_work*> works;
    std::uint64_t salt = 0;
    for (int round = 0; round < 10; ++round) {
      for (const Comm* comm : {&parent, &left, &right}) {
        calls.emplace_back(Case{.count = 20'000, .salt = ++salt}, rank_of(*comm), child.size);
        expect_result(calls.back().issue(comm->get(), &works.emplace_back()), HOCKET_OK);
      }
    }
    for (std::size_t index = works.size(); index-- > 0;) {
      expect_result(hocket_work_wait(works[index], 0), HOCKET_OK);
      calls[index].expect_correct();
      hocket_work_release(works[index]);
    }
  });
}

TEST_P(Split, OfASplit) {
  run([](Child& child, const Comm& parent) {
    const Comm half(split(parent, child.index < (child.size + 1) / 2 ? 0 : 1, 0));
    ASSERT_TRUE(half);
    const Comm quarter(split(half, rank_of(half) % 2, -rank_of(half)));
    ASSERT_TRUE(quarter);
    EXPECT_EQ(size_of(quarter), (size_of(half) + 1 - rank_of(half) % 2) / 2);
    use(quarter);
    use(half);
    use(parent);
  });
}

TEST_P(Split, ASubsetInTheOrderOfItsList) {
  run([](Child& child, const Comm& parent) {
    std::vector<int32_t> list;
    for (int rank = child.size; rank-- > child.size / 2;) list.push_back(rank);
    const Comm made(subset(parent, list));
    EXPECT_EQ(static_cast<bool>(made), child.index >= child.size / 2);
    if (made) {
      EXPECT_EQ(members(made, child.index), list);
      use(made);
    }
    EXPECT_FALSE(Comm(subset(parent, {})));
  });
}

class SplitAnew : public Split {};

TEST_P(SplitAnew, SeveralChildrenAreUsedFromThreads) {
  run([](Child& child, const Comm& parent) {
    const Comm all(duplicate(parent));
    const Comm some(split(parent, child.index % 2, 0));
    ASSERT_TRUE(all && some);
    std::vector<std::thread> threads;
    std::uint64_t salt = 0;
    for (const Comm* comm : {&parent, &all, &some}) {
      threads.emplace_back([comm, salt = ++salt * 100] {
        for (std::uint64_t round = 0; round < 10; ++round) use(*comm, salt + round, 5000);
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

TEST_P(Split, AChildOutlivesItsParentAndSiblings) {
  run_ranks(ranks(), [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", std::get<1>(GetParam()).c_str(), 1);
    std::optional<Comm> parent, sibling;
    parent.emplace();
    ASSERT_TRUE(*parent);
    sibling.emplace(duplicate(*parent));
    const Comm made(split(*parent, child.index % 2, 0));
    ASSERT_TRUE(made);
    parent.reset();
    use(made);
    sibling.reset();
    use(made);
    const Comm grandchild(duplicate(made));
    use(grandchild);
  });
}

TEST_P(Split, LeavesNothingBehind) {
  run([](Child& child, const Comm& parent) {
    const auto once = [&] {
      const Comm some(split(parent, child.index % 2, 0));
      const Comm all(duplicate(parent));
      use(some);
      use(all);
    };
    once();
    const int descriptors = open_descriptors();
    const int threads = running_threads();
    for (int round = 0; round < 3; ++round) once();
    EXPECT_EQ(running_threads(), threads);
    EXPECT_LE(open_descriptors(), descriptors + 2 * child.size);  // the parent may have connected to more ranks
  });
}

const auto anew = testing::Combine(testing::Values(1, 2, 3, 4, 5, "00111"), testing::Values("auto", "tcp"),
                                   testing::Values(Links::own));
INSTANTIATE_TEST_SUITE_P(Ranks, Split, anew);
INSTANTIATE_TEST_SUITE_P(Ranks, SplitAnew, anew);
INSTANTIATE_TEST_SUITE_P(SharedLinks, Split,
                         testing::Combine(testing::Values(3, 5, "00111"), testing::Values("auto", "tcp"),
                                          testing::Values(Links::shared)));

}  // namespace
}  // namespace hocket::process_testing
