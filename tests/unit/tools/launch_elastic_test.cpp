// What a launch decides when ranks of an elastic job end.
#include "tools/launch_elastic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <vector>

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

  int number = 4;
  bool can_start = true;
  std::vector<int> started;
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

}  // namespace
}  // namespace hocket::launch
