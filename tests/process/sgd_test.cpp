// hocket-sgd as a person runs it: any number of ranks learns what one process learns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/process/program.hpp"

namespace hocket {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

const std::string small = " --drawn 600 --hidden 24,16 --batch 60 --epochs 2 ";

json train(int ranks, const std::string& arguments) {
  const Ran ran =
      run_command("$RUN --no-label -n " + std::to_string(ranks) + " $SGD" + small + arguments + " --json -");
  EXPECT_EQ(ran.status, 0) << ran.error;
  const json document = json::parse(ran.out, nullptr, false);
  if (document.is_discarded()) ADD_FAILURE() << "not JSON: " << ran.out;
  return document;
}

void expect_same_losses(const json& one, const json& other) {
  ASSERT_EQ(one["epochs"].size(), other["epochs"].size());
  for (std::size_t i = 0; i < one["epochs"].size(); ++i) {
    const double loss = one["epochs"][i]["loss"];
    EXPECT_NEAR(loss, other["epochs"][i]["loss"].get<double>(), 1e-4 * loss) << i;
  }
}

TEST(Sgd, LearnsWithAnyNumberOfRanksWhatOneProcessLearns) {
  const json alone = train(1, "");
  EXPECT_LT(alone["epochs"].back()["loss"], alone["epochs"].front()["loss"]);
  for (const int ranks : {2, 3, 4}) {
    const json together = train(ranks, "");
    EXPECT_EQ(together["ranks"], ranks);
    expect_same_losses(alone, together);
  }
}

TEST(Sgd, LenetLearnsWithAnyNumberOfRanksWhatOneProcessLearns) {
  const std::string lenet = " --network lenet --drawn 240 --batch 24 --epochs 1 --json -";
  const auto train_lenet = [&](int ranks) {
    const Ran ran = run_command("$RUN --no-label -n " + std::to_string(ranks) + " $SGD" + lenet);
    EXPECT_EQ(ran.status, 0) << ran.error;  // 1 where the ranks' weights differ
    return json::parse(ran.out, nullptr, false);
  };
  const json alone = train_lenet(1);
  ASSERT_FALSE(alone.is_discarded());
  for (const int ranks : {2, 3}) expect_same_losses(alone, train_lenet(ranks));
}

TEST(Sgd, LarsAndWarmUpAreTheSameOnAnyNumberOfRanks) {
  const std::string rule = "--lars --rate 0.1 --trust 0.02 --weight-decay 0.001 --base-batch 30 --warmup-epochs 1";
  const json alone = train(1, rule), together = train(3, rule + " --transport tcp");
  expect_same_losses(alone, together);
  EXPECT_DOUBLE_EQ(together["epochs"].back()["rate"], 0.2);
}

// Two summands come to the same sum in any order, so with two ranks not even rounding may differ.
TEST(Sgd, BucketsDoNotChangeTheWeights) {
  const json whole = train(2, "--bucket-mb 100");
  EXPECT_EQ(whole["buckets"], 1);
  for (const std::string mode : {"--bucket-mb 0", "--bucket-mb 0 --overlap off", "--bucket-mb 0.01",
                                 "--bucket-mb 0.01 --overlap off", "--bucket-mb 0 --transport tcp --algorithm ring"}) {
    const json other = train(2, mode);
    EXPECT_GT(other["buckets"], 1) << mode;
    EXPECT_EQ(other["weights_hash"], whole["weights_hash"]) << mode;
  }
}

// With one order of summation, nothing may differ on three either.
TEST(Sgd, BucketsDoNotChangeTheWeightsOfThreeRanks) {
  const json whole = train(3, "--bucket-mb 100 --algorithm linear --transport tcp");
  const json tensors = train(3, "--bucket-mb 0 --algorithm linear --transport tcp");
  EXPECT_EQ(tensors["weights_hash"], whole["weights_hash"]);
  EXPECT_NE(train(3, "--seed 2")["weights_hash"], whole["weights_hash"]);
}

TEST(Sgd, ASummedGradientIsAnAverageWithALargerRate) {
  const json summed = train(2, "--gradients sum --rate 0.05"), averaged = train(2, "--rate 0.1");
  expect_same_losses(summed, averaged);
}

TEST(Sgd, TrainingThatDivergesSaysSo) {
  const std::string sentence = "training diverges. Try a smaller --rate.";
  const Ran grown = run_command("$SGD --rate 1000" + small);
  EXPECT_EQ(grown.status, 0) << grown.error;
  EXPECT_THAT(grown.error, HasSubstr(sentence)) << grown.out;
  const Ran lost = run_command("$RUN --no-label -n 2 $SGD --rate 1000000 --network lenet --drawn 240 --batch 24");
  EXPECT_EQ(lost.status, 1) << lost.out;
  EXPECT_THAT(lost.error, AllOf(HasSubstr("beyond all numbers"), HasSubstr(sentence)));
  const Ran well = run_command("$SGD" + small);
  EXPECT_THAT(well.error, testing::Not(HasSubstr("diverges")));
}

TEST(Sgd, TellsAPersonHowItGoes) {
  const Ran ran = run_command("$RUN --no-label -n 2 $SGD" + small);
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("epoch 2: loss"), HasSubstr("accuracy"), HasSubstr("on all 2 ranks")));
}

TEST(Sgd, RunsWithoutALauncher) {
  const Ran ran = run_command("$SGD --steps 3" + small);
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.out, HasSubstr("on the only rank"));
}

TEST(Sgd, WrongInputEndsAllRanksWithTheReason) {
  struct Wrong {
    const char* arguments;
    const char* reason;
  };
  for (const Wrong& wrong : {Wrong{"--data /nonexistent", "/nonexistent/train-images-idx3-ubyte"},
                             {"--data ''", "--data: a value is missing"},
                             {"--drawn 2 --batch 2", "3 ranks but 2 samples"},
                             {"--batch 2", "less than one sample for each of 3 ranks"},
                             {"--batch 100000", "Choose a smaller batch"},
                             {"--hidden -3", "--hidden"},
                             {"--rate nan", "--rate: 'nan' is not a number from 0 to 1000000"},
                             {"--momentum -inf", "--momentum: '-inf' is not a number from 0 to 1"},
                             {"--momentum 1", "--momentum: '1' is too much"},
                             {"--trust 0.1", "--trust requires --lars"},
                             {"--transport nosuch --drawn 600", "there is no transport \"nosuch\""},
                             {"--algorithm nosuch --drawn 600", "there is no algorithm \"nosuch\""},
                             {"--steps -1", "--steps"},
                             {"--seed -1", "--seed"},
                             {"--network lenet --hidden 8", "--hidden is for --network perceptron"},
                             {"--gradients product", "--gradients: 'product' is not one of average, sum."},
                             {"--gradients 1", "--gradients: '1' is not one of average, sum."},
                             {"--overlap 1", "--overlap: '1' is not one of on, off."},
                             {"--network 0", "--network: '0' is not one of perceptron, lenet."},
                             {"--network cnn", "--network: 'cnn' is not one of perceptron, lenet."},
                             {"--json /nonexistent/x --drawn 600", "Cannot write /nonexistent/x"}}) {
    const Ran ran = run_command(std::string("$RUN -n 3 $SGD ") + wrong.arguments);
    EXPECT_EQ(ran.status, 2) << wrong.arguments << ran.out << ran.error;
    EXPECT_THAT(ran.error, HasSubstr(wrong.reason)) << wrong.arguments;
  }
}

// Only rank 1 has something wrong; whoever is heard says what.
TEST(Sgd, OneRanksProblemEndsAllWithItsReason) {
  const Ran ran = run_command(
      "$RUN -n 3 sh -c 'if [ $RANK = 1 ]; then exec '$SGD' --data /nonexistent; else exec '$SGD' --drawn 100; fi'");
  EXPECT_EQ(ran.status, 2) << ran.out << ran.error;
  EXPECT_THAT(ran.error, HasSubstr("Rank 1: There is neither /nonexistent/train-images"));
}

TEST(Sgd, RanksThatWereStartedDifferentlyAreFoundOut) {
  const Ran ran = run_command("$RUN -n 3 sh -c 'exec '$SGD' --drawn 100 --batch $((RANK / 2 + 50))'");
  EXPECT_EQ(ran.status, 2) << ran.out << ran.error;
  EXPECT_THAT(ran.error, HasSubstr("Rank 2 has different data or options from rank 0"));
}

}  // namespace
}  // namespace hocket
