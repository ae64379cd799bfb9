// Algorithms as people and tables choose them, in running groups.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

using testing::StartsWith;

std::string written(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  const std::string path = folder.file(name);
  std::ofstream(path) << text;
  return path;
}

struct ChoicePlace {
  int index, size;
};

// Makes a call and tells which algorithm ran it.
std::string algorithm_of(const Comm& comm, ChoicePlace place, Collective collective, std::size_t count) {
  Call({.collective = collective, .count = count}, place.index, place.size).run(comm.get());
  hocket_call_info info = HOCKET_CALL_INFO_INIT;
  EXPECT_EQ(hocket_last_call(&info), HOCKET_OK) << hocket_last_error();
  return info.algorithm;
}

TEST(Choice, GoesByCollectiveAndSize) {
  run_ranks(3, [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    ::setenv("HOCKET_ALGORITHM", "allreduce=linear:64,ring;broadcast=chain:64", 1);
    const Comm comm;
    const ChoicePlace place{child.index, child.size};
    ASSERT_TRUE(comm) << hocket_last_error();
    EXPECT_EQ(algorithm_of(comm, place, Collective::allreduce, 16), "linear");
    EXPECT_EQ(algorithm_of(comm, place, Collective::allreduce, 17), "ring");
    EXPECT_EQ(algorithm_of(comm, place, Collective::broadcast, 16), "chain");
    EXPECT_EQ(algorithm_of(comm, place, Collective::broadcast, 17), "binomial_tree");
  });
}

// Collectives of which nothing is said keep to the memory that all ranks share.
TEST(Choice, LeavesTheOtherCollectivesAlone) {
  run_ranks(2, [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "shm", 1);
    ::setenv("HOCKET_ALGORITHM", "allreduce=ring:64", 1);
    const Comm comm;
    const ChoicePlace place{child.index, child.size};
    ASSERT_TRUE(comm) << hocket_last_error();
    EXPECT_EQ(algorithm_of(comm, place, Collective::allreduce, 16), "ring");
    EXPECT_THAT(algorithm_of(comm, place, Collective::allreduce, 17), StartsWith("direct"));
    EXPECT_THAT(algorithm_of(comm, place, Collective::allgather, 16), StartsWith("direct"));
  });
}

// A name for all collectives is for those that have such an algorithm; the others run as if nothing had been said.
TEST(Choice, ByANameLeavesCollectivesAloneThatHaveNoSuchAlgorithm) {
  run_ranks(2, [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "shm", 1);
    ::setenv("HOCKET_ALGORITHM", "ring", 1);
    const Comm comm;
    const ChoicePlace place{child.index, child.size};
    ASSERT_TRUE(comm) << hocket_last_error();
    EXPECT_EQ(algorithm_of(comm, place, Collective::allreduce, 16), "ring");
    EXPECT_EQ(algorithm_of(comm, place, Collective::allgather, 16), "ring");
    EXPECT_THAT(algorithm_of(comm, place, Collective::broadcast, 16), StartsWith("direct"));
    EXPECT_THAT(algorithm_of(comm, place, Collective::alltoall, 16), StartsWith("direct"));
    EXPECT_THAT(algorithm_of(comm, place, Collective::barrier, 0), StartsWith("direct"));
  });
}

TEST(Choice, ComesFromTheTableOfTheGroupsShape) {
  const TemporaryFolder folder;
  const std::string table = written(folder, "table",
                                    "[3 ranks on 1 host]\nallreduce=chain_that_is_none\n"
                                    "[2 ranks on 1 host]\nallreduce=ring\n");
  const std::string right = written(folder, "right",
                                    "[3 ranks on 1 host]\nallreduce=binomial_tree:64,linear\nbroadcast=chain\n"
                                    "[2 ranks on 1 host]\nallreduce=ring\n");
  run_ranks(3, [&](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    ::setenv("HOCKET_TUNING", table.c_str(), 1);
    hocket_comm* none = nullptr;
    expect_result(hocket_comm_create(&none, nullptr), HOCKET_INVALID_ENVIRONMENT);
    expect_message_names("line 2");
    ::setenv("HOCKET_TUNING", right.c_str(), 1);
    ::setenv("HOCKET_ALGORITHM", "broadcast=binomial_tree:64", 1);  // goes before the table
    const Comm comm;
    const ChoicePlace place{child.index, child.size};
    ASSERT_TRUE(comm) << hocket_last_error();
    EXPECT_EQ(algorithm_of(comm, place, Collective::allreduce, 16), "binomial_tree");
    EXPECT_EQ(algorithm_of(comm, place, Collective::allreduce, 17), "linear");
    EXPECT_EQ(algorithm_of(comm, place, Collective::broadcast, 16), "binomial_tree");
    EXPECT_EQ(algorithm_of(comm, place, Collective::broadcast, 17), "chain");
    hocket_comm* made = nullptr;  // of another shape
    expect_result(hocket_comm_split(comm.get(), child.index == 2 ? HOCKET_NO_COLOR : 0, 0, &made, nullptr), HOCKET_OK);
    const Comm pair(made);
    if (child.index != 2) {
      EXPECT_EQ(algorithm_of(pair, {child.index, 2}, Collective::allreduce, 16), "ring");
    }
  });
}

TEST(Choice, ByDifferentTablesIsRefusedByName) {
  const TemporaryFolder folder;
  const std::string one = written(folder, "one", "[3 ranks on 1 host]\nallreduce=ring\n");
  const std::string other = written(folder, "other", "[3 ranks on 1 host]\nallreduce=linear\n");
  run_ranks(3, [&](Child& child) {
    ::setenv("HOCKET_TUNING", (child.index == 2 ? other : one).c_str(), 1);
    hocket_comm* comm = nullptr;
    expect_result(hocket_comm_create(&comm, nullptr), HOCKET_MISMATCH);
    expect_message_names("rank 2");
    expect_message_names("HOCKET_TUNING");
  });
}

TEST(Choice, ByATableThatIsNotThereIsRefused) {
  const TemporaryFolder folder;
  run_ranks(1, [&](Child&) {
    for (const std::string& path : {folder.file("none"), folder.path().string()}) {
      ::setenv("HOCKET_TUNING", path.c_str(), 1);
      hocket_comm* comm = nullptr;
      expect_result(hocket_comm_create(&comm, nullptr), HOCKET_INVALID_ENVIRONMENT);
      expect_message_names(path.c_str());
    }
  });
}

}  // namespace
}  // namespace hocket::process_testing
