// What every store promises to those who meet in it: long waits, and allgathers.
#pragma once

#include "tests/conformance/store_suite.hpp"

namespace hocket {

template <class Backend>
class StoreMeetingSuite : public StoreSuite<Backend> {};

TYPED_TEST_SUITE_P(StoreMeetingSuite);

TYPED_TEST_P(StoreMeetingSuite, AddAndCompareAndSetWakeWaiters) {
  Result<std::string> sum = std::string(), swapped = std::string();
  std::thread one([&] { sum = this->first().get("sum", generous()); });
  std::thread two([&] { swapped = this->second().get("swapped", generous()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(this->second().add("sum", 7, generous()).value(), 7);
  EXPECT_EQ(this->first().compare_and_set("swapped", std::nullopt, "x", generous()).value(), std::nullopt);
  one.join();
  two.join();
  ASSERT_TRUE(sum.ok() && swapped.ok()) << sum.status().message() << swapped.status().message();
  EXPECT_EQ(*sum, "7");
  EXPECT_EQ(*swapped, "x");
}

inline Status goes_on() {
  return {};
}

TYPED_TEST_P(StoreMeetingSuite, AwaitLooksAroundWhileItWaits) {
  int looks = 0;
  const auto look_around = [&] { return ++looks < 2 ? Status() : Status(Code::aborted, "enough"); };
  EXPECT_EQ(this->first().await("key", generous(), look_around).status().code(), Code::aborted);
  EXPECT_EQ(looks, 2);
  EXPECT_EQ(this->first().await("key", soon(), goes_on).status().code(), Code::timeout);
  ASSERT_TRUE(this->second().set("key", "value", generous()).ok());
  EXPECT_EQ(this->first().await("key", generous(), goes_on).value(), "value");
}

// Every member wants all values, the second time over what the first has left.
TYPED_TEST_P(StoreMeetingSuite, AllgatherReturnsWhatAllMembersBring) {
  constexpr Rank members = 5;
  for (const std::string meeting : {"m/1/", "m/2/", "m/1/"}) {
    std::vector<std::jthread> threads;
    for (Rank member = 0; member < members; ++member) {
      threads.emplace_back([&, member] {
        Store& store = member % 2 == 0 ? this->first() : this->second();
        const std::string outcome = meeting + "outcome", prefix = meeting + "member/";
        const auto all = store.allgather({.prefix = prefix,
                                          .member = member,
                                          .members = members,
                                          .value = "of " + std::to_string(member),
                                          .outcome = outcome,
                                          .complete = "all there",
                                          .wanted = {4, 0, 1, 2, 3, 3}},
                                         generous(), goes_on, {});
        ASSERT_TRUE(all.ok()) << all.status().message();
        EXPECT_EQ(all->outcome, "all there");
        EXPECT_THAT(all->values, testing::ElementsAre("of 4", "of 0", "of 1", "of 2", "of 3", "of 3"));
      });
    }
  }
}

// A barrier, which one member gives up.
TYPED_TEST_P(StoreMeetingSuite, AllgatherEndsWithAnOutcomeThatAnotherSets) {
  const auto member = [](Rank number) {
    return Allgather{.prefix = "b/",
                     .member = number,
                     .members = 3,
                     .value = "",
                     .outcome = "over",
                     .complete = "all there",
                     .wanted = {}};
  };
  EXPECT_EQ(this->second().allgather(member(2), soon(), goes_on, {}).status().code(), Code::timeout);
  Result<Allgathered> ended[2] = {Allgathered{}, Allgathered{}};
  std::thread zero([&] { ended[0] = this->first().allgather(member(0), generous(), goes_on, {}); });
  EXPECT_TRUE(this->first().get("b/0", generous()).ok());
  EXPECT_EQ(this->second().compare_and_set("over", std::nullopt, "given up", generous()).value(), std::nullopt);
  ended[1] = this->second().allgather(member(1), generous(), goes_on, {});
  zero.join();
  for (const auto& end : ended) {
    ASSERT_TRUE(end.ok()) << end.status().message();
    EXPECT_EQ(end->outcome, "given up");
  }
}

REGISTER_TYPED_TEST_SUITE_P(StoreMeetingSuite, AddAndCompareAndSetWakeWaiters, AwaitLooksAroundWhileItWaits,
                            AllgatherReturnsWhatAllMembersBring, AllgatherEndsWithAnOutcomeThatAnotherSets);

}  // namespace hocket
