#include "src/comm/rendezvous.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <thread>
#include <vector>

#include "src/base/fd.hpp"
#include "src/store/file_store.hpp"
#include "src/store/memory_store.hpp"
#include "src/store/open_store.hpp"
#include "src/store/store_server.hpp"
#include "tests/conformance/watched_store.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/comm/rendezvous_ranks.hpp"

namespace hocket::comm {
namespace {

TEST(Rendezvous, PassesOnWhyARankCouldNotJoinWithItsCode) {
  MemoryStore store;
  const auto first = join(store, ranks(0, 3)), second = join(store, ranks(1, 3));
  (void)first->fail(Status(Code::timeout, "rank 2 is missing"));
  const Status met = exchange(*second, {2});
  EXPECT_EQ(met.code(), Code::timeout);
  EXPECT_EQ(met.message(), "another rank could not join: rank 2 is missing");
}

// Whose message tells terminals what to do.
TEST(Rendezvous, ShowsWhatAStrangerWroteAsText) {
  MemoryStore store;
  const auto first = join(store, ranks(0, 2));
  ASSERT_TRUE(store.set("default/1/verdict", "failed 11 -1 \x1b[2J\x07gone", generous()).ok());
  const Status met = exchange(*first, {1});
  ASSERT_FALSE(met.ok());
  EXPECT_THAT(met.message(), testing::HasSubstr("\\x1b[2J\\x07gone"));
  EXPECT_THAT(met.message(), testing::Not(testing::HasSubstr("\x1b")));
}

// A process that stopped while it had the store's lock.
TEST(Rendezvous, FinishesAlthoughTheStoreDoesNotAnswerAnyMore) {
  const TemporaryFolder folder;
  const auto store = FileStore::open(folder.file("store"), generous());
  ASSERT_TRUE(store.ok()) << store.status().message();
  std::vector<std::unique_ptr<Rendezvous>> all;
  for (Rank rank = 0; rank < 2; ++rank) all.push_back(join(**store, ranks(rank, 2)));
  meet(all);
  const UniqueFd stopped(::open(folder.file("store").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(stopped.get(), LOCK_EX), 0);
  const Deadline long_before_that_of_creation = Deadline::after(generous().remaining() / 2);
  for (const auto& rank : all) rank->finish();
  EXPECT_FALSE(long_before_that_of_creation.passed());
}

TEST(Rendezvous, FinishesWithoutAWordToAServer) {
  const auto server = StoreServer::start("127.0.0.1", 0);
  ASSERT_TRUE(server.ok()) << server.status().message();
  const auto store = open_store((*server)->url(), generous());
  ASSERT_TRUE(store.ok()) << store.status().message();
  std::atomic<int> requests = 0;
  WatchedStore watched(**store, [&] { ++requests; });
  std::vector<std::unique_ptr<Rendezvous>> all;
  for (Rank rank = 0; rank < 2; ++rank) all.push_back(join(watched, ranks(rank, 2)));
  meet(all);
  requests = 0;
  for (const auto& rank : all) rank->finish();
  EXPECT_EQ(requests, 0);
}

// ---- meetings after meetings

// One rank that waited in vain, in good order.
void wait_in_vain(Store& store, const Options& options) {
  auto rank = Rendezvous::join(store, options, Deadline::after(std::chrono::milliseconds(50))).value();
  const Status met = exchange(*rank);
  EXPECT_EQ(met.code(), Code::timeout);
  EXPECT_EQ(rank->fail(met).code(), Code::timeout);
}

// Stands for memory that runs out in the thread that looks after the connection once a rank has met.
class ThrowingStore final : public WatchedStore {
 public:
  explicit ThrowingStore(Store& store) : WatchedStore(store, [] {}) {}
  Status connection() override {
    ++looks;
    looks.notify_all();
    throw std::bad_alloc();
  }
  std::atomic<int> looks = 0;
};

TEST(Rendezvous, OutlivesAnExceptionInItsThread) {
  const auto server = StoreServer::start("127.0.0.1", 0);
  ASSERT_TRUE(server.ok()) << server.status().message();
  const auto store = open_store((*server)->url(), generous());
  ASSERT_TRUE(store.ok()) << store.status().message();
  ThrowingStore throwing(**store);
  const auto alone = join(throwing, ranks(0, 1));
  ASSERT_NE(alone, nullptr);
  EXPECT_TRUE(exchange(*alone).ok());
  for (int looks = 0; looks < 2; looks = throwing.looks) throwing.looks.wait(looks);
  alone->finish();
}

TEST(Rendezvous, AfterAFailedOneMeetsAgainUnderTheSameName) {
  MemoryStore store;
  wait_in_vain(store, ranks(0, 2));
  std::vector<std::unique_ptr<Rendezvous>> all;
  for (Rank rank = 0; rank < 2; ++rank) all.push_back(join(store, ranks(rank, 2)));
  meet(all);
}

TEST(Rendezvous, OfAnotherSizeMayFollowUnderTheSameName) {
  MemoryStore store;
  for (const Rank size : {2, 3, 1, 2}) {
    std::vector<std::unique_ptr<Rendezvous>> all;
    for (Rank rank = 0; rank < size; ++rank) all.push_back(join(store, ranks(rank, size)));
    meet(all);
    for (const auto& rank : all) rank->finish();
  }
}

TEST(Rendezvous, KeepsNoMoreInTheStoreHoweverOftenRanksMeet) {
  MemoryStore store;
  std::size_t keys = 0;
  for (int round = 0; round < 10; ++round) {
    std::vector<std::unique_ptr<Rendezvous>> all;
    for (Rank rank = 0; rank < 3; ++rank) all.push_back(join(store, ranks(rank, 3)));
    meet(all);
    for (const auto& rank : all) rank->finish();
    if (round == 1) keys = store.list("", generous()).value().size();
  }
  EXPECT_EQ(store.list("", generous()).value().size(), keys);
}

// Another process, which does nothing.
class Idler {
 public:
  Idler() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    process_ = ::fork();
    if (process_ == 0) {
      const std::string text = ProcessIdentity::own().serialise();
      (void)!::write(ends[1], text.data(), text.size());
      for (;;) ::pause();
    }
    char text[1024];
    const ssize_t bytes = ::read(ends[0], text, sizeof text);
    identity = ProcessIdentity::parse({text, static_cast<std::size_t>(std::max<ssize_t>(bytes, 0))}).value();
    ::close(ends[0]);
    ::close(ends[1]);
  }
  ~Idler() { end(); }
  // It is not waited for yet: as a launcher leaves it that looks elsewhere.
  void kill() {
    ::kill(process_, SIGKILL);
    siginfo_t ended;
    ::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOWAIT);
  }
  void end() {
    kill();
    ::waitpid(process_, nullptr, 0);
  }
  ProcessIdentity identity;

 private:
  pid_t process_ = -1;
};

TEST(Rendezvous, RefusesARankThatALivingProcessHas) {
  MemoryStore store;
  const auto first = join(store, ranks(0, 2));
  Idler other;
  const ProcessIdentity& living = other.identity;
  const Claim claim{.process = living, .token = 1, .beat = 0};
  ASSERT_TRUE(store.set("default/1/place/1", claim.serialise(), generous()).ok());
  const auto refused = Rendezvous::join(store, ranks(1, 2), generous());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::rank_taken);
  EXPECT_THAT(refused.status().message(), testing::HasSubstr(living.describe()));
  other.kill();
  EXPECT_NE(join(store, ranks(1, 2)), nullptr);
}

// Out of sight, a process counts as gone when it shows no sign of life.
TEST(Rendezvous, TakesThePlaceOfAProcessOutOfSightThatShowsNoLife) {
  MemoryStore store;
  const auto first = join(store, ranks(0, 2));
  ProcessIdentity far = ProcessIdentity::own();
  far.kernel = "another";
  ASSERT_TRUE(store.set("default/1/place/1", Claim{.process = far, .token = 1}.serialise(), generous()).ok());
  const auto second = join(store, ranks(1, 2));
  ASSERT_NE(second, nullptr);
}

TEST(Rendezvous, RefusesTheRankOfAProcessOutOfSightThatShowsLife) {
  MemoryStore store;
  const auto first = join(store, ranks(0, 2));
  Claim claim{.process = ProcessIdentity::own(), .token = 1, .beat = 0};
  claim.process.kernel = "another";
  ASSERT_TRUE(store.set("default/1/place/1", claim.serialise(), generous()).ok());
  std::jthread beats([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ++claim.beat;
      EXPECT_TRUE(store.set("default/1/place/1", claim.serialise(), generous()).ok());
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  const auto refused = Rendezvous::join(store, ranks(1, 2), generous());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::rank_taken);
}

// Two creations of one process under one name, at the same time: they are two epochs.
TEST(Rendezvous, OfOneProcessTakeTurns) {
  MemoryStore store;
  std::barrier all_have_read(4);  // as in the ring, nobody leaves before
  const auto creation = [&](Rank rank) {
    return std::jthread([&store, &all_have_read, rank] {
      const auto joined = join(store, ranks(rank, 2));
      if (joined == nullptr) return;
      const Status met = exchange(*joined, {1 - rank});
      EXPECT_TRUE(met.ok()) << met.message();
      all_have_read.arrive_and_wait();
      joined->finish();
    });
  };
  const auto one = creation(0), two = creation(0), three = creation(1), four = creation(1);
}

}  // namespace
}  // namespace hocket::comm
