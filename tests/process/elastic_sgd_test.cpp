// Ranks of a training are killed from outside, and the others and newcomers go on with it.
#include <random>

#include "tests/process/support/elastic_run.hpp"

namespace hocket {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ElasticSgd : public testing::Test {
 protected:
  // An epoch takes a newcomer's start several times over, so whoever is killed in the first half of the training is
  // replaced before its end.
  std::vector<std::string> training(std::vector<std::string> flags, int epochs) const {
    for (const char* word :
         {"$SGD", "--elastic", "--network", "lenet", "--drawn", "240", "--batch", "24", "--rate", "0.01", "--json"}) {
      flags.emplace_back(word);
    }
    flags.insert(flags.end(), {folder_.file("json"), "--epochs", std::to_string(epochs)});
    return flags;
  }

  // What it has come to: every rank holds the same weights, and they are better than at first.
  json expect_learnt(ElasticRun& run) const {
    EXPECT_EQ(run.wait(), 0) << run.said();
    const json document = json::parse(contents(folder_.file("json")), nullptr, false);
    if (document.is_discarded()) {
      ADD_FAILURE() << "no JSON: " << run.said();
      return {{"changes", json::array()}};
    }
    EXPECT_EQ(document["ranks_hashes"].size(), document["ranks"].get<std::size_t>());
    for (const json& hash : document["ranks_hashes"]) EXPECT_EQ(hash, document["weights_hash"]);
    const double first = document["epochs"].front()["loss"], last = document["epochs"].back()["loss"];
    EXPECT_LT(last, first / 2);
    return document;
  }
  static int sum(const json& document, const char* what) {
    int all = 0;
    for (const json& change : document["changes"]) all += change[what].get<int>();
    return all;
  }

  const TemporaryFolder folder_;
};

// Its losses are those of a training in which nobody dies: no sample is left out, and none counts twice.
TEST_F(ElasticSgd, EachRankInTurnIsKilledAndReplaced) {
  constexpr int epochs = 40;
  ElasticRun run(training({"--elastic", "2:4"}, epochs));
  for (int place = 0; place < 4; ++place) {
    SCOPED_TRACE("place " + std::to_string(place));
    run.expect_said("epoch " + std::to_string(2 * place + 1) + ":");
    const pid_t victim = run.process(place);
    ::kill(victim, SIGKILL);
    run.expect_said("rank " + std::to_string(place) + " was killed by signal 9 (Killed); a newcomer takes its place");
    run.expect_said(" joined", place + 1);
    if (HasFatalFailure() || HasFailure()) return;
  }
  const json document = expect_learnt(run);
  EXPECT_EQ(document["ranks"], 4);
  EXPECT_EQ(sum(document, "lost"), 4) << document.dump();
  EXPECT_EQ(sum(document, "joined"), 4) << document.dump();
  ASSERT_EQ(document["epochs"].size(), static_cast<std::size_t>(epochs));
  const Ran alone = run_command("$SGD --network lenet --drawn 240 --batch 24 --rate 0.01 --epochs 12 --json -");
  const json undisturbed = json::parse(alone.out, nullptr, false);
  ASSERT_EQ(undisturbed["epochs"].size(), 12U);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(document["epochs"][i]["steps"], 10);
    const double loss = undisturbed["epochs"][i]["loss"];
    // Fewer ranks add up in another order, and what that rounds otherwise grows with the steps.
    const double tolerance = i < 9 ? 1e-3 : 1e-2;
    EXPECT_NEAR(document["epochs"][i]["loss"].get<double>(), loss, tolerance * loss) << i;
  }
}

// From the first moment on, also whoever is about to join, and several before the others have noticed.
TEST_F(ElasticSgd, ItEndsWellWheneverRanksAreKilled) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random{seed};
  for (int round = 0; round < 2; ++round) {
    ElasticRun run(training({"--elastic", "1:4", "--restarts", "100"}, 60));
    for (int kills = 0; kills < 8; ++kills) {
      const int place = static_cast<int>(random() % 4);
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 150));
      const pid_t victim = run.process(place);
      ::kill(victim, SIGKILL);
      run.process(place, victim);  // so that never all die at once
      if (HasFailure()) return;
    }
    expect_learnt(run);
    if (HasFailure()) return;
  }
}

TEST_F(ElasticSgd, ANewcomerMayDieBeforeItHasJoined) {
  ElasticRun run(training({"--elastic", "2:3"}, 20));
  run.expect_said("epoch 1:");
  pid_t victim = run.process(1);
  for (int kills = 0; kills < 4; ++kills) {
    ::kill(victim, SIGKILL);
    victim = run.process(1, victim);
  }
  run.expect_said("(restart 4 of 10)");
  const json document = expect_learnt(run);
  EXPECT_EQ(document["ranks"], 3);
}

TEST_F(ElasticSgd, WithoutRestartsItGoesOnWithFewer) {
  ElasticRun run(training({"--elastic", "1:3", "--restarts", "1"}, 20));
  run.expect_said("epoch 1:");
  pid_t victim = run.process(0);
  ::kill(victim, SIGKILL);
  run.expect_said("1 joined");
  ::kill(run.process(0, victim), SIGKILL);
  run.expect_said("rank 0 was killed by signal 9 (Killed); going on with 2 ranks: no restarts are left.");
  const json document = expect_learnt(run);
  EXPECT_EQ(document["ranks"], 2);
}

TEST_F(ElasticSgd, BelowTheLeastNumberOfRanksTheJobEnds) {
  ElasticRun run(training({"--elastic", "3:4", "--restarts", "0"}, 1'000'000));
  run.expect_said("epoch 1:");
  ::kill(run.process(0), SIGKILL);
  run.expect_said("rank 0 was killed by signal 9 (Killed); going on with 3 ranks.");
  run.expect_said("1 lost");
  ::kill(run.process(2), SIGKILL);
  EXPECT_EQ(run.wait(), 137);
  EXPECT_THAT(run.said(), HasSubstr("rank 2 was killed by signal 9 (Killed); 2 ranks are left, fewer than 3; the job "
                                    "ends."));
}

// All that had the weights are gone, while newcomers wait in vain for somebody to take them in.
TEST_F(ElasticSgd, WhereOnlyNewcomersAreLeftOneBeginsAnew) {
  ElasticRun run(training({"--elastic", "1:3"}, 12));
  run.expect_said("epoch 1:");
  const auto members = run.processes();
  ASSERT_EQ(members.size(), 3U);
  for (const int place : {0, 1}) ::kill(members.at(place), SIGSTOP);  // so that they take nobody in
  for (const int place : {2, 0, 1}) {
    ::kill(members.at(place), SIGKILL);
    run.process(place, members.at(place));
  }
  run.expect_said("no rank is left that could take newcomers in");
  run.expect_said("a new rank 0 takes its place, and the others in");
  const json document = expect_learnt(run);
  EXPECT_EQ(document["epochs"].size(), 12U);
}

// Without restarts, nobody can.
TEST_F(ElasticSgd, WhereNobodyCanBeginAnewTheJobEnds) {
  ElasticRun run(training({"--elastic", "1:2", "--restarts", "1"}, 1'000'000));
  run.expect_said("epoch 1:");
  const auto members = run.processes();
  ASSERT_EQ(members.size(), 2U);
  ::kill(members.at(0), SIGSTOP);
  ::kill(members.at(1), SIGKILL);
  run.process(1, members.at(1));
  ::kill(members.at(0), SIGKILL);
  EXPECT_EQ(run.wait(), 137);
  EXPECT_THAT(run.said(), HasSubstr("no rank is left that could take newcomers in, and no restarts are left; the job "
                                    "ends."));
}

TEST_F(ElasticSgd, ANewcomerWithOtherOptionsIsSentAway) {
  const Ran ran = run_command(
      "$RUN --elastic 1:2 --restarts 0 sh -c 'exec '$SGD' --elastic --drawn 600 --epochs 20 --seed $LOCAL_RANK'");
  EXPECT_EQ(ran.status, 0) << ran.out << ran.error;
  EXPECT_THAT(ran.error, HasSubstr("[1] hocket-sgd: This rank has different data or options from rank 0."));
  EXPECT_THAT(ran.error, HasSubstr("rank 1 exited with status 2; going on with 1 rank."));
  EXPECT_THAT(ran.out, HasSubstr("on the only rank"));
}

TEST_F(ElasticSgd, WrongUsageIsNamed) {
  const auto expect_refusal = [](const std::string& command, const std::string& sentence) {
    const Ran ran = run_command(command);
    EXPECT_EQ(ran.status, 2) << command << ran.error;
    EXPECT_THAT(ran.error, HasSubstr(sentence)) << command;
  };
  expect_refusal("unset RANK; $SGD --elastic", "--elastic is for ranks that a launcher replaces: hocket-run --elastic");
  expect_refusal("$SGD --elastic --ranks 2", "--ranks excludes --elastic");
  expect_refusal("$SGD --elastic --prove", "--elastic excludes --prove");
  expect_refusal("$SGD --elastic --batch-per-rank 4", "--elastic excludes --batch-per-rank: with --batch, a step has");
  expect_refusal("$RUN -n 1 $SGD --elastic --drawn 100 --batch 2",
                 "joining needs a store that does not end with a rank");
}

}  // namespace
}  // namespace hocket
