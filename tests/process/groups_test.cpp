// Calls that start together between real processes: sendrecv, and groups of messages and collectives in any order.
#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/works.hpp"

namespace hocket::process_testing {
namespace {

// Calls of one rank that are kept until a group's end, on any of some communicators.
class GroupedCalls {
 public:
  GroupedCalls(Rank rank, Rank size) : rank_(rank), size_(size) {}

  void issue(hocket_comm* comm, const Case& what) {
    calls_.emplace_back(what, rank_, size_);
    EXPECT_EQ(calls_.back().issue(comm), HOCKET_OK) << describe(what) << ": " << hocket_last_error();
  }
  void expect_correct() const {
    for (const Call& call : calls_) call.expect_correct();
  }

 private:
  Rank rank_, size_;
  std::deque<Call> calls_;
};

// What all ranks do together, the same on every rank.
struct Traffic {
  struct Message {
    Rank from, to;
    Case what;
  };
  std::vector<Message> messages;
  std::vector<Case> collectives;
};

Traffic any_traffic(Rank size, std::size_t messages, std::size_t collectives, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](auto end) { return random() % static_cast<unsigned>(end); };
  Traffic traffic;
  for (std::size_t number = 0; number < messages; ++number) {
    const std::size_t count = number % 40 == 0 ? 50'000 + below(50'000) : below(700);
    traffic.messages.push_back({static_cast<Rank>(below(size)),
                                static_cast<Rank>(below(size)),
                                {.count = count, .dtype = all_data_types[below(3)], .salt = seed + number}});
  }
  constexpr Collective some[] = {Collective::allreduce, Collective::alltoall, Collective::broadcast,
                                 Collective::barrier};
  for (std::size_t number = 0; number < collectives; ++number) {
    traffic.collectives.push_back({.collective = some[below(std::size(some))],
                                   .count = below(3000),
                                   .root = static_cast<Rank>(below(size)),
                                   .salt = seed + 1000 + number});
    if (!info_of(traffic.collectives.back().collective).has_root()) traffic.collectives.back().root = 0;
  }
  return traffic;
}

// A rank's part of the traffic: a list for the collectives and for each direction to each rank, whose order counts.
std::vector<std::vector<Case>> part_of(const Traffic& traffic, Rank rank) {
  std::map<std::pair<Rank, bool>, std::vector<Case>> directions;
  for (const Traffic::Message& message : traffic.messages) {
    Case what = message.what;
    if (message.from == rank) {
      what.collective = Collective::send;
      what.root = message.to;
      directions[{message.to, true}].push_back(what);
    }
    if (message.to == rank) {
      what.collective = Collective::recv;
      what.root = message.from;
      directions[{message.from, false}].push_back(what);
    }
  }
  std::vector<std::vector<Case>> lists;
  for (auto& [direction, list] : directions) lists.push_back(std::move(list));
  if (!traffic.collectives.empty()) lists.push_back(traffic.collectives);
  return lists;
}

// Calls them in an order of this rank's own that keeps that of each list.
void issue_in_any_order(hocket_comm* comm, std::vector<std::vector<Case>> lists, GroupedCalls& calls,
                        std::mt19937& random) {
  std::vector<std::size_t> next;
  for (std::size_t list = 0; list < lists.size(); ++list) next.insert(next.end(), lists[list].size(), list);
  std::shuffle(next.begin(), next.end(), random);
  std::vector<std::size_t> at(lists.size());
  for (const std::size_t list : next) {
    calls.issue(comm, lists[list][at[list]++]);
    if (testing::Test::HasFailure()) return;
  }
}

class Groups : public OverTransports {};

TEST_P(Groups, HundredsOfMessagesInAnyOrder) {
  run_ranks(ranks(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    std::mt19937 random(static_cast<unsigned>(child.index));
    for (const bool asynchronous : {false, true}) {
      const Traffic traffic = any_traffic(child.size, 400, 0, asynchronous ? 20'000 : 10'000);
      GroupedCalls calls(child.index, child.size);
      EXPECT_EQ(hocket_group_start(), HOCKET_OK);
      issue_in_any_order(comm.get(), part_of(traffic, child.index), calls, random);
      hocket_work* work = nullptr;
      ASSERT_EQ(hocket_group_end(asynchronous ? &work : nullptr), HOCKET_OK) << hocket_last_error();
      if (asynchronous) wait_and_release(work);
      calls.expect_correct();
    }
  });
}

// All sends stand before all receives, in a circle, and no rank's first receive is among its first hundred calls: a
// library that looks only so far ahead would stand still.
TEST_P(Groups, WhatAPeerWaitsForStandsBehindManyOthers) {
  run_ranks(ranks(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const Rank right = (child.index + 1) % child.size, left = (child.index + child.size - 1) % child.size;
    GroupedCalls calls(child.index, child.size);
    EXPECT_EQ(hocket_group_start(), HOCKET_OK);
    for (const bool sends : {true, false}) {
      for (std::uint64_t number = 0; number < 150; ++number) {
        calls.issue(comm.get(), {.collective = sends ? Collective::send : Collective::recv,
                                 .count = number < 2 ? 300'000U : 10U,
                                 .root = sends ? right : left,
                                 .salt = number});
      }
    }
    ASSERT_EQ(hocket_group_end(nullptr), HOCKET_OK) << hocket_last_error();
    calls.expect_correct();
  });
}

// Groups that are in flight together, on two communicators at once, messages and collectives mixed.
TEST_P(Groups, OnTwoCommunicatorsWithCollectives) {
  run_ranks(ranks(), [](Child& child) {
    const Comm first;
    ASSERT_TRUE(first);
    hocket_comm* duplicate = nullptr;
    ASSERT_EQ(hocket_comm_duplicate(first.get(), &duplicate, nullptr), HOCKET_OK) << hocket_last_error();
    const Comm second(duplicate);
    std::mt19937 random(static_cast<unsigned>(child.index));
    std::deque<GroupedCalls> calls;
    std::vector<hocket_work*> works;
    for (unsigned round = 0; round < 3; ++round) {
      GroupedCalls& mine = calls.emplace_back(child.index, child.size);
      std::vector<std::pair<hocket_comm*, unsigned>> order = {{first.get(), 100 * round}, {second.get(), 7000 + round}};
      std::shuffle(order.begin(), order.end(), random);
      EXPECT_EQ(hocket_group_start(), HOCKET_OK);
      for (const auto& [comm, seed] : order) {
        issue_in_any_order(comm, part_of(any_traffic(child.size, 60, 15, seed), child.index), mine, random);
      }
      ASSERT_EQ(hocket_group_end(&works.emplace_back()), HOCKET_OK) << hocket_last_error();
    }
    for (hocket_work* work : works) ASSERT_NO_FATAL_FAILURE(wait_and_release(work));
    for (const GroupedCalls& mine : calls) mine.expect_correct();
    const Traffic last = any_traffic(child.size, 60, 15, 9000);
    GroupedCalls mine(child.index, child.size);
    EXPECT_EQ(hocket_group_start(), HOCKET_OK);
    for (hocket_comm* comm : {second.get(), first.get()}) {
      issue_in_any_order(comm, part_of(last, child.index), mine, random);
    }
    ASSERT_EQ(hocket_group_end(nullptr), HOCKET_OK) << hocket_last_error();
    mine.expect_correct();
  });
}

std::vector<int> numbers(std::size_t count, int from) {
  std::vector<int> made(count);
  std::iota(made.begin(), made.end(), from);
  return made;
}

// With every pair of peers at once: to and from at every distance, to == from and this very rank among them.
TEST_P(Groups, SendrecvAroundEveryCircle) {
  run_ranks(ranks(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (const bool asynchronous : {false, true}) {
      for (Rank distance = 0; distance < child.size; ++distance) {
        for (const std::size_t count : {0, 1, 500'000}) {
          const Rank to = (child.index + distance) % child.size;
          const Rank from = (child.index + child.size - distance) % child.size;
          const std::vector<int> sent = numbers(count, child.index);
          std::vector<int> received(count);
          hocket_work* work = nullptr;
          ASSERT_EQ(hocket_sendrecv(sent.data(), count, to, received.data(), count, from, HOCKET_INT32, comm.get(),
                                    nullptr, asynchronous ? &work : nullptr),
                    HOCKET_OK)
              << hocket_last_error();
          if (asynchronous) wait_and_release(work);
          EXPECT_EQ(received, numbers(count, from)) << "distance " << distance << ", count " << count;
        }
      }
    }
  });
}

// The counts of the two directions differ, and what one rank calls as one call another calls as two.
TEST_P(Groups, SendrecvMatchesSendsAndReceives) {
  run_ranks(ranks(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    if (child.index > 1) return;
    const Rank peer = 1 - child.index;
    const std::vector<int> sent = numbers(child.index == 0 ? 100'000 : 3, child.index);
    std::vector<int> received(child.index == 0 ? 3 : 100'000);
    if (child.index == 0) {
      ASSERT_EQ(hocket_sendrecv(sent.data(), sent.size(), peer, received.data(), received.size(), peer, HOCKET_INT32,
                                comm.get(), nullptr, nullptr),
                HOCKET_OK)
          << hocket_last_error();
    } else {
      EXPECT_EQ(hocket_recv(received.data(), received.size(), HOCKET_INT32, peer, comm.get(), nullptr, nullptr),
                HOCKET_OK);
      EXPECT_EQ(hocket_send(sent.data(), sent.size(), HOCKET_INT32, peer, comm.get(), nullptr, nullptr), HOCKET_OK);
    }
    EXPECT_EQ(received, numbers(received.size(), peer));
  });
}

// A message to oneself has no transport; the call made last, to another rank, has.
TEST_P(Groups, TellOfTheirLastCall) {
  run_ranks(ranks(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const Rank right = (child.index + 1) % child.size, left = (child.index + child.size - 1) % child.size;
    std::vector<int> sent(4, child.index), own(2), theirs(2);
    ASSERT_EQ(hocket_group_start(), HOCKET_OK);
    EXPECT_EQ(hocket_send(sent.data(), 2, HOCKET_INT32, child.index, comm.get(), nullptr, nullptr), HOCKET_OK);
    EXPECT_EQ(hocket_recv(own.data(), 2, HOCKET_INT32, child.index, comm.get(), nullptr, nullptr), HOCKET_OK);
    EXPECT_EQ(hocket_send(sent.data(), 2, HOCKET_INT32, right, comm.get(), nullptr, nullptr), HOCKET_OK);
    EXPECT_EQ(hocket_recv(theirs.data(), 2, HOCKET_INT32, left, comm.get(), nullptr, nullptr), HOCKET_OK);
    ASSERT_EQ(hocket_group_end(nullptr), HOCKET_OK) << hocket_last_error();
    hocket_call_info info = HOCKET_CALL_INFO_INIT;
    ASSERT_EQ(hocket_last_call(&info), HOCKET_OK);
    EXPECT_STRNE(info.transport, "none");
    EXPECT_EQ(own, std::vector<int>(2, child.index));
    EXPECT_EQ(theirs, std::vector<int>(2, left));
  });
}

INSTANTIATE_TEST_SUITE_P(Of, Groups, testing::Combine(testing::Values(2, 3, 5), testing::Values("tcp", "shm")));
INSTANTIATE_TEST_SUITE_P(Hosts, Groups, testing::Combine(testing::Values("0011", "01020"), testing::Values("auto")));

TEST(GroupOfOne, CostsNothing) {
  run_ranks(1, [](Child&) {
    const int descriptors = open_descriptors(), threads = running_threads();
    const Comm comm;
    ASSERT_TRUE(comm);
    const std::vector<int> sent = numbers(100'000, 5);
    std::vector<int> received(sent.size());
    EXPECT_EQ(hocket_sendrecv(sent.data(), sent.size(), 0, received.data(), received.size(), 0, HOCKET_INT32,
                              comm.get(), nullptr, nullptr),
              HOCKET_OK);
    EXPECT_EQ(received, sent);
    const Traffic traffic = any_traffic(1, 100, 10, 3);
    GroupedCalls calls(0, 1);
    std::mt19937 random(1);
    EXPECT_EQ(hocket_group_start(), HOCKET_OK);
    issue_in_any_order(comm.get(), part_of(traffic, 0), calls, random);
    hocket_work* work = nullptr;
    ASSERT_EQ(hocket_group_end(&work), HOCKET_OK) << hocket_last_error();
    EXPECT_EQ(hocket_work_test(work), HOCKET_OK) << "what a rank that is alone starts is done";
    calls.expect_correct();
    EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
    EXPECT_EQ(open_descriptors(), descriptors);
    EXPECT_EQ(running_threads(), threads);
  });
}

}  // namespace
}  // namespace hocket::process_testing
