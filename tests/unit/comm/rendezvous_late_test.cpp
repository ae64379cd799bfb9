// Ranks that come when a meeting is over.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/store/memory_store.hpp"
#include "src/store/open_store.hpp"
#include "src/store/store_server.hpp"
#include "tests/conformance/watched_store.hpp"
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

// Rank 0 of a job, over and over, each with a connection of its own.
class Leaders {
 public:
  explicit Leaders(std::string url) : url_(std::move(url)) { begin(); }
  ~Leaders() { end(); }
  void begin() {
    store_ = open_store(url_, generous()).value();
    current_ = join(*store_, ranks(0, 2));
  }
  void end() { (void)current_->fail(Status(Code::aborted, "by the test")); }
  Rendezvous& current() { return *current_; }

 private:
  const std::string url_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Rendezvous> current_;
};

// Rank 1 comes in while an epoch gathers, or after it. Before its request of that number, two more end and a third
// begins. It meets the rank 0 of that.
void come_after_a_rest(const std::string& url, int request, bool after_one) {
  Leaders leaders(url);
  if (after_one) leaders.end();
  const auto store = open_store(url, generous()).value();
  int requests = 0;
  std::optional<std::jthread> other;
  WatchedStore watched(*store, [&] {
    if (requests++ != request) return;
    for (int epoch = 0; epoch < 3; ++epoch) {
      leaders.end();
      leaders.begin();
    }
    other.emplace([&] { EXPECT_TRUE(exchange(leaders.current()).ok()); });
  });
  for (bool met = false; !met && !testing::Test::HasFailure();) {
    const auto rank_1 = join(watched, ranks(1, 2));
    const Status status = rank_1 ? exchange(*rank_1) : Status(Code::aborted, "not joined");
    met = status.ok();
    if (rank_1) met ? rank_1->finish() : (void)rank_1->fail(status);
  }
}

// However long a rank rests on its way, it does not wait for what has come and gone meanwhile.
TEST(Rendezvous, IsFoundByARankThatHasRestedWhileOthersFailed) {
  const auto server = StoreServer::start("127.0.0.1", 0);
  ASSERT_TRUE(server.ok()) << server.status().message();
  constexpr int to_wait_for_cards = 4, to_wait_for_an_epoch = 7;  // requests
  for (const bool after_one : {false, true}) {
    const int requests = after_one ? to_wait_for_an_epoch : to_wait_for_cards;
    for (int request = 0; request < requests && !HasFailure(); ++request) {
      SCOPED_TRACE(fmt::format("before request {}{}", request, after_one ? ", after an epoch" : ""));
      come_after_a_rest((*server)->url(), request, after_one);
    }
  }
}

}  // namespace
}  // namespace hocket::comm
