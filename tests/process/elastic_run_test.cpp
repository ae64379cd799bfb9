// hocket-run --elastic with small shell programs.
#include "tests/process/support/elastic_run.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::Not;

// The third process, and the one that takes the place of rank 1, for which the others stay.
TEST(HocketRunElastic, TellsNewcomersThatTheyAreNone) {
  const Ran ran = run_command(
      "export PMI_RANK=7 PMI_SIZE=9 REPLACED=$(mktemp -u); $RUN -n 2 --elastic 1:3 --restarts 1 sh -c '"
      "echo ${RANK-none}/${WORLD_SIZE-none} ${PMI_RANK-gone} ${HOCKET_NEWCOMER-no} $LOCAL_RANK/$LOCAL_WORLD_SIZE "
      "${HOCKET_STORE%:*}; [ \"$RANK\" = 1 ] && exit 3; [ $LOCAL_RANK = 1 ] && : > $REPLACED; "
      "until [ -e $REPLACED ]; do sleep 0.01; done' | sort; rm $REPLACED");
  EXPECT_EQ(ran.out,
            "[0] 0/2 7 no 0/2 tcp://127.0.0.1\n"
            "[1] 1/2 7 no 1/2 tcp://127.0.0.1\n"
            "[1] none/none gone on 1/3 tcp://127.0.0.1\n"
            "[2] none/none gone on 2/3 tcp://127.0.0.1\n");
}

TEST(HocketRunElastic, ReplacesARankAndTakesWhatItHadStartedAway) {
  ElasticRun run({"--elastic", "1:2", "sh", "-c",
                  "[ \"$RANK\" = 1 ] && { sleep 300 & echo left $!; kill -9 $$; }; "
                  "[ -n \"$HOCKET_NEWCOMER\" ] && { echo new $LOCAL_RANK; exit 0; }; sleep 300 & wait"});
  run.expect_said("[1] new 1");
  run.expect_said("hocket-run: rank 1 was killed by signal 9 (Killed); a newcomer takes its place (restart 1 of 10).");
  run.expect_said("[1] left ");
  const std::string said = run.said();
  const std::string left = "/proc/" + std::to_string(std::stoi(said.substr(said.find("left ") + 5))) + "/stat";
  EXPECT_TRUE(ElasticRun::eventually([&] {
    const std::string stat = contents(left);
    return stat.empty() || stat.find(") Z") != std::string::npos;
  }));
  ::kill(run.process(0), SIGTERM);
}

TEST(HocketRunElastic, EndsWellIfThoseThatAreLeftDo) {
  const Ran ran = run_command("$RUN --elastic 2:3 --restarts 0 sh -c '[ $RANK = 2 ] && exit 5; sleep 0.3'");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.error, "hocket-run: rank 2 exited with status 5; going on with 2 ranks.\n");
}

TEST(HocketRunElastic, StartsNobodyOnceOthersHaveEndedWell) {
  const Ran ran = run_command(
      "f=$(mktemp -u); export f; $RUN --elastic 1:2 sh -c "
      "'[ $RANK = 0 ] && { : > $f; exit 0; }; while [ ! -e $f ]; do sleep 0.05; done; sleep 0.5; exit 5'; s=$?; rm $f; "
      "exit $s");
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.error, HasSubstr("rank 1 exited with status 5; going on without it, as others have ended well."));
}

TEST(HocketRunElastic, EndsWithTheStatusOfTheOneThatLeavesTooFew) {
  const Ran ran = run_command("$RUN --elastic 2:2 sh -c '[ $RANK = 1 ] && exit 5; exec sleep 90'");
  EXPECT_EQ(ran.status, 5);
  EXPECT_EQ(ran.error, "hocket-run: rank 1 exited with status 5; 1 rank is left, fewer than 2; the job ends.\n");
}

// A program that fails at once must not be started for ever.
TEST(HocketRunElastic, RestartsAreBounded) {
  const Ran ran = run_command("$RUN --elastic 1:1 --restarts 3 false");
  EXPECT_EQ(ran.status, 1);
  const Ran two = run_command("$RUN --elastic 1:2 --restarts 3 sh -c '[ $RANK = 0 ] && exec sleep 1; exit 4'");
  EXPECT_EQ(two.status, 0);
  EXPECT_THAT(two.error, HasSubstr("restart 3 of 3"));
  EXPECT_THAT(two.error, Not(HasSubstr("restart 4")));
  EXPECT_THAT(two.error, HasSubstr("going on with 1 rank: no restarts are left."));
}

// Nobody takes it in any more.
TEST(HocketRunElastic, EndsNewcomersThatWaitWhenTheJobHasEnded) {
  const Ran ran = run_command(
      "$RUN -n 1 --elastic 1:2 sh -c 'if [ -n \"$HOCKET_NEWCOMER\" ]; then exec '$SGD' --elastic --drawn 100; fi'");
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.error, HasSubstr("the job has ended; so does the newcomer that waited to be taken in."));
}

// Who waits there need not be of this job's launch: the only rank, which takes its time, is not taken for a newcomer.
TEST(HocketRunElastic, CountsNoNewcomersThatItHasNotStarted) {
  const Ran ran = run_command(
      "$RUN --elastic 1:2 --restarts 0 sh -c '[ $RANK = 1 ] && exit 5; "
      "HOCKET_NEWCOMER=on setsid '$SGD' --elastic --drawn 100 & p=$!; sleep 2; kill $p; echo done'");
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_EQ(ran.out, "[0] done\n");
  EXPECT_EQ(ran.error, "hocket-run: rank 1 exited with status 5; going on with 1 rank.\n");
}

TEST(HocketRunElastic, RefusesWrongUsage) {
  for (const char* bounds : {"2", "2:", ":2", "0:3", "4:2", "a:b", "2:4x", "2:1048577", "-1:2"}) {
    const Ran ran = run_command("$RUN --elastic=" + std::string(bounds) + " true");
    EXPECT_EQ(ran.status, 2) << bounds;
    EXPECT_THAT(ran.error, HasSubstr("--elastic: '" + std::string(bounds) + "' is not MIN:MAX")) << bounds;
  }
  const auto expect_refusal = [](const std::string& arguments, const std::string& sentence) {
    const Ran ran = run_command("$RUN " + arguments + " true");
    EXPECT_EQ(ran.status, 2) << arguments;
    EXPECT_THAT(ran.error, HasSubstr(sentence)) << arguments;
  };
  expect_refusal("--elastic ''", "--elastic: a value is missing");
  expect_refusal("-n 5 --elastic 2:4", "--ranks 5 is not within --elastic 2:4.");
  expect_refusal("-n 1 --elastic 2:4", "--ranks 1 is not within --elastic 2:4.");
  expect_refusal("-n 2 --restarts 1", "--restarts requires --elastic");
  expect_refusal("--elastic 2:4 --restarts -1", "--restarts: Value -1 not in range");
  expect_refusal("--elastic 2:4 --stdin", "--elastic goes without --stdin");
  expect_refusal("--elastic 2:4 --hosts localhost:4", "--elastic is for ranks of this machine, without --hosts.");
}

}  // namespace
}  // namespace hocket
