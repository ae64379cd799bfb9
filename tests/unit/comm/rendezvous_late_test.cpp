// Ranks that come when a meeting is over.
#include <chrono>
#include <memory>
#include <vector>

#include "src/store/memory_store.hpp"
#include "tests/unit/comm/rendezvous_ranks.hpp"

namespace hocket::comm {
namespace {

// Rank 1 comes too late for a meeting that failed for this reason. How its creation ends, the second time if `again`,
// where no other meeting begins.
Status come_late(const Status& failure, const Visit& visit, bool again = false) {
  MemoryStore store;
  const auto leader = join(store, ranks(0, 3));
  EXPECT_EQ(leader->fail(failure).code(), failure.code());
  Visit first = visit, second = visit;
  const auto come = [&](Visit& own) {
    return Rendezvous::join(store, ranks(1, 3), Deadline::after(std::chrono::milliseconds(50)), {}, random_number(),
                            &own)
        .status();
  };
  const Status told = come(first);
  return again ? come(second) : told;
}

TEST(Rendezvous, ThatFailedInAStoreOfRank0IsToldToWhoComesLateOnce) {
  const Visit to_rank_0{.rank_0_serves = true}, to_daemon;
  const Status told = come_late(Rendezvous::lost(2), to_rank_0);
  EXPECT_EQ(told.code(), Code::peer_lost) << told.message();
  EXPECT_EQ(told.cause().peer, 2);
  EXPECT_EQ(come_late(Rendezvous::lost(2), to_rank_0, true).code(), Code::timeout) << "it creates again";
  EXPECT_EQ(come_late(Rendezvous::lost(1), to_rank_0).code(), Code::timeout) << "it stands in for the dead one";
  EXPECT_EQ(come_late(Rendezvous::lost(2), to_daemon).code(), Code::timeout) << "perhaps that of an earlier start";
}

TEST(Rendezvous, ThatFailedInAStoreOfRank0IsToldToItsMembersOnce) {
  MemoryStore store;
  const auto leader = join(store, ranks(0, 2));
  Visit visit{.rank_0_serves = true};
  const auto come = [&](Deadline deadline) {
    return Rendezvous::join(store, ranks(1, 2), deadline, {}, random_number(), &visit);
  };
  const auto member = come(generous());
  ASSERT_TRUE(member.ok()) << member.status().message();
  EXPECT_EQ(leader->fail(Status(Code::aborted, "by the test")).code(), Code::aborted);
  EXPECT_EQ((*member)->fail(exchange(**member)).code(), Code::aborted);
  EXPECT_EQ(come(Deadline::after(std::chrono::milliseconds(50))).status().code(), Code::timeout);
}

TEST(Rendezvous, SaysForWhichMeetingARankHasCome) {
  MemoryStore store;
  Visit visit;
  const auto come = [&](Deadline deadline) {
    return Rendezvous::join(store, ranks(1, 2), deadline, {}, random_number(), &visit);
  };
  EXPECT_EQ(come(Deadline::after(std::chrono::milliseconds(20))).status().code(), Code::timeout);
  EXPECT_EQ(visit.epoch, 1U) << "it waits for the first";
  std::vector<std::unique_ptr<Rendezvous>> all;
  all.push_back(join(store, ranks(0, 2)));
  all.push_back(come(generous()).value());
  EXPECT_EQ(visit.epoch, 1U) << "it is in the first";
  meet(all);
  for (const auto& rank : all) rank->finish();
  EXPECT_EQ(come(Deadline::after(std::chrono::milliseconds(20))).status().code(), Code::timeout);
  EXPECT_EQ(visit.epoch, 2U) << "it waits for the next";
}

}  // namespace
}  // namespace hocket::comm
