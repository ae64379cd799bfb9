// Tables for groups of several shapes and calls of several kinds.
#include "src/plan/tuning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/plan/parsed_choices.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;

Tuning tuning(std::string_view text) {
  const auto made = Tuning::parse(text, "table");
  EXPECT_TRUE(made.ok()) << text << ": " << made.status().message();
  return made.ok() ? *made : Tuning();
}

// What the tables say, by name; "auto" for nothing.
std::string_view tuning_wanted(const Tuning& made, Rank ranks, Rank hosts, Collective collective, std::size_t bytes,
                               CallKind kind = CallKind::usual) {
  const Algorithm* algorithm = made.find(ranks, hosts, kind, collective, bytes).algorithm;
  return algorithm == nullptr ? automatic_algorithm : algorithm->name;
}

TEST(TableHead, IsWrittenAsItIsRead) {
  for (const char* text :
       {"[4 ranks on 1 host]", "[1 rank on 1 host]", "[8 ranks on 2 hosts]", "[4 ranks]", "[5-7 ranks]", "[9+ ranks]",
        "[any ranks]", "[9+ ranks, powers of two]", "[any ranks, shared hosts]", "[2 ranks, in rank order]",
        "[any ranks, unequal blocks]", "[2+ ranks on 3 hosts, powers of two, shared hosts, lower precision]"}) {
    const auto head = TableHead::parse(text);
    ASSERT_TRUE(head) << text;
    EXPECT_EQ(head->text(), text);
  }
}

TEST(TableHead, IsRefusedWhereItIsNone) {
  for (const char* text :
       {"[]", "[4]", "[4 rows]", "[0 ranks]", "[7-5 ranks]", "[5-5 ranks]", "[5- ranks]", "[-5 ranks]", "[+ ranks]",
        "[4 ranks on 5 hosts]", "[4 ranks on host]", "[4 ranks at 1 host]", "[4 ranks, sometimes]", "[4 ranks,,]",
        "[4 ranks, powers of two, powers of two]", "[4 ranks, in rank order, unequal blocks]", "4 ranks", "[4 ranks"}) {
    EXPECT_FALSE(TableHead::parse(text)) << text;
  }
}

TEST(TableHead, HoldsForTheGroupsThatItNames) {
  const auto holds = [](const char* text, Rank ranks, Rank hosts = 1, CallKind kind = CallKind::usual) {
    return TableHead::parse(text)->holds(ranks, hosts, kind);
  };
  for (Rank ranks = 1; ranks <= 64; ++ranks) {
    EXPECT_TRUE(holds("[any ranks]", ranks));
    EXPECT_EQ(holds("[5-7 ranks]", ranks), ranks >= 5 && ranks <= 7) << ranks;
    EXPECT_EQ(holds("[9+ ranks]", ranks), ranks >= 9) << ranks;
    EXPECT_EQ(holds("[9+ ranks, powers of two]", ranks), ranks == 16 || ranks == 32 || ranks == 64) << ranks;
    EXPECT_EQ(holds("[any ranks, shared hosts]", ranks, 4), ranks > 4) << ranks;
  }
  EXPECT_FALSE(holds("[any ranks, shared hosts]", 4, 1)) << "there is only one";
  EXPECT_FALSE(holds("[8 ranks on 2 hosts]", 8, 1));
  for (const CallKind kind : all_call_kinds) {
    EXPECT_EQ(holds("[any ranks]", 4, 1, kind), kind == CallKind::usual);
    EXPECT_EQ(holds("[any ranks, in rank order]", 4, 1, kind), kind == CallKind::in_rank_order);
  }
}

TEST(Tuning, FindsTheNarrowestTableInWhateverOrderTheyStand) {
  const std::vector<std::string> tables = {
      "[any ranks]\nallreduce=ring\nbroadcast=chain\n",       "[2-9 ranks]\nallreduce=linear\n",
      "[2-9 ranks, powers of two]\nallreduce=rabenseifner\n", "[4 ranks]\nallreduce=circulant:64\n",
      "[any ranks, shared hosts]\nallreduce=two_level\n",     "[4 ranks on 2 hosts]\nallreduce=ring\n"};
  std::vector<std::size_t> order{0, 1, 2, 3, 4, 5};
  std::string digest;
  do {
    std::string text;
    for (const std::size_t index : order) text += tables[index];
    const Tuning made = tuning(text);
    EXPECT_EQ(tuning_wanted(made, 64, 1, Collective::allreduce, 4), "ring");
    EXPECT_EQ(tuning_wanted(made, 7, 1, Collective::allreduce, 4), "linear");
    EXPECT_EQ(tuning_wanted(made, 8, 1, Collective::allreduce, 4), "rabenseifner");
    EXPECT_EQ(tuning_wanted(made, 4, 1, Collective::allreduce, 4), "circulant");
    EXPECT_EQ(tuning_wanted(made, 4, 1, Collective::allreduce, 65), "rabenseifner")
        << "the next one that says something";
    EXPECT_EQ(tuning_wanted(made, 6, 2, Collective::allreduce, 4), "two_level");
    EXPECT_EQ(tuning_wanted(made, 4, 2, Collective::allreduce, 4), "ring");
    EXPECT_EQ(tuning_wanted(made, 4, 1, Collective::broadcast, 4), "chain");
    EXPECT_EQ(tuning_wanted(made, 4, 1, Collective::reduce, 4), "auto");
    EXPECT_TRUE(digest.empty() || made.digest() == digest);
    digest = made.digest();
  } while (std::ranges::next_permutation(order).found);
}

TEST(Tuning, KeepsKindsOfCallsApart) {
  const Tuning made = tuning("[any ranks]\nallreduce=ring\n[any ranks, in rank order]\nallreduce=ordered_chain\n");
  EXPECT_EQ(tuning_wanted(made, 4, 1, Collective::allreduce, 4), "ring");
  EXPECT_EQ(tuning_wanted(made, 4, 1, Collective::allreduce, 4, CallKind::in_rank_order), "ordered_chain");
  EXPECT_EQ(tuning_wanted(made, 4, 1, Collective::allreduce, 4, CallKind::lower_precision), "auto");
}

constexpr const char* two_tables =
    "# by hand\n"
    "[8 ranks on 2 hosts]\n"
    "allreduce=two_level   # always\n"
    "\n"
    "[4 ranks on 1 host]\n"
    "allreduce=linear:4K,ring\n"
    "broadcast=chain\n";

TEST(Tuning, GoesByTheShapeOfTheGroup) {
  const Tuning made = tuning(two_tables);
  EXPECT_EQ(tuning_wanted(made, 4, 1, Collective::allreduce, 4), "linear");
  EXPECT_EQ(tuning_wanted(made, 4, 1, Collective::broadcast, 4), "chain");
  EXPECT_EQ(tuning_wanted(made, 8, 2, Collective::allreduce, 4), "two_level");
  EXPECT_EQ(tuning_wanted(made, 8, 2, Collective::broadcast, 4), "auto");
  EXPECT_EQ(tuning_wanted(made, 8, 1, Collective::allreduce, 4), "auto");
  EXPECT_EQ(tuning_wanted(Tuning(), 8, 1, Collective::allreduce, 4), "auto");
}

TEST(Tuning, IsWrittenAsItIsRead) {
  Tuning made = tuning(two_tables);
  const std::string text =
      "[4 ranks on 1 host]\nallreduce=linear:4K,ring\nbroadcast=chain\n[8 ranks on 2 hosts]\nallreduce=two_level\n";
  EXPECT_EQ(made.text(), text);
  EXPECT_EQ(tuning(text).digest(), made.digest());
  EXPECT_EQ(made.digest().size(), 16U);
  made.set({.first = 4, .last = 4, .hosts = 1}, choices("allreduce=ring"));
  made.set({.first = 1, .last = 1, .hosts = 1}, choices("allreduce=ring"));
  EXPECT_EQ(made.text(),
            "[1 rank on 1 host]\nallreduce=ring\n[4 ranks on 1 host]\nallreduce=ring\n[8 ranks on 2 hosts]\n"
            "allreduce=two_level\n");
  EXPECT_NE(made.digest(), tuning(text).digest());
  EXPECT_TRUE(tuning("# nothing\n").empty());
  EXPECT_EQ(Tuning().digest(), "");
}

TEST(Tuning, SaysHowManyConnectionsAheadOfTables) {
  const Tuning made = tuning("tcp_streams = 4  # measured\n[4 ranks on 1 host]\nallreduce=ring\n");
  EXPECT_EQ(made.tcp_streams(), 4);
  EXPECT_EQ(made.text(), "tcp_streams=4\n[4 ranks on 1 host]\nallreduce=ring\n");
  EXPECT_NE(made.digest(), tuning("[4 ranks on 1 host]\nallreduce=ring\n").digest());
  EXPECT_FALSE(tuning("tcp_streams=2\n").empty());
  EXPECT_EQ(Tuning().tcp_streams(), 0);
}

TEST(Tuning, NamesFileAndLineOfAMistake) {
  const auto mistake = [](const char* text) {
    const auto made = Tuning::parse(text, "table");
    EXPECT_FALSE(made.ok()) << text;
    return made.status().message();
  };
  EXPECT_THAT(mistake("allreduce=ring\n"), HasSubstr("table, line 1: a table begins with its head"));
  EXPECT_THAT(mistake("\n[4 rows]\n"), HasSubstr("table, line 2: \"[4 rows]\" is not the head of a table"));
  EXPECT_THAT(mistake("[4 ranks on 5 hosts]\n"), HasSubstr("is not the head"));
  EXPECT_THAT(mistake("[4 ranks on 1 host]\nallreduce=rung\n"), HasSubstr("table, line 2: \"rung\": allreduce has no"));
  EXPECT_THAT(mistake("[4 ranks on 1 host]\n[4 ranks on 1 host]\n"),
              HasSubstr("line 2: [4 ranks on 1 host] is given twice"));
  EXPECT_THAT(mistake("[4 ranks on 1 host]\nreduce=chain\nreduce=chain\n"), HasSubstr("reduce is given twice"));
  for (const char* streams : {"tcp_streams=17\n", "tcp_streams=0\n", "tcp_streams\n", "tcp_streams=many\n"}) {
    EXPECT_THAT(mistake(streams), HasSubstr("tcp_streams is a number from 1 to 16")) << streams;
  }
  EXPECT_THAT(mistake("[4 ranks on 1 host]\ntcp_streams=4\n"), HasSubstr("table, line 2: "));
}

}  // namespace
}  // namespace hocket
