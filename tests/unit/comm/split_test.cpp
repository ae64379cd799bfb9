// How ranks conclude which children a communicator gets.
#include "src/comm/split.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hocket::comm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<SplitArguments> splits(std::initializer_list<std::pair<int, int>> colors_and_keys) {
  std::vector<SplitArguments> made;
  for (const auto& [color, key] : colors_and_keys) {
    made.push_back(*split_arguments(color, key));
    made.back().id = 100 + made.size() - 1;
  }
  return made;
}

TEST(Split, ByColorThenKeyThenRank) {
  const auto all = splits({{1, 5}, {0, 0}, {1, 5}, {1, -5}});
  const auto child = child_of(all, 2);
  ASSERT_TRUE(child.ok());
  EXPECT_THAT(child->members, ElementsAre(3, 0, 2));
  EXPECT_EQ(child->rank, 2);
  EXPECT_EQ(child->id, 103U);
  EXPECT_FALSE(child->all_alone);
  const auto other = child_of(all, 1);
  EXPECT_THAT(other->members, ElementsAre(1));
  EXPECT_EQ(other->rank, 0);
  EXPECT_FALSE(other->all_alone);
}

TEST(Split, NoColorIsNoChildAndNoColorOfItsOwn) {
  const auto all = splits({{HOCKET_NO_COLOR, 0}, {0, 0}, {HOCKET_NO_COLOR, 0}});
  const auto none = child_of(all, 2);
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(none->members, IsEmpty());
  EXPECT_TRUE(none->all_alone);
  EXPECT_THAT(child_of(all, 1)->members, ElementsAre(1));
}

TEST(Split, SubsetsKeepTheOrderOfTheirList) {
  const std::int32_t list[] = {3, 0, 2};
  std::vector<SplitArguments> all;
  for (Rank rank = 0; rank < 4; ++rank) all.push_back(*subset_arguments(list, 3, rank, 4));
  EXPECT_THAT(child_of(all, 0)->members, ElementsAre(3, 0, 2));
  EXPECT_EQ(child_of(all, 2)->rank, 2);
  EXPECT_THAT(child_of(all, 1)->members, IsEmpty());
}

// Two subsets that do not fit.
std::string mismatch_of(const std::vector<std::int32_t>& first, const std::vector<std::int32_t>& second) {
  const auto count_of = [](const auto& list) { return static_cast<std::int32_t>(list.size()); };
  const std::vector<SplitArguments> all = {*subset_arguments(first.data(), count_of(first), 0, 20),
                                           *subset_arguments(second.data(), count_of(second), 1, 20)};
  const auto child = child_of(all, 0);
  EXPECT_EQ(child.status().code(), Code::mismatch);
  return child.status().message();
}

TEST(Split, AMismatchOfListsShowsBoth) {
  EXPECT_THAT(mismatch_of({0, 1, 2}, {0, 2, 1}), HasSubstr("with a list of ranks 0, 2, 1, rank 0 with one of ranks 0, "
                                                           "1, 2:"));
  EXPECT_THAT(mismatch_of({5}, {}), HasSubstr("with a list of no ranks, rank 0 with one of rank 5:"));
  EXPECT_THAT(mismatch_of({0, 1, 2, 3, 4, 5, 6, 7, 8}, {0, 1, 2, 3, 4, 5, 6, 7}),
              HasSubstr("of ranks 0, 1, 2, 3, 4, 5, 6, 7, rank 0 with one of ranks 0, 1, 2, 3, 4, 5, 6, 7 … (9 in "
                        "all):"));
  EXPECT_THAT(mismatch_of({0, 1, 2, 3, 4, 5, 6, 7, 8}, {0, 1, 2, 3, 4, 5, 6, 7, 9}),
              HasSubstr("which goes on differently"));
}

TEST(Split, DifferentCallsAreTheSameMismatchOnAllRanks) {
  auto all = splits({{0, 0}, {0, 0}});
  all.push_back(duplicate_arguments());
  for (Rank rank = 0; rank < 3; ++rank) {
    const auto child = child_of(all, rank);
    ASSERT_EQ(child.status().code(), Code::mismatch);
    EXPECT_EQ(child.status().cause().peer, 2);
    EXPECT_THAT(child.status().message(), HasSubstr("rank 2 called duplicate while rank 0 called split"));
  }
}

TEST(Split, DifferentListsAreAMismatch) {
  const std::int32_t list[] = {0, 1}, turned[] = {1, 0};
  const std::vector<SplitArguments> all = {*subset_arguments(list, 2, 0, 2), *subset_arguments(turned, 2, 1, 2)};
  EXPECT_EQ(child_of(all, 0).status().code(), Code::mismatch);
}

TEST(Split, ArgumentsThatMeanNothingAreRefused) {
  const std::int32_t negative[] = {-1};
  EXPECT_EQ(split_arguments(-2, 0).status().code(), Code::invalid_argument);
  EXPECT_EQ(subset_arguments(negative, 1, 0, 2).status().code(), Code::invalid_argument);
  EXPECT_EQ(subset_arguments(nullptr, -1, 0, 2).status().code(), Code::invalid_argument);
  EXPECT_TRUE(subset_arguments(nullptr, 0, 0, 2).ok());
}

}  // namespace
}  // namespace hocket::comm
