#include "src/base/core_set.hpp"

#include <gtest/gtest.h>

namespace hocket {
namespace {

CoreSet of(std::initializer_list<int> cores) {
  CoreSet set;
  for (const int core : cores) set.add(core);
  return set;
}

TEST(CoreSet, IsWrittenAsHexadecimalDigits) {
  EXPECT_EQ(CoreSet().text(), "");
  EXPECT_EQ(of({0}).text(), "1");
  EXPECT_EQ(of({0, 1, 2, 3}).text(), "f");
  EXPECT_EQ(of({4, 9}).text(), "210");
}

TEST(CoreSet, IsReadAsItWasWritten) {
  for (const CoreSet& set : {CoreSet(), of({0}), of({3, 4, 63, 64, 4095}), CoreSet::own()}) {
    const auto read = CoreSet::parse(set.text());
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, set);
    EXPECT_EQ(read->count(), set.count());
  }
}

TEST(CoreSet, RefusesWhatItNeverWrites) {
  EXPECT_FALSE(CoreSet::parse("g"));
  EXPECT_FALSE(CoreSet::parse("F"));
  EXPECT_FALSE(CoreSet::parse("0x1"));
  EXPECT_FALSE(CoreSet::parse(std::string(1025, '0')));
}

TEST(CoreSet, OfThisProcessIsNeverEmpty) {
  EXPECT_GE(CoreSet::own().count(), 1);
}

TEST(CoreSet, OfSeveralIsTheirUnion) {
  CoreSet both = of({0, 1});
  both |= of({1, 70});
  EXPECT_EQ(both.count(), 3);
}

}  // namespace
}  // namespace hocket
