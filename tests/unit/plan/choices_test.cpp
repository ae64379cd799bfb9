// What people and tables say about algorithms, and their mistakes.
#include "src/plan/choices.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/base/hash.hpp"
#include "tests/unit/plan/parsed_choices.hpp"

namespace hocket {
namespace {

using testing::HasSubstr;

// What is wanted, by name.
std::string_view wanted(const Choices& made, Collective collective, std::size_t bytes) {
  const Algorithm* algorithm = made.wanted(collective, bytes).algorithm;
  return algorithm == nullptr ? automatic_algorithm : algorithm->name;
}

TEST(Choices, OfNobodyAreAutomatic) {
  for (const char* text : {"", "auto", " ; "}) {
    EXPECT_TRUE(choices(text).empty()) << text;
    EXPECT_EQ(wanted(choices(text), Collective::allreduce, 4), "auto");
    EXPECT_EQ(choices(text).text(), "auto");
  }
}

TEST(Choices, OfANameHoldForAllCollectivesThatHaveIt) {
  EXPECT_EQ(wanted(choices("ring"), Collective::allreduce, 1 << 30), "ring");
  EXPECT_EQ(wanted(choices("ring"), Collective::broadcast, 4), "auto") << "it has no ring";
  EXPECT_EQ(choices("ring").text(), "ring");
}

TEST(Choices, GoByCollectiveAndSize) {
  const Choices made = choices("allreduce=linear:4K,recursive_doubling:256K,ring; broadcast=chain:1M");
  EXPECT_EQ(wanted(made, Collective::allreduce, 0), "linear");
  EXPECT_EQ(wanted(made, Collective::allreduce, 4096), "linear");
  EXPECT_EQ(wanted(made, Collective::allreduce, 4097), "recursive_doubling");
  EXPECT_EQ(wanted(made, Collective::allreduce, 262'145), "ring");
  EXPECT_EQ(wanted(made, Collective::broadcast, 1 << 20), "chain");
  EXPECT_EQ(wanted(made, Collective::broadcast, (1 << 20) + 1), "auto");
  EXPECT_EQ(wanted(made, Collective::reduce, 4), "auto");
  EXPECT_FALSE(made.empty());
}

TEST(Choices, OfOneCollectiveGoBeforeThoseOfAll) {
  const Choices made = choices("ring;allreduce=auto:64K,linear");
  EXPECT_EQ(wanted(made, Collective::allgather, 4), "ring");
  EXPECT_EQ(wanted(made, Collective::allreduce, 4), "auto");
  EXPECT_EQ(wanted(made, Collective::allreduce, 1 << 20), "linear");
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
  const Hash digest = Hash().add(std::string_view(choices(text + "ring").text()));
  EXPECT_THAT(one, HasSubstr(fmt::format("{:016x}", digest.value())))
      << "the same in every build, since ranks compare it";
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
      {"allreduce=ring:4X,linear", Code::invalid_argument, "\"ring:4X\": \"4X\" is not a number of bytes"},
      {"allreduce=ring:", Code::invalid_argument, "\"\" is not a number of bytes"},
      {"allreduce=ring:4K,linear:4096", Code::invalid_argument, "sizes must rise, but 4096 comes after 4K"},
      {"allreduce=ring,linear", Code::invalid_argument,
       "\"ring\" applies to all sizes, so \"linear\" after it would never"},
      {"allreduce=ring;allreduce=linear", Code::invalid_argument, "allreduce is given twice"},
  };
  for (const Mistake& mistake : mistakes) {
    const auto made = Choices::parse(mistake.text);
    ASSERT_FALSE(made.ok()) << mistake.text;
    EXPECT_EQ(made.status().code(), mistake.code) << mistake.text;
    EXPECT_THAT(made.status().message(), HasSubstr(mistake.sentence)) << mistake.text;
  }
}

}  // namespace
}  // namespace hocket
