// Receives from any rank between real processes: every message once, in the order of its sender, and the right name.
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/works.hpp"

namespace hocket::process_testing {
namespace {

using Integers = std::vector<int>;

// What rank `from` sends as its number-th message.
Integers message(std::size_t count, Rank from, int number) {
  Integers values(count, 1000 * from);
  for (std::size_t i = 0; i < count; ++i) values[i] += number + static_cast<int>(i);
  return values;
}

void send(const Integers& values, Rank to, hocket_comm* comm, hocket_work** work = nullptr) {
  expect_result(hocket_send(values.data(), values.size(), HOCKET_INT32, to, comm, nullptr, work), HOCKET_OK);
}

void receive(Integers& values, Rank from, hocket_comm* comm, hocket_work** work = nullptr) {
  expect_result(hocket_recv(values.data(), values.size(), HOCKET_INT32, from, comm, nullptr, work), HOCKET_OK);
}

void receive_any(Integers& values, std::int32_t& source, hocket_comm* comm, hocket_work** work = nullptr) {
  expect_result(hocket_recv_any(values.data(), values.size(), HOCKET_INT32, &source, comm, nullptr, work), HOCKET_OK);
}

// One receive from any rank that may still be going on.
struct Pending {
  explicit Pending(std::size_t count) : values(count, -1) {}
  Integers values;
  std::int32_t source = no_rank;
  hocket_work* work = nullptr;
};

// Which message of each sender comes next.
class Arrivals {
 public:
  explicit Arrivals(Rank size) : next_(static_cast<std::size_t>(size)) {}
  void expect_next(const Pending& received) {
    ASSERT_GE(received.source, 0);
    ASSERT_LT(received.source, static_cast<Rank>(next_.size()));
    int& number = next_[static_cast<std::size_t>(received.source)];
    EXPECT_EQ(received.values, message(received.values.size(), received.source, number++));
  }
  int from(Rank rank) const { return next_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<int> next_;
};

class AnySource : public OverTransports {};

// The last rank receives, by blocking calls, by many that are pending together, and by groups; the others send when
// they like.
TEST_P(AnySource, EveryMessageComesOnceAndInTheOrderOfItsSender) {
  run_ranks(ranks(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const Rank receiver = child.size - 1;
    std::mt19937 random(static_cast<unsigned>(child.index));
    for (const auto& [count, each, at_once] :
         {std::tuple<std::size_t, int, int>{1, 60, 1}, {700, 60, 12}, {0, 8, 3}, {400'000, 6, 2}, {30'000, 20, 5}}) {
      if (child.index != receiver) {
        for (int number = 0; number < each; ++number) {
          if (random() % 4 == 0) ::usleep(static_cast<useconds_t>(random() % 400));
          send(message(count, child.index, number), receiver, comm.get());
        }
      } else {
        Arrivals arrivals(child.size);
        for (int left = each * receiver; left > 0;) {
          std::deque<Pending> receives;
          for (int i = 0; i < at_once && left > 0; ++i, --left) {
            Pending& one = receives.emplace_back(count);
            receive_any(one.values, one.source, comm.get(), at_once > 1 ? &one.work : nullptr);
          }
          for (Pending& one : receives) {
            if (one.work != nullptr) {
              ASSERT_NO_FATAL_FAILURE(wait_and_release(one.work));
            }
            ASSERT_NO_FATAL_FAILURE(arrivals.expect_next(one));
          }
        }
        for (Rank rank = 0; rank < receiver; ++rank) EXPECT_EQ(arrivals.from(rank), each);
      }
      expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
    }
  });
}

// All ranks send to all, themselves too, and receive as it comes; the works are waited for in any order.
TEST_P(AnySource, FromEveryoneToEveryoneInAGroup) {
  run_ranks(ranks(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (int round = 0; round < 8; ++round) {
      const std::size_t count = round == 3 ? 200'000 : 50;
      std::deque<Pending> receives;
      std::deque<Integers> sends;
      EXPECT_EQ(hocket_group_start(), HOCKET_OK);
      for (Rank peer = 0; peer < child.size; ++peer) {
        Pending& one = receives.emplace_back(count);
        receive_any(one.values, one.source, comm.get());
        send(sends.emplace_back(message(count, child.index, 10 * round + peer)), peer, comm.get());
      }
      hocket_work* work = nullptr;
      expect_result(hocket_group_end(round % 2 == 0 ? &work : nullptr), HOCKET_OK);
      if (round % 2 == 0) {
        ASSERT_NO_FATAL_FAILURE(wait_and_release(work));
      }
      std::vector<int> times(static_cast<std::size_t>(child.size));
      for (const Pending& one : receives) {
        ASSERT_TRUE(one.source >= 0 && one.source < child.size) << one.source;
        ++times[static_cast<std::size_t>(one.source)];
        EXPECT_EQ(one.values, message(count, one.source, 10 * round + child.index));
      }
      EXPECT_THAT(times, testing::Each(1));
      expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);  // or the faster rank is heard twice
    }
  });
}

// What others send for a collective that the receiver has not called yet is no message for it.
TEST_P(AnySource, BetweenCollectives) {
  run_ranks(ranks(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (int round = 0; round < 30; ++round) {
      const Rank root = round % child.size;
      Call sum({.count = 3000, .salt = static_cast<std::uint64_t>(round)}, child.index, child.size);
      Call all({.collective = Collective::alltoall, .count = 10}, child.index, child.size);
      std::deque<Pending> receives;
      hocket_work* works[2] = {};
      if (child.index == root) {
        for (Rank peer = 0; peer + 1 < child.size; ++peer) {
          Pending& one = receives.emplace_back(20);
          receive_any(one.values, one.source, comm.get(), round % 2 == 0 ? &one.work : nullptr);
        }
      } else {
        send(message(20, child.index, round), root, comm.get());
      }
      EXPECT_EQ(sum.issue(comm.get(), round % 3 == 0 ? &works[0] : nullptr), HOCKET_OK) << hocket_last_error();
      EXPECT_EQ(all.issue(comm.get(), round % 3 == 0 ? &works[1] : nullptr), HOCKET_OK) << hocket_last_error();
      for (hocket_work* work : works) {
        if (work != nullptr) {
          ASSERT_NO_FATAL_FAILURE(wait_and_release(work));
        }
      }
      sum.expect_correct();
      all.expect_correct();
      for (Pending& one : receives) {
        if (one.work != nullptr) {
          ASSERT_NO_FATAL_FAILURE(wait_and_release(one.work));
        }
        EXPECT_EQ(one.values, message(20, one.source, round));
      }
    }
  });
}

// A receive takes what comes after the receives before it and before those after it, as their calls stand.
TEST_P(AnySource, AmongReceivesFromNamedRanks) {
  run_ranks(ranks(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    constexpr std::size_t count = 40;
    if (child.index == 1) {
      Integers answer(1);
      if (child.size > 2) receive(answer, 0, comm.get());  // so rank 0 has received from another one before
      for (int number = 0; number < 4; ++number) send(message(count, 1, number), 0, comm.get());
    } else if (child.index == 2) {
      send(message(count, 2, 0), 0, comm.get());
    } else if (child.index == 0) {
      Pending first(count), any(count), third(count), last_any(count);
      receive(first.values, 1, comm.get(), &first.work);
      if (child.size > 2) {  // while the first one waits
        receive_any(any.values, any.source, comm.get());
        EXPECT_EQ(any.source, 2);
        EXPECT_EQ(any.values, message(count, 2, 0));
        EXPECT_EQ(hocket_work_test(first.work), HOCKET_IN_PROGRESS);
        send({7}, 1, comm.get());
      }
      receive_any(any.values, any.source, comm.get(), &any.work);
      receive(third.values, 1, comm.get(), &third.work);
      receive_any(last_any.values, last_any.source, comm.get(), &last_any.work);
      for (Pending* one : {&last_any, &third, &any, &first}) ASSERT_NO_FATAL_FAILURE(wait_and_release(one->work));
      int number = 0;
      for (const Pending* one : {&first, &any, &third, &last_any}) {
        EXPECT_EQ(one->values, message(count, 1, number++));
      }
      EXPECT_EQ(any.source, 1);
      EXPECT_EQ(last_any.source, 1);
    }
    Call({.count = 10}, child.index, child.size).run(comm.get());
  });
}

// Ranks are those of the communicator, also where children number them otherwise and share links with each other.
TEST_P(AnySource, InChildrenThatShareLinks) {
  run_ranks(ranks(), [](Child& child) {
    const Comm parent;
    ASSERT_TRUE(parent);
    hocket_split_options options = HOCKET_SPLIT_OPTIONS_INIT;
    options.share_links = 1;
    hocket_comm* made = nullptr;
    const Rank rank = child.size - 1 - child.index;
    ASSERT_EQ(hocket_comm_split(parent.get(), 0, rank, &made, &options), HOCKET_OK) << hocket_last_error();
    const Comm reversed(made);
    for (int round = 0; round < 5; ++round) {
      for (hocket_comm* comm : {reversed.get(), parent.get()}) {
        const Rank own = comm == parent.get() ? child.index : rank;
        if (own > 0) {
          send(message(30, own, round), 0, comm);
          continue;
        }
        std::vector<int> times(static_cast<std::size_t>(child.size));
        for (Rank peer = 1; peer < child.size; ++peer) {
          Pending one(30);
          receive_any(one.values, one.source, comm, peer % 2 == 0 ? &one.work : nullptr);
          if (one.work != nullptr) {
            ASSERT_NO_FATAL_FAILURE(wait_and_release(one.work));
          }
          EXPECT_EQ(one.values, message(30, one.source, round));
          ++times[static_cast<std::size_t>(one.source)];
        }
        EXPECT_EQ(std::count(times.begin(), times.end(), 1), child.size - 1);
      }
      expect_result(hocket_barrier(parent.get(), nullptr, nullptr), HOCKET_OK);
    }
  });
}

// All ranks are connected, and all messages there, when the first is received: nobody is heard only when the others
// have said all.
TEST_P(AnySource, SendersTakeTurns) {
  constexpr int each = 300;
  ProcessGroup group(ranks(), [&](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    Integers connecting = message(4, child.index, 0);
    for (Rank rank = 1; child.index == 0 && rank < child.size; ++rank) receive(connecting, rank, comm.get());
    if (child.index > 0) send(connecting, 0, comm.get());
    for (int number = 0; child.index > 0 && number < each; ++number) {
      send(message(4, child.index, number), 0, comm.get());
    }
    child.say("sent");
    if (child.index == 0) {
      EXPECT_EQ(child.hear(), "receive");
      Arrivals arrivals(child.size);
      const int turns = each / 2 * (child.size - 1);
      for (int turn = 0; turn < each * (child.size - 1); ++turn) {
        Pending one(4);
        receive_any(one.values, one.source, comm.get());
        ASSERT_NO_FATAL_FAILURE(arrivals.expect_next(one));
        for (Rank rank = 1; turn == turns && rank < child.size; ++rank) {
          EXPECT_GT(arrivals.from(rank), 0) << "rank " << rank << " was not heard in " << turns << " turns";
        }
      }
    }
    Call({.count = 10}, child.index, child.size).run(comm.get());
  });
  group.hear_from_all("sent");
  group.tell(0, "receive");
  group.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Of, AnySource, testing::Combine(testing::Values(2, 3, 5), testing::Values("tcp", "shm")));
INSTANTIATE_TEST_SUITE_P(Hosts, AnySource, testing::Combine(testing::Values("0011", "01020"), testing::Values("auto")));

}  // namespace
}  // namespace hocket::process_testing
