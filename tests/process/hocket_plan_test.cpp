// hocket-plan as a person runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "src/plan/tuning.hpp"
#include "tests/process/plan_program.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(HocketPlan, ListsTheCatalog) {
  const Ran outcome = plan_says("list");
  EXPECT_EQ(outcome.status, 0);
  for (const char* word : {"allreduce", "ring", "recursive_doubling", "alltoall", "pairwise", "dissemination"}) {
    EXPECT_THAT(outcome.out, HasSubstr(word));
  }
}

TEST(HocketPlan, PrintsTheStepsOfARank) {
  const Ran outcome = plan_says("print allreduce --algorithm ring --ranks 3 --rank 1");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("ring allreduce on 3 ranks, out of place, 3 chunks"));
  EXPECT_THAT(outcome.out, HasSubstr("0  send to rank 2: input 0\n"));
  EXPECT_THAT(outcome.out, HasSubstr("1  recv_reduce from rank 0: output 2 = input 2 + message\n"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("2  send to rank 2: output 2 +after 1\n"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("rank 2,")));  // no section of another rank
}

TEST(HocketPlan, PrintsWhatInPlaceChanges) {
  EXPECT_THAT(plan_says("print allgather --algorithm ring --ranks 2").out, HasSubstr("copy: output 1 = input 1"));
  EXPECT_THAT(plan_says("print allgather --algorithm ring --ranks 2 --in-place").out, Not(HasSubstr("copy")));
}

TEST(HocketPlan, PrintsTheOnlyAlgorithmWithoutItsName) {
  const Ran outcome = plan_says("print send --ranks 4 --root 3 --rank 2");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("direct send on 4 ranks, peer 3"));
  EXPECT_THAT(outcome.out, HasSubstr("send to rank 3: input 0"));
}

TEST(HocketPlan, VerifiesWhatIsAskedFor) {
  const Ran outcome = plan_says("verify allreduce --algorithm ring --ranks 2-5,16");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("All passed."));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("allreduce +ring +2-5,16"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("two_shot")));
}

TEST(HocketPlan, VerifiesTheWholeCatalog) {
  const Ran outcome = plan_says("verify --ranks 1-4");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  for (const char* name : {"one_shot", "binomial_tree", "pairwise", "dissemination", "direct"}) {
    EXPECT_THAT(outcome.out, HasSubstr(name));
  }
}

TEST(HocketPlan, TellsWhatIsChosenBySize) {
  const Ran all = plan_says("choose allreduce --ranks 4");
  EXPECT_EQ(all.status, 0) << all.out;
  EXPECT_THAT(all.out, HasSubstr("  0 to "));
  EXPECT_THAT(all.out, HasSubstr("  from "));
  const Ran one = plan_says("choose barrier --ranks 4 --bytes 64K");
  EXPECT_EQ(one.status, 0) << one.out;
  EXPECT_THAT(one.out, HasSubstr("dissemination:"));
  EXPECT_THAT(plan_says("choose barrier --ranks 4 --cores 4").out, HasSubstr("dissemination"));
  EXPECT_THAT(plan_says("choose barrier --ranks 4 --cores 2").out, HasSubstr("linear"));
  const Ran crowded = plan_says("choose allgather --ranks 8 --cores 2 --bytes 1M");
  EXPECT_THAT(crowded.out, HasSubstr("circulant:"));
  EXPECT_THAT(crowded.out,
              HasSubstr("Class one-host-2-cores; decided by measured/one-host-2-cores [8-16 ranks], up to 1M."));
  EXPECT_THAT(plan_says("choose allgather_v --ranks 8 --bytes 1M").out, HasSubstr("direct:"));
}

TEST(HocketPlan, KnowsHosts) {
  const Ran printed = plan_says("print allreduce --algorithm two_level --hosts 2,1 --rank 0");
  EXPECT_EQ(printed.status, 0) << printed.out;
  EXPECT_THAT(printed.out, HasSubstr("two_level allreduce on 3 ranks on hosts of 2,1, out of place, 2 chunks"));
  EXPECT_THAT(printed.out, HasSubstr("recv_reduce from rank 1: output 1 = input 1 + message"));
  const Ran chosen = plan_says("choose allreduce --hosts 4,4,2 --ranks 10 --bytes 1M");
  EXPECT_EQ(chosen.status, 0) << chosen.out;
  EXPECT_THAT(chosen.out, HasSubstr("two_level:"));
  EXPECT_THAT(plan_says("choose allreduce --hosts 1,1 --speed 25g").out, HasSubstr("class several-hosts-25g"));
  EXPECT_THAT(plan_says("choose allreduce --hosts 1,1 --speed 25g --bytes 1M").out,
              HasSubstr("decided by model/several-hosts-25g [2 ranks]"));
  EXPECT_THAT(plan_says("choose allreduce --hosts 1,1,1 --bytes 1M").out, HasSubstr("circulant:"));
}

TEST(HocketPlan, ChoosesByTheModel) {
  const TemporaryFolder folder;
  const std::string table = folder.file("table");
  std::ofstream(table) << "[3 ranks on 1 host]\nallreduce=ring\n";
  const Ran chosen = plan_says("choose --hosts 2,2 --topology 2x2 --cores 1 --save '" + table + "'");
  EXPECT_EQ(chosen.status, 0) << chosen.out;
  EXPECT_THAT(chosen.out, HasSubstr("4 ranks on 2 hosts, 2x2, 1 core a host"));
  EXPECT_THAT(chosen.out, testing::ContainsRegex("alltoall +(all|up to [0-9]+[KM]?|above) +"));
  EXPECT_THAT(chosen.out, HasSubstr("HOCKET_TUNING=" + table));
  std::ifstream file(table);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto tuning = Tuning::parse(text, "table");
  ASSERT_TRUE(tuning.ok()) << tuning.status().message() << "\n" << text;
  const auto found = [&](Rank ranks, Rank hosts, Collective collective, std::size_t bytes) {
    return tuning->find(ranks, hosts, CallKind::usual, collective, bytes).algorithm;
  };
  EXPECT_EQ(found(3, 1, Collective::allreduce, 4), find_algorithm(Collective::allreduce, "ring")) << "it stays";
  EXPECT_NE(found(4, 2, Collective::allreduce, 4), nullptr);
  EXPECT_NE(found(4, 2, Collective::barrier, 0), nullptr);
  std::ofstream(table) << "nonsense";
  const Ran refused = plan_says("choose --ranks 2 --topology flat --save '" + table + "'");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.out, HasSubstr("line 1"));
}

// The table of a class, as in the tree; what was measured there overrules it.
TEST(HocketPlan, WritesTheTableOfAClass) {
  const TemporaryFolder folder;
  const std::string file = folder.file("table");
  const Ran written = plan_says("choose --class several-hosts-10g --topology flat --save '" + file + "' --ranks 2");
  EXPECT_EQ(written.status, 0) << written.out;
  std::ifstream from(file);
  const std::string text{std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
  const auto tuning = Tuning::parse(text, "table");
  ASSERT_TRUE(tuning.ok()) << tuning.status().message() << "\n" << text;
  for (const CallKind kind : {CallKind::usual, CallKind::in_rank_order}) {
    for (const Rank ranks : {2, 7, 64, 1000}) {
      EXPECT_NE(tuning->find(ranks, ranks, kind, Collective::allreduce, 4).algorithm, nullptr) << ranks;
    }
  }
  EXPECT_EQ(plan_says("choose --class two-hosts --topology flat --ranks 2").status, 2);
}

TEST(HocketPlan, ComparesWhatTheModelExpects) {
  const Ran outcome = plan_says("compare allreduce --ranks 4 --topology flat --bytes 1K,1M");
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_THAT(outcome.out, testing::ContainsRegex("allreduce +ring "));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("1K .*\\*"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("1M .*\\*"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("direct one-shot")));
  // On one host, also what runs instead; not where ranks exchange over TCP.
  const Ran host = plan_says("compare allreduce --topology 1x2 --bytes 1K,64M");
  EXPECT_THAT(host.out, testing::ContainsRegex("1K .*direct one-shot: [0-9.]+\n"));
  EXPECT_THAT(host.out, testing::ContainsRegex("64M .*direct staged: [0-9.]+\n"));
  EXPECT_THAT(plan_says("compare allreduce --topology 1x2 --tcp --bytes 1K").out, Not(HasSubstr("direct")));
  const Ran ranges = plan_says("choose allreduce --topology 1x4 --cores 2");
  EXPECT_THAT(ranges.out, testing::ContainsRegex("up to 4K +direct one-shot .*where memory is shared\n"));
  EXPECT_THAT(ranges.out, testing::ContainsRegex("up to 128K +direct pooled .*where memory is shared\n"));
  EXPECT_THAT(ranges.out, testing::ContainsRegex("above +direct staged .*where memory is shared\n"));
}

// Measures whatever there is; how long that takes, and how steady it is, depends on what else runs.
TEST(HocketPlan, ProbesWhatMessagesCost) {
  const TemporaryFolder folder;
  const std::string file = folder.file("net.json");
  const Ran probed = plan_says("probe --force --save '" + file + "'");
  EXPECT_EQ(probed.status, 0) << probed.out;
  EXPECT_THAT(probed.out, HasSubstr("a message of 8 bytes, one way, us"));
  EXPECT_THAT(probed.out, HasSubstr("shared mem."));
  EXPECT_THAT(probed.out, HasSubstr("without messages, us: call"));
  const Ran used = plan_says("cost allreduce --ranks 4 --topology '" + file + "'");
  EXPECT_EQ(used.status, 0) << used.out;
  EXPECT_THAT(used.out, HasSubstr("4 ranks, " + file + " (hosts, "));
  const Ran chosen = plan_says("choose allreduce --ranks 3 --tcp --topology '" + file + "'");
  EXPECT_EQ(chosen.status, 0) << chosen.out;
  EXPECT_THAT(chosen.out, HasSubstr("3 ranks on 1 host"));
}

struct Mistake {
  const char* arguments;
  const char* sentence;
};

class HocketPlanMistake : public testing::TestWithParam<Mistake> {};

TEST_P(HocketPlanMistake, IsNamed) {
  const Ran outcome = plan_says(GetParam().arguments);
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.out, HasSubstr(GetParam().sentence));
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
}

constexpr Mistake mistakes[] = {
    {"", "Give one of the commands list, print, verify, choose, compare, cost, simulate, probe and settings"},
    {"show", "Give one of the commands list, print, verify, choose, compare, cost, simulate, probe and settings"},
    {"list --all", "not expected: --all"},
    {"print", "COLLECTIVE is required"},
    {"print all --ranks 3", "COLLECTIVE: 'all' is not one of allreduce, reduce,"},
    {"print allreduce --ranks 3", "--algorithm is missing: allreduce has ring, "},
    {"print allreduce --ranks 3 --algorithm rung", "--algorithm: allreduce has no 'rung', only ring, "},
    {"print broadcast --ranks 0", "--ranks: Value 0 not in range 1 to 4096"},
    {"print broadcast --algorithm chain --ranks 3 --rank 3",
     "--rank 3 is not a rank: with --ranks 3 they go from 0 to 2."},
    {"print broadcast --algorithm chain --ranks 3 --rank -1", "--rank -1 is not a rank"},
    {"print broadcast --algorithm chain --ranks 3 --root 7", "--root 7 is not a rank"},
    {"print barrier --algorithm linear --ranks 3 --root 1", "--root: barrier has no root."},
    {"verify everything", "COLLECTIVE: 'everything' is not one of"},
    {"verify --algorithm rung", "--algorithm: there is no 'rung'"},
    {"verify broadcast --algorithm ring", "--algorithm: broadcast has no 'ring', only binomial_tree, "},
    {"verify --ranks 5-2", "--ranks: '5-2' is not a list of numbers and ranges from 1 to 512"},
    {"verify --ranks 2,,3", "--ranks: '2,,3' is not a list"},
    {"verify --ranks 513", "--ranks: '513' is not a list"},
    {"choose allreduce", "--ranks is required"},
    {"print broadcast", "--ranks is required"},
    {"choose allreduce --hosts 4,,2", "--hosts: '4,,2' is not a list of numbers of ranks, at most 4096 in all"},
    {"choose allreduce --hosts 4096,1", "--hosts: '4096,1' is not a list"},
    {"choose allreduce --hosts 4,4 --ranks 7", "--hosts 4,4 are 8 ranks, but --ranks says 7."},
    {"choose allreduce --ranks 4 --bytes many", "--bytes: 'many' is not a size: write bytes, or a number with K, M, "},
    {"simulate allreduce --ranks 4 --bytes -1", "--bytes: '-1' is not a size"},
    {"cost allreduce --ranks 4 --bytes nan", "--bytes: 'nan' is not a size"},
    {"simulate allreduce --ranks 4 --bytes 2T", "--bytes: The size 2T is too large. "},
    {"simulate allreduce --ranks 4 --bytes 1T",
     "are more than 262144 slices; give a smaller size, or a larger --slice"},
    {"cost allreduce --ranks 4 --slice-bytes -1", "--slice-bytes: '-1' is not a size"},
    {"cost allreduce --ranks 4 --slice-bytes 1", "in slices of 1 are more than 262144 slices"},
    {"simulate allreduce --ranks 2 --svg /no/such/folder/x", "--svg: '/no/such/folder/x' cannot be written. "},
    {"choose --ranks 4 --topology flat --save /no/such/folder/x", "--save: '/no/such/folder/x' cannot be written. "},
    {"probe --save /no/such/folder/x", "--save: '/no/such/folder/x' cannot be written."},
    {"print allgather_v --ranks 4", "allgather_v runs the schedules of allgather: ask for allgather."},
    {"simulate scatter_v --ranks 4", "scatter_v runs the schedules of scatter: ask for scatter."},
    {"cost gather_v --ranks 4", "gather_v runs the schedules of gather: ask for gather."},
    {"verify alltoall_v", "alltoall_v runs the schedules of alltoall: ask for alltoall."},
    {"choose --ranks 4", "COLLECTIVE is required, unless --topology names a network."},
    {"choose --ranks 4 --save file", "--save requires --topology"},
    {"choose send --ranks 4 --topology flat", "send has one algorithm; there is nothing to choose."},
    {"choose allreduce --ranks 4 --topology flat --save file", "leave out COLLECTIVE"},
    {"choose --hosts 1,2 --topology 1x3", "--hosts: networks have equally many ranks on each host"},
    {"compare allreduce --ranks 4", "--topology is required"},
    {"compare --ranks 4 --topology flat --bytes 4K,1K", "--bytes: '4K,1K' is not a list of rising sizes"},
    {"compare --ranks 4 --topology nowhere", "'nowhere' is neither flat, nor HOSTSxRANKS, nor a file"},
};

INSTANTIATE_TEST_SUITE_P(Every, HocketPlanMistake, testing::ValuesIn(mistakes));

}  // namespace
}  // namespace hocket
