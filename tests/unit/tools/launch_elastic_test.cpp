// What a launch decides when ranks of an elastic job end.
#include "tools/launch_elastic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "src/comm/join.hpp"
#include "tests/process/program.hpp"
#include "tests/unit/store/raw_client.hpp"

namespace hocket::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CountedRanks : public Ranks {
 public:
  Status start() override { return {}; }
  void watch(std::vector<pollfd>&) const override {}
  int wait_ms() const override { return 0; }
  std::vector<End> progress() override { return {}; }
  void signal(int) override {}
  int running() const override { return number; }
  bool alive() const override { return number > 0; }
  int settling_ms() const override { return 0; }
  Status start_again(int rank, bool) override {
    if (!can_start) return {Code::out_of_resources, "Cannot start a process: no memory"};
    ++number;
    started.push_back(rank);
    return {};
  }

  void kill_one(int rank) override { killed.push_back(rank); }
  std::optional<int> rank_of(pid_t process) const override {
    return process == ::getpid() ? std::optional(0) : std::nullopt;
  }

  int number = 4;
  bool can_start = true;
  std::vector<int> started, killed;
};

class ElasticJobTest : public testing::Test {
 protected:
  ElasticJob::Decision die(ElasticJob& job, int rank) { return job.after({.rank = rank, .wait_status = SIGKILL}); }

  CountedRanks ranks_;
};

TEST_F(ElasticJobTest, DeathsOfOneMomentCountBeforeAnyIsReplaced) {
  ElasticJob job({.least = 2, .most = 4, .restarts = 10}, ranks_);
  ranks_.number = 1;
  const auto decision = die(job, 2);
  EXPECT_EQ(decision.ends_with, 128 + SIGKILL);
  EXPECT_EQ(decision.sentence, "1 rank is left, fewer than 2; the job ends");
  EXPECT_THAT(ranks_.started, IsEmpty());
}

TEST_F(ElasticJobTest, EachIsReplacedAsLongAsThereAreRestarts) {
  ElasticJob job({.least = 1, .most = 4, .restarts = 2}, ranks_);
  ranks_.number = 1;
  for (const int rank : {3, 0}) EXPECT_THAT(die(job, rank).sentence, HasSubstr("a newcomer takes its place (restart"));
  EXPECT_EQ(die(job, 1).sentence, "going on with 3 ranks: no restarts are left");
  EXPECT_THAT(ranks_.started, ElementsAre(3, 0));
}

TEST_F(ElasticJobTest, RanksThatEndedWellCountAsRanks) {
  ElasticJob job({.least = 3, .most = 4, .restarts = 2}, ranks_);
  ranks_.number = 1;
  for (const int rank : {0, 1}) EXPECT_THAT(job.after({.rank = rank}).sentence, IsEmpty());
  const auto decision = die(job, 2);
  EXPECT_FALSE(decision.ends_with.has_value());
  EXPECT_EQ(decision.sentence, "going on without it, as others have ended well");
  EXPECT_THAT(ranks_.started, IsEmpty());
}

TEST_F(ElasticJobTest, OneThatCannotBeStartedIsDoneWithout) {
  ElasticJob job({.least = 1, .most = 4, .restarts = 2}, ranks_);
  ranks_.number = 3;
  ranks_.can_start = false;
  const auto decision = die(job, 2);
  EXPECT_FALSE(decision.ends_with.has_value());
  EXPECT_EQ(decision.sentence, "going on without it: Cannot start a process: no memory");
}

// One rank is left, which is this process, and waits at the joining point.
class WaitingNewcomer : public ElasticJobTest {
 protected:
  void SetUp() override {
    ::setenv("HOCKET_STORE", ("file://" + folder_.path().string() + "/store").c_str(), 1);
    const auto request = comm::join_request(nullptr, nullptr, std::nullopt);
    ASSERT_TRUE(request.ok()) << request.status().message();
    auto point = comm::JoiningPoint::open(*request, Deadline::after(std::chrono::seconds(60)), {});
    ASSERT_TRUE(point.ok()) << point.status().message();
    point_ = std::move(*point);
    place_.emplace(point_->places(1, {}));
    ASSERT_TRUE(place_->take(0, 0, {}, Deadline::after(std::chrono::seconds(60))).ok());
    ranks_.number = 1;
  }
  void TearDown() override { ::unsetenv("HOCKET_STORE"); }

  // What is decided once the store has been asked.
  static ElasticJob::Decision decision_of(ElasticJob& job) {
    for (const auto deadline = Deadline::after(std::chrono::seconds(60)); !deadline.passed();) {
      if (auto decision = job.look(); !decision.sentence.empty()) return decision;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return {};
  }

  const TemporaryFolder folder_;
  std::unique_ptr<comm::JoiningPoint> point_;
  std::optional<comm::Places> place_;
};

TEST_F(WaitingNewcomer, IsEndedToBeginAnewAndNobodyLooksMeanwhile) {
  ElasticJob job({.least = 1, .most = 4, .restarts = 2}, ranks_);
  ranks_.can_start = false;
  die(job, 1);
  ranks_.can_start = true;
  EXPECT_THAT(decision_of(job).sentence, HasSubstr("the newcomer in place 0 is ended, to begin anew there"));
  EXPECT_THAT(ranks_.killed, ElementsAre(0));
  EXPECT_EQ(job.wait_ms(), -1) << "its end will tell";
  EXPECT_THAT(die(job, 0).sentence, HasSubstr("a new rank 0 takes its place"));
}

TEST_F(WaitingNewcomer, MayHaveEndedWellBeforeItWasEnded) {
  ElasticJob job({.least = 1, .most = 4, .restarts = 2}, ranks_);
  ranks_.can_start = false;
  die(job, 1);
  ASSERT_THAT(decision_of(job).sentence, HasSubstr("is ended, to begin anew there"));
  EXPECT_THAT(job.after({.rank = 0}).sentence, IsEmpty());
  EXPECT_EQ(decision_of(job).sentence, "the job has ended; so does the newcomer that waited to be taken in");
}

TEST_F(ElasticJobTest, NobodyWaitsForAStoreThatDoesNotAnswer) {
  store::RawListener silent;
  silent.listen();
  ::setenv("HOCKET_STORE", ("tcp://127.0.0.1:" + std::to_string(silent.port())).c_str(), 1);
  {
    ElasticJob job({.least = 1, .most = 4, .restarts = 2}, ranks_);
    ASSERT_THAT(job.after({.rank = 0}).sentence, IsEmpty());
    EXPECT_THAT(job.look().sentence, IsEmpty());
    EXPECT_GT(job.wait_ms(), 0) << "the answer is still to come";
  }
  ::unsetenv("HOCKET_STORE");
}

}  // namespace
}  // namespace hocket::launch
