// What people and tables say about algorithms, and their mistakes.
#include "src/plan/choices.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

using testing::HasSubstr;

Choices choices(std::string_view text) {
  const auto made = Choices::parse(text);
  EXPECT_TRUE(made.ok()) << text << ": " << made.status().message();
  return made.ok() ? *made : Choices();
}

Tuning tuning(std::string_view text) {
  const auto made = Tuning::parse(text, "table");
  EXPECT_TRUE(made.ok()) << text << ": " << made.status().message();
  return made.ok() ? *made : Tuning();
}

TEST(Choices, OfNobodyAreAutomatic) {
  for (const char* text : {"", "auto", " ; "}) {
    EXPECT_TRUE(choices(text).empty()) << text;
    EXPECT_EQ(choices(text).wanted(Collective::allreduce, 4), "auto");
    EXPECT_EQ(choices(text).text(), "auto");
  }
}

TEST(Choices, OfANameHoldForAllCollectives) {
  EXPECT_EQ(choices("ring").wanted(Collective::allreduce, 1 << 30), "ring");
  EXPECT_EQ(choices("ring").wanted(Collective::broadcast, 4), "ring");  // which has none: see select_algorithm()
  EXPECT_EQ(choices("ring").text(), "ring");
}

TEST(Choices, GoByCollectiveAndSize) {
  const Choices made = choices("allreduce=linear:4K,recursive_doubling:256K,ring; broadcast=chain:1M");
  EXPECT_EQ(made.wanted(Collective::allreduce, 0), "linear");
  EXPECT_EQ(made.wanted(Collective::allreduce, 4096), "linear");
  EXPECT_EQ(made.wanted(Collective::allreduce, 4097), "recursive_doubling");
  EXPECT_EQ(made.wanted(Collective::allreduce, 262'145), "ring");
  EXPECT_EQ(made.wanted(Collective::broadcast, 1 << 20), "chain");
  EXPECT_EQ(made.wanted(Collective::broadcast, (1 << 20) + 1), "auto");
  EXPECT_EQ(made.wanted(Collective::reduce, 4), "auto");
  EXPECT_FALSE(made.empty());
}

TEST(Choices, OfOneCollectiveGoBeforeThoseOfAll) {
  const Choices made = choices("ring;allreduce=auto:64K,linear");
  EXPECT_EQ(made.wanted(Collective::allgather, 4), "ring");
  EXPECT_EQ(made.wanted(Collective::allreduce, 4), "auto");
  EXPECT_EQ(made.wanted(Collective::allreduce, 1 << 20), "linear");
}

TEST(Choices, HaveOneTextHoweverTheyAreWritten) {
  const Choices made = choices("broadcast=chain ;; allreduce=linear:2048,linear:4096,ring;");
  EXPECT_EQ(made.text(), "allreduce=linear:4K,ring;broadcast=chain");
  EXPECT_EQ(choices(made.text()).text(), made.text());
  EXPECT_EQ(choices(made.text(" ; ")).text(), made.text());
}

TEST(Choices, AreSummedUpShortly) {
  std::string text = "allreduce=";
  for (int i = 0; i < 20; ++i) text += fmt::format("{}:{}K,", i % 2 == 0 ? "ring" : "linear", i + 1);
  const std::string one = choices(text + "ring").summary(), other = choices(text + "linear").summary();
  EXPECT_LE(one.size(), 100U);
  EXPECT_THAT(one, HasSubstr("allreduce=ring:1K,linear:2K"));
  EXPECT_NE(one, other);
  EXPECT_EQ(choices("ring").summary(), "ring");
}

struct Mistake {
  const char* text;
  Code code;
  const char* sentence;
};

TEST(Choices, NameTheMistakeAndWhatThereIs) {
  constexpr Mistake mistakes[] = {
      {"rung", Code::not_found, "there is no algorithm \"rung\""},
      {"linear:4K,ring", Code::invalid_argument, "\"linear:4K,ring\" names no collective"},
      {"allreduc=ring", Code::not_found, "there is no collective \"allreduc\", only allreduce, reduce"},
      {"allreduce=rung", Code::not_found, "allreduce has no algorithm \"rung\"; it has auto, ring, "},
      {"allreduce=ring;broadcast=ring", Code::not_found, "broadcast has no algorithm \"ring\"; it has auto, "},
      {"allreduce=", Code::not_found, "allreduce has no algorithm \"\""},
      {"allreduce=ring:4K,", Code::not_found, "allreduce has no algorithm \"\""},
      {"allreduce=ring:4X,linear", Code::invalid_argument, "\"ring:4X\": \"4X\" is no number of bytes"},
      {"allreduce=ring:", Code::invalid_argument, "\"\" is no number of bytes"},
      {"allreduce=ring:4K,linear:4096", Code::invalid_argument, "sizes must rise, but 4096 comes after 4K"},
      {"allreduce=ring,linear", Code::invalid_argument, "\"ring\" holds for all sizes, so \"linear\" after it never"},
      {"allreduce=ring;allreduce=linear", Code::invalid_argument, "allreduce is there already"},
  };
  for (const Mistake& mistake : mistakes) {
    const auto made = Choices::parse(mistake.text);
    ASSERT_FALSE(made.ok()) << mistake.text;
    EXPECT_EQ(made.status().code(), mistake.code) << mistake.text;
    EXPECT_THAT(made.status().message(), HasSubstr(mistake.sentence)) << mistake.text;
  }
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
  EXPECT_EQ(made.wanted(4, 1, Collective::allreduce, 4), "linear");
  EXPECT_EQ(made.wanted(4, 1, Collective::broadcast, 4), "chain");
  EXPECT_EQ(made.wanted(8, 2, Collective::allreduce, 4), "two_level");
  EXPECT_EQ(made.wanted(8, 2, Collective::broadcast, 4), "auto");
  EXPECT_EQ(made.wanted(8, 1, Collective::allreduce, 4), "auto");
  EXPECT_EQ(Tuning().wanted(8, 1, Collective::allreduce, 4), "auto");
}

TEST(Tuning, IsWrittenAsItIsRead) {
  Tuning made = tuning(two_tables);
  const std::string text =
      "[4 ranks on 1 host]\nallreduce=linear:4K,ring\nbroadcast=chain\n[8 ranks on 2 hosts]\nallreduce=two_level\n";
  EXPECT_EQ(made.text(), text);
  EXPECT_EQ(tuning(text).digest(), made.digest());
  EXPECT_EQ(made.digest().size(), 16U);
  made.set(4, 1, choices("allreduce=ring"));
  made.set(1, 1, choices("allreduce=ring"));
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
  EXPECT_THAT(mistake("\n[4 ranks]\n"), HasSubstr("table, line 2: \"[4 ranks]\" is no head of a table"));
  EXPECT_THAT(mistake("[4 ranks on 5 hosts]\n"), HasSubstr("is no head"));
  EXPECT_THAT(mistake("[4 ranks on 1 host]\nallreduce=rung\n"), HasSubstr("table, line 2: \"rung\": allreduce has no"));
  EXPECT_THAT(mistake("[4 ranks on 1 host]\n[4 ranks on 1 host]\n"), HasSubstr("line 2: [4 ranks on 1 host] is there"));
  EXPECT_THAT(mistake("[4 ranks on 1 host]\nreduce=chain\nreduce=chain\n"), HasSubstr("reduce is there already"));
  for (const char* streams : {"tcp_streams=17\n", "tcp_streams=0\n", "tcp_streams\n", "tcp_streams=many\n"}) {
    EXPECT_THAT(mistake(streams), HasSubstr("tcp_streams is a number from 1 to 16")) << streams;
  }
  EXPECT_THAT(mistake("[4 ranks on 1 host]\ntcp_streams=4\n"), HasSubstr("table, line 2: "));
}

}  // namespace
}  // namespace hocket
