// Where rank 0 is, by the names that launchers tell.
#include "src/comm/host_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>
#include <utility>

namespace hocket::comm {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// Variables that hold as long as the object lives; an empty one is not set.
class Variables {
 public:
  explicit Variables(std::initializer_list<std::pair<const char*, const char*>> set) {
    for (const auto& [name, value] : set) {
      const char* const before = ::getenv(name);
      before_[name] = before == nullptr ? "" : before;
      put(name, value);
    }
  }
  ~Variables() {
    for (const auto& [name, value] : before_) put(name, value);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  static void put(const std::string& name, const std::string& value) {
    if (value.empty()) {
      ::unsetenv(name.c_str());
    } else {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }

  std::map<std::string, std::string> before_;
};

TEST(FirstHost, IsReadFromEveryFormOfAList) {
  EXPECT_EQ(first_host("node7"), "node7");
  EXPECT_EQ(first_host("b,a"), "b");
  EXPECT_EQ(first_host("node[01-03,07]"), "node01");
  EXPECT_EQ(first_host("node[007,9-12],login"), "node007");
  EXPECT_EQ(first_host("rack[2-3]n[10-19]"), "rack2n10");
  EXPECT_EQ(first_host("gpu[3].cluster.org,x"), "gpu3.cluster.org");
  EXPECT_EQ(first_host("a-b_c.d[1-2]"), "a-b_c.d1");
}

TEST(FirstHost, IsNotMadeUpFromWhatIsNoList) {
  for (const char* list :
       {"", ",a", "node[", "node[]", "node[a-b]", "node[-3]", "node[1-3", "a b", "a;b", "node]", "::1"}) {
    EXPECT_EQ(first_host(list), std::nullopt) << list;
  }
}

TEST(Slurm, NamesAPlaceThatIsTheSameForAStepAndAnotherForTheNext) {
  const Variables of_slurm{{"SLURM_STEP_NODELIST", "node[3-4]"},
                           {"SLURM_JOB_ID", "17"},
                           {"SLURM_STEP_ID", "0"},
                           {"SLURM_NODEID", "0"},
                           {"SLURM_PROCID", "0"}};
  const auto mine = meeting_point_by_slurm(0);
  ASSERT_TRUE(mine.ok() && *mine);
  EXPECT_THAT((*mine)->addresses, ElementsAre("node3"));
  const Variables of_another{{"SLURM_NODEID", "1"}, {"SLURM_PROCID", "5"}};
  EXPECT_EQ(meeting_point_by_slurm(5).value()->ports, (*mine)->ports);
  EXPECT_EQ(meeting_point_by_slurm(5).value()->name, (*mine)->name);
  const Variables of_the_next{std::pair("SLURM_STEP_ID", "1")};
  EXPECT_NE(meeting_point_by_slurm(5).value()->ports, (*mine)->ports);
  EXPECT_EQ(meeting_point_by_slurm(4).value(), std::nullopt) << "that rank is not Slurm's";
}

TEST(Slurm, HasToPutRank0OnTheFirstHost) {
  const Variables of_slurm{
      {"SLURM_STEP_NODELIST", "node[3-4]"}, {"SLURM_JOB_ID", "17"}, {"SLURM_NODEID", "1"}, {"SLURM_PROCID", "0"}};
  const auto point = meeting_point_by_slurm(0);
  EXPECT_EQ(point.status().code(), Code::invalid_environment);
  EXPECT_THAT(point.status().message(), AllOf(HasSubstr("arbitrary"), HasSubstr("MASTER_ADDR")));
}

TEST(Slurm, IsToldOfAListThatCannotBeRead) {
  const Variables of_slurm{{"SLURM_STEP_NODELIST", "node["}, {"SLURM_JOB_ID", "17"}, {"SLURM_PROCID", "0"}};
  const auto point = meeting_point_by_slurm(0);
  EXPECT_EQ(point.status().code(), Code::invalid_environment);
  EXPECT_THAT(point.status().message(), HasSubstr("SLURM_STEP_NODELIST is \"node[\""));
}

TEST(Pod0, HasTheDomainOfItsFellows) {
  const std::string hosts =
      "# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1 localhost ip6-localhost\n"
      "10.0.0.7\tjob-12.ranks.space.svc.cluster.local\tjob-12\n";
  EXPECT_EQ(name_of_pod_0("job-12", "12", hosts), "job-0.ranks.space.svc.cluster.local");
  EXPECT_EQ(name_of_pod_0("job-12", "2", hosts), std::nullopt) << "the name does not end with the index";
  EXPECT_EQ(name_of_pod_0("job-1", "1", hosts), std::nullopt) << "which is another pod's";
  EXPECT_EQ(name_of_pod_0("job-12", "12", "10.0.0.7 job-12\n"), std::nullopt) << "no subdomain";
  EXPECT_EQ(name_of_pod_0("job-12", "12", "#10.0.0.7 job-12.x job-12\n"), std::nullopt);
}

TEST(IndexedJob, IsOneWhereTheIndexIsTheRank) {
  const Variables pod{{"JOB_COMPLETION_INDEX", "2"}, {"HOCKET_RANK", ""}, {"RANK", ""},
                      {"OMPI_COMM_WORLD_RANK", ""},  {"PMI_RANK", ""},    {"SLURM_PROCID", ""}};
  EXPECT_TRUE(is_in_indexed_job(2));
  EXPECT_FALSE(is_in_indexed_job(1));
  const Variables below_a_launcher{std::pair("RANK", "2")};
  EXPECT_TRUE(is_in_indexed_job(2));
  const Variables below_another{std::pair("RANK", "3")};
  EXPECT_FALSE(is_in_indexed_job(3));
}

}  // namespace
}  // namespace hocket::comm
