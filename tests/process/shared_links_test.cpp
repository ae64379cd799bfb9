// Communicators that run on their parent's links: what they cost, and what a family does together.
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "hocket/creation.hpp"
#include "hocket/hocket.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/with_comm.hpp"

namespace hocket::process_testing {
namespace {

// Over shared memory, over TCP, and over both.
class SharedLinks : public OverTransports {
 protected:
  static void run(const CommBody& body) { run_ranks_with_comm(ranks(), body); }
};

struct SharedLinksStarted {
  Call call;
  hocket_work* work = nullptr;

  SharedLinksStarted(const Case& what, const Comm& comm) : call(what, rank_of(comm), size_of(comm)) {
    expect_result(call.issue(comm.get(), &work), HOCKET_OK);
  }
  void expect_correct() {
    expect_result(hocket_work_wait(work, 0), HOCKET_OK);
    call.expect_correct();
    hocket_work_release(work);
  }
};

TEST_P(SharedLinks, DozensOfChildrenCostNeitherThreadsNorDescriptors) {
  run([](Child& child, const Comm& parent) {
    use(parent);
    const Comm first(duplicate(parent, Links::shared));
    use(first);
    expect_result(barrier(parent), HOCKET_OK);
    const int descriptors = open_descriptors();
    const int threads = running_threads();
    std::vector<std::optional<Comm>> children(40);
    for (int index = 0; index < 40; ++index) {
      auto& made = children[static_cast<std::size_t>(index)];
      if (index % 2 == 0) {
        made.emplace(split(parent, (child.index + index) % 3 == 0 ? 0 : 1, -child.index, Links::shared));
      } else {
        made.emplace(duplicate(index % 4 == 1 ? parent : *children[1], Links::shared));
      }
      ASSERT_TRUE(*made);
    }
    EXPECT_EQ(open_descriptors(), descriptors);
    EXPECT_EQ(running_threads(), threads);
    for (const auto& made : children) use(*made, 1, 50);
    EXPECT_EQ(running_threads(), threads);
    children.clear();
    use(parent);
  });
}

TEST_P(SharedLinks, MessagesAreCountedForEachCommunicator) {
  run([](Child& child, const Comm& parent) {
    const Comm twin(duplicate(parent, Links::shared));
    const Comm turned(split(parent, 0, -child.index, Links::shared));
    const int last = child.size - 1;
    for (int round = 0; round < 3; ++round) {
      for (const Comm* comm : {&parent, &turned, &twin, &turned}) {
        const int from = comm == &turned ? last : 0, to = last - from;
        const int rank = rank_of(*comm);
        float value = static_cast<float>(round);
        if (rank == from) {
          expect_result(hocket_send(&value, 1, HOCKET_FLOAT32, to, comm->get(), nullptr, nullptr), HOCKET_OK);
        } else if (rank == to) {
          value = -1;
          expect_result(hocket_recv(&value, 1, HOCKET_FLOAT32, from, comm->get(), nullptr, nullptr), HOCKET_OK);
          EXPECT_EQ(value, static_cast<float>(round));
        }
      }
    }
  });
}

// Calls of several members of a family in one group start together.
TEST_P(SharedLinks, GroupsOverSeveralMembers) {
  run([](Child& child, const Comm& parent) {
    const Comm half(split(parent, child.index % 2, 0, Links::shared));
    const Comm turned(split(parent, 0, -child.index, Links::shared));
    std::vector<Call> calls;
    std::uint64_t salt = 0;
    for (const Comm* comm : {&half, &parent, &turned}) {
      calls.emplace_back(Case{.count = 3000, .salt = ++salt}, rank_of(*comm), size_of(*comm));
    }
    const int next = (child.index + 1) % child.size, before = (child.index + child.size - 1) % child.size;
    int got = -1;
    expect_result(hocket_group_start(), HOCKET_OK);
    expect_result(hocket_send(&child.index, 1, HOCKET_INT32, next, parent.get(), nullptr, nullptr), HOCKET_OK);
    std::size_t index = 0;
    for (const Comm* comm : {&half, &parent, &turned}) calls[index++].issue(comm->get());
    expect_result(hocket_recv(&got, 1, HOCKET_INT32, before, parent.get(), nullptr, nullptr), HOCKET_OK);
    expect_result(hocket_group_end(nullptr), HOCKET_OK);
    EXPECT_EQ(got, before);
    for (const Call& call : calls) call.expect_correct();
  });
}

// What was started on a child that is destroyed comes to its end all the same, and nothing else is disturbed.
TEST_P(SharedLinks, AChildIsDestroyedWithWorkPending) {
  run([](Child& child, const Comm& parent) {
    std::optional<Comm> made;
    made.emplace(split(parent, 0, -child.index, Links::shared));
    std::vector<SharedLinksStarted> works;
    for (std::uint64_t salt = 1; salt <= 3; ++salt) works.emplace_back(Case{.count = 20'000, .salt = salt}, *made);
    made.reset();
    use(parent);
    for (SharedLinksStarted& work : works) work.expect_correct();
    use(parent);
  });
}

TEST_P(SharedLinks, TheParentIsDestroyedFirst) {
  run_ranks(ranks(), [](Child& child) {
    std::optional<Comm> parent;
    parent.emplace();
    const Comm made(split(*parent, 0, -child.index, Links::shared));
    SharedLinksStarted pending({.count = 20'000}, *parent);
    parent.reset();
    use(made);
    pending.expect_correct();
    const Comm grandchild(duplicate(made, Links::shared));
    const Comm stranger(duplicate(made, Links::own));
    use(grandchild);
    use(stranger);
  });
}

TEST_P(SharedLinks, CreationThatDoesNotWait) {
  run([](Child& child, const Comm& parent) {
    hocket_split_options options = HOCKET_SPLIT_OPTIONS_INIT;
    options.share_links = 1;
    hocket_creation* creation = nullptr;
    expect_result(hocket_comm_split_start(parent.get(), child.index % 2, 0, &creation, &options), HOCKET_OK);
    hocket_comm* raw = nullptr;
    expect_result(hocket_creation_wait(creation, 0, &raw), HOCKET_OK);
    hocket_creation_destroy(creation);
    const Comm made(raw);
    ASSERT_TRUE(made);
    use(made);
    use(parent);
  });
}

// Each communicator counts its own calls.
TEST_P(SharedLinks, CountersAreACommunicatorsOwn) {
  run([](Child&, const Comm& parent) {
    const Comm made(duplicate(parent, Links::shared));
    const auto operations = [](const Comm& comm) {
      hocket_counters counters = HOCKET_COUNTERS_INIT;
      expect_result(hocket_comm_counters(comm.get(), &counters), HOCKET_OK);
      return counters.operations;
    };
    const std::uint64_t before = operations(parent);
    for (int call = 0; call < 5; ++call) expect_result(barrier(made), HOCKET_OK);
    SharedLinksStarted({.count = 100}, made).expect_correct();
    EXPECT_EQ(operations(made), 6U);
    EXPECT_EQ(operations(parent), before);
  });
}

TEST_P(SharedLinks, DeterministicSumsAreThoseOfRankOrder) {
  run_ranks(ranks(), [](Child& child) {
    ::setenv("HOCKET_DETERMINISTIC", "1", 1);
    const Comm parent;
    for (const Comm& made :
         {Comm(split(parent, child.index % 2, -child.index, Links::shared)), Comm(duplicate(parent, Links::shared))}) {
      for (const std::size_t count : {3, 5000}) {
        Call({.count = count, .values = Values::rounding}, rank_of(made), size_of(made)).run(made.get());
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, SharedLinks,
                         testing::Combine(testing::Values(3, 5, "00111"), testing::Values("auto", "tcp")));

// Rows and columns of a grid have one rank in common, so no two of their calls have an order to keep.
TEST(SharedLinksThreads, RowsAndColumnsAreUsedAtOnce) {
  for (const char* transport : {"auto", "tcp"}) {
    run_ranks(4, [&](Child& child) {
      ::setenv("HOCKET_TRANSPORT", transport, 1);
      const Comm parent;
      const Comm row(split(parent, child.index / 2, 0, Links::shared));
      const Comm column(split(parent, child.index % 2, 0, Links::shared));
      std::vector<std::thread> threads;
      for (const Comm* comm : {&row, &column}) {
        threads.emplace_back([comm] {
          for (std::uint64_t round = 0; round < 20; ++round) use(*comm, round, 3000);
        });
      }
      for (std::thread& thread : threads) thread.join();
    });
  }
}

}  // namespace
}  // namespace hocket::process_testing
