// Ranks that others than hocket-run start. What MPI's launchers tell is enough: no further variable is set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "src/comm/key_space.hpp"
#include "tests/process/support/launched.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string mpirun_of(const std::string& mpi) {
  return "mpirun." + mpi + (mpi == "openmpi" ? " --allow-run-as-root --oversubscribe" : "");
}

class Mpirun : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!is_there("mpirun." + GetParam())) GTEST_SKIP() << "needs mpirun." << GetParam();
  }
};

TEST_P(Mpirun, NeedsNoFurtherVariable) {
  expect_measured(run_as_launched(mpirun_of(GetParam()) + " -n 3" + measure), 3);
}

TEST_P(Mpirun, MayStartRanksByWrappers) {
  const std::string wrapped =
      mpirun_of(GetParam()) + " -n 2 sh -c 'sh -c \"\\\"$0\\\" allreduce -b 4 -e 4 -n 3; exit $?\"; exit $?'";
  expect_measured(run_as_launched(wrapped + " $BENCH"), 2);
}

// Each in a temporary folder of its own: two of Open MPI's may fail while one makes what the other removes.
TEST_P(Mpirun, KeepsJobsApartThatRunAtTheSameTime) {
  const std::string one = mpirun_of(GetParam()) + " -n 2" + measure;
  const Ran ran = run_as_launched("mkdir $0.tmp; TMPDIR=$0.tmp " + one + "> $0.first & first=$!; " + one +
                                  "> $0.second; second=$?; wait $first && exit $second");
  EXPECT_EQ(ran.status, 0) << ran.error;
}

INSTANTIATE_TEST_SUITE_P(Of, Mpirun, testing::Values("openmpi", "mpich"), [](const auto& mpi) { return mpi.param; });

// The same with a launcher that is always there: a shell that sets what Open MPI sets.
std::string start_like_mpi(int ranks, const std::string& more) {
  const std::string size = std::to_string(ranks);
  return "jobs=; for rank in $(seq 0 " + std::to_string(ranks - 1) +
         "); do OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=" + size + " OMPI_COMM_WORLD_LOCAL_SIZE=" + more +
         measure +
         "& jobs=\"$jobs $!\"; done; status=0; for job in $jobs; do wait $job || status=$?; done; exit $status";
}

TEST(Launcher, OfMpiNamesTheJobByItself) {
  expect_measured(run_as_launched(start_like_mpi(3, "3")), 3);
}

TEST(Launcher, OnSeveralHostsAsksForAMeetingPoint) {
  const Ran ran = run_as_launched(start_like_mpi(2, "1"));
  EXPECT_NE(ran.status, 0);
  EXPECT_THAT(ran.error, HasSubstr("several hosts"));
  EXPECT_THAT(ran.error, HasSubstr("MASTER_ADDR"));
}

TEST(Launcher, ThatIsNoneIsAskedFor) {
  const Ran ran = run_as_launched("RANK=0 WORLD_SIZE=2" + std::string(measure));
  EXPECT_NE(ran.status, 0);
  EXPECT_THAT(ran.error, HasSubstr("MASTER_ADDR is not set"));
}

// Two ranks of a launch whose daemon never answers a call of PMIx.
Ran run_with_stuck_pmix(const std::string& call, int timeout_ms) {
  return run_as_launched(
      "mkdir $0.d && cc -shared -fPIC -Wl,-soname,libpmix.so.2 -o $0.d/libpmix.so.2 " HOCKET_SOURCE_FOLDER
      "/tests/process/support/stuck_pmix.c || exit\n"
      "export TOLD=$0.d/told LD_LIBRARY_PATH=$0.d STUCK=" +
      call + " HOCKET_SOCKET_IFNAME=lo PMIX_NAMESPACE=launch OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=1\n" +
      "export HOCKET_TIMEOUT_MS=" + std::to_string(timeout_ms) +
      "\nrank() { PMIX_RANK=$1 OMPI_COMM_WORLD_RANK=$1 timeout -s KILL 60" + measure +
      "; }\nrank 1 & rank 0; status=$?; wait $! && exit $status");
}

class StuckPmix : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_there("cc")) GTEST_SKIP() << "needs cc";
    if (!comm::pmix_usable().ok()) GTEST_SKIP() << comm::pmix_usable().message();
  }
};

TEST_F(StuckPmix, DoesNotKeepAProcessFromItsEnd) {
  const Ran ran = run_with_stuck_pmix("finalize", 60000);
  expect_measured(ran, 2);
  EXPECT_THAT(ran.error, HasSubstr("called finalize"));
}

TEST_F(StuckPmix, IsNotCalledAgainAfterATimeout) {
  const Ran ran = run_with_stuck_pmix("fence", 500);
  EXPECT_EQ(ran.status, 3) << ran.error;
  EXPECT_THAT(ran.error, HasSubstr("not all ranks came to the launcher's fence (PMIx) in time"));
  EXPECT_THAT(ran.error, Not(HasSubstr("called finalize")));
}

TEST(Environment, OfAnotherProgramDoesNoHarm) {
  const Ran foreign =
      run_command("HOCKET_ROOT=/opt HOCKET_STORE_PORT=tcp://10.0.0.1:80" + std::string(measure) + "--ranks 2");
  expect_measured(foreign, 2);
  EXPECT_THAT(foreign.error, Not(HasSubstr("HOCKET_")));
}

TEST(Environment, WithAMisspeltNameIsTold) {
  const Ran ran = run_command("HOCKET_TRANSPROT=tcp" + std::string(measure) + "--ranks 2");
  expect_measured(ran, 2);
  EXPECT_THAT(ran.error, HasSubstr("HOCKET_TRANSPROT is not a variable that Hocket knows and is ignored; did you mean "
                                   "HOCKET_TRANSPORT?"));
}

}  // namespace
}  // namespace hocket
