// What every store promises. A new store joins with a backend type, which is made anew for every test:
//     struct MyBackend {
//       Store& first();   // two stores that see the same keys; they may be one object
//       Store& second();
//       static std::string problem();  // may be left out: why it cannot be made here, if that is so
//     };
//     INSTANTIATE_TYPED_TEST_SUITE_P(Mine, StoreSuite, MyBackend);
//     INSTANTIATE_TYPED_TEST_SUITE_P(Mine, StoreMeetingSuite, MyBackend);  // store_meeting_suite.hpp
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "src/spi/store.hpp"
#include "tests/support/generous.hpp"

namespace hocket {

// Far beyond what anything here takes: only a store that hangs meets it.
inline Deadline soon() {
  return Deadline::after(std::chrono::milliseconds(50));
}

template <class Backend>
class StoreSuite : public testing::Test {
 protected:
  void SetUp() override {
    if constexpr (requires { Backend::problem(); }) {
      if (const std::string problem = Backend::problem(); !problem.empty()) GTEST_SKIP() << problem;
    }
  }
  Store& first() { return backend_.first(); }
  Store& second() { return backend_.second(); }

 private:
  Backend backend_;
};

TYPED_TEST_SUITE_P(StoreSuite);

TYPED_TEST_P(StoreSuite, GetReturnsWhatWasSet) {
  ASSERT_TRUE(this->first().set("key", "value", generous()).ok());
  for (Store* store : {&this->first(), &this->second()}) {
    const auto value = store->get("key", generous());
    ASSERT_TRUE(value.ok()) << value.status().message();
    EXPECT_EQ(*value, "value");
  }
  ASSERT_TRUE(this->second().set("key", "", generous()).ok());
  EXPECT_EQ(this->first().get("key", generous()).value(), "");
}

TYPED_TEST_P(StoreSuite, PeekDoesNotWait) {
  EXPECT_EQ(this->first().peek("key", generous()).value(), std::nullopt);
  ASSERT_TRUE(this->first().set("key", "value", generous()).ok());
  EXPECT_EQ(this->second().peek("key", generous()).value(), "value");
}

TYPED_TEST_P(StoreSuite, GetWaitsUntilAnotherThreadSets) {
  for (Store* setter : {&this->first(), &this->second()}) {
    const std::string key = setter == &this->first() ? "a" : "b";
    Result<std::string> got = std::string();
    std::thread waiter([&] { got = this->first().get(key, generous()); });
    // Long enough that the waiter waits, most of the time; right in either case.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(setter->set(key, "late", generous()).ok());
    waiter.join();
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(*got, "late");
  }
}

TYPED_TEST_P(StoreSuite, GetNamesTheKeyWhenItGivesUp) {
  const auto value = this->first().get("who/3\n", soon());
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.status().code(), Code::timeout);
  EXPECT_THAT(value.status().message(), testing::HasSubstr("\"who/3\\x0a\""));
  EXPECT_THAT(value.status().message(), testing::HasSubstr(this->first().url()));
  // A wait that was given up does no harm to a later one.
  ASSERT_TRUE(this->second().set("who/3\n", "here", generous()).ok());
  EXPECT_EQ(this->first().get("who/3\n", generous()).value(), "here");
}

TYPED_TEST_P(StoreSuite, NothingHappensAfterTheDeadline) {
  const Deadline past(Deadline::Clock::now() - std::chrono::seconds(1));
  Store& store = this->first();
  EXPECT_EQ(store.set("key", "value", past).code(), Code::timeout);
  EXPECT_EQ(store.add("key", 1, past).status().code(), Code::timeout);
  EXPECT_EQ(store.compare_and_set("key", std::nullopt, "x", past).status().code(), Code::timeout);
  EXPECT_EQ(store.peek("key", past).status().code(), Code::timeout);
  EXPECT_EQ(store.get("key", past).status().code(), Code::timeout);
  EXPECT_EQ(store.remove("key", past).status().code(), Code::timeout);
  EXPECT_EQ(store.list("", past).status().code(), Code::timeout);
  EXPECT_EQ(store.peek("key", generous()).value(), std::nullopt);
}

TYPED_TEST_P(StoreSuite, ClaimsAreSwaps) {
  EXPECT_EQ(this->first().claim("a/1", std::nullopt, "one", {}, generous()).value(), std::nullopt);
  EXPECT_EQ(this->second().claim("a/1", "one", "two", {}, generous()).value(), "one");
  EXPECT_EQ(this->first().peek("a/1", generous()).value(), "two");
}

TYPED_TEST_P(StoreSuite, KeysAndValuesHoldAnyByte) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  ASSERT_TRUE(this->first().set(every, every, generous()).ok());
  EXPECT_EQ(this->second().get(every, generous()).value(), every);
  EXPECT_EQ(this->second().compare_and_set(every, every, std::string(3, '\0'), generous()).value(), every);
  EXPECT_EQ(this->first().peek(every, generous()).value(), std::string(3, '\0'));
  EXPECT_EQ(this->second().list(every.substr(0, 9), generous()).value(), std::vector<std::string>{every});
}

TYPED_TEST_P(StoreSuite, KeysAndValuesOfTheLargestSize) {
  const std::string key(store_key_bytes_max, 'k');
  std::string value(store_value_bytes_max, 'v');
  value.back() = 'e';
  std::string other = value;
  other.front() = 'b';
  ASSERT_TRUE(this->first().set(key, value, generous()).ok());
  EXPECT_TRUE(this->second().get(key, generous()).value() == value);
  EXPECT_TRUE(this->second().compare_and_set(key, value, other, generous()).value() == value);
  EXPECT_TRUE(this->first().peek(key, generous()).value() == other);
  EXPECT_EQ(this->first().list(key, generous()).value(), std::vector<std::string>{key});
}

TYPED_TEST_P(StoreSuite, OversizeAndEmptyAreRefused) {
  Store& store = this->first();
  const std::string long_key(store_key_bytes_max + 1, 'k'), long_value(store_value_bytes_max + 1, 'v');
  for (const std::string& key : {std::string(), long_key}) {
    EXPECT_EQ(store.set(key, "v", generous()).code(), Code::invalid_argument);
    EXPECT_EQ(store.get(key, generous()).status().code(), Code::invalid_argument);
    EXPECT_EQ(store.peek(key, generous()).status().code(), Code::invalid_argument);
    EXPECT_EQ(store.add(key, 1, generous()).status().code(), Code::invalid_argument);
    EXPECT_EQ(store.compare_and_set(key, "a", "b", generous()).status().code(), Code::invalid_argument);
    EXPECT_EQ(store.remove(key, generous()).status().code(), Code::invalid_argument);
  }
  EXPECT_EQ(store.list(long_key, generous()).status().code(), Code::invalid_argument);
  EXPECT_EQ(store.set("key", long_value, generous()).code(), Code::invalid_argument);
  EXPECT_EQ(store.compare_and_set("key", long_value, "v", generous()).status().code(), Code::invalid_argument);
  EXPECT_EQ(store.compare_and_set("key", std::nullopt, long_value, generous()).status().code(), Code::invalid_argument);
  // And the store still works.
  EXPECT_TRUE(store.list("", generous()).value().empty());
  ASSERT_TRUE(store.set("key", "v", generous()).ok());
  EXPECT_EQ(this->second().get("key", generous()).value(), "v");
}

TYPED_TEST_P(StoreSuite, AddCounts) {
  EXPECT_EQ(this->first().add("n", 0, generous()).value(), 0);
  EXPECT_EQ(this->first().add("n", 5, generous()).value(), 5);
  EXPECT_EQ(this->second().add("n", -12, generous()).value(), -7);
  EXPECT_EQ(this->first().get("n", generous()).value(), "-7");
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(this->first().add("big", most, generous()).value(), most);
  EXPECT_EQ(this->second().add("big", 1, generous()).status().code(), Code::invalid_argument);
  EXPECT_EQ(this->first().get("big", generous()).value(), std::to_string(most));
}

TYPED_TEST_P(StoreSuite, AddRefusesWhatIsNoNumber) {
  for (const std::string& value : {std::string("ten"), std::string(), std::string("1 "), std::string("+1"),
                                   std::string("1\0", 2), std::string("9223372036854775808")}) {
    ASSERT_TRUE(this->first().set("n", value, generous()).ok());
    const auto sum = this->second().add("n", 1, generous());
    ASSERT_FALSE(sum.ok()) << value;
    EXPECT_EQ(sum.status().code(), Code::invalid_argument);
    EXPECT_THAT(sum.status().message(), testing::HasSubstr("\"n\""));
    EXPECT_EQ(this->first().get("n", generous()).value(), value);
  }
}

TYPED_TEST_P(StoreSuite, CompareAndSetSwapsOnlyWhatItExpects) {
  Store& store = this->first();
  EXPECT_EQ(store.compare_and_set("key", "old", "new", generous()).value(), std::nullopt);
  EXPECT_EQ(store.peek("key", generous()).value(), std::nullopt);
  EXPECT_EQ(store.compare_and_set("key", std::nullopt, "", generous()).value(), std::nullopt);
  EXPECT_EQ(store.peek("key", generous()).value(), "");
  EXPECT_EQ(this->second().compare_and_set("key", std::nullopt, "again", generous()).value(), "");
  EXPECT_EQ(store.peek("key", generous()).value(), "");
  EXPECT_EQ(this->second().compare_and_set("key", "", "full", generous()).value(), "");
  EXPECT_EQ(store.peek("key", generous()).value(), "full");
  EXPECT_EQ(store.compare_and_set("key", "other", "x", generous()).value(), "full");
  EXPECT_EQ(store.peek("key", generous()).value(), "full");
}

TYPED_TEST_P(StoreSuite, RemoveSaysWhetherTheKeyWasThere) {
  EXPECT_FALSE(this->first().remove("key", generous()).value());
  ASSERT_TRUE(this->first().set("key", "value", generous()).ok());
  EXPECT_TRUE(this->second().remove("key", generous()).value());
  EXPECT_FALSE(this->first().remove("key", generous()).value());
  EXPECT_EQ(this->first().peek("key", generous()).value(), std::nullopt);
  EXPECT_EQ(this->first().get("key", soon()).status().code(), Code::timeout);
  EXPECT_EQ(this->first().add("key", 1, generous()).value(), 1);
}

TYPED_TEST_P(StoreSuite, ListIsSortedAndHasThePrefix) {
  for (const char* key : {"job/b", "job/a", "job", "jo", "job/a/x", "job0", "z", "\xff", "\x01"}) {
    ASSERT_TRUE(this->first().set(key, "", generous()).ok());
  }
  using Keys = std::vector<std::string>;
  EXPECT_EQ(this->second().list("job/", generous()).value(), (Keys{"job/a", "job/a/x", "job/b"}));
  EXPECT_EQ(this->second().list("job/a/x", generous()).value(), (Keys{"job/a/x"}));
  EXPECT_EQ(this->second().list("job/a/xx", generous()).value(), Keys{});
  EXPECT_EQ(this->second().list("", generous()).value(),
            (Keys{"\x01", "jo", "job", "job/a", "job/a/x", "job/b", "job0", "z", "\xff"}));
}

// More than any one message of a protocol would like to hold.
TYPED_TEST_P(StoreSuite, ListOfManyLongKeys) {
  std::vector<std::string> keys;
  for (int i = 0; i < 1000; ++i) keys.push_back("p" + std::to_string(1000 + i) + std::string(1000, 'x'));
  for (const std::string& key : keys) ASSERT_TRUE(this->first().set(key, "", generous()).ok());
  ASSERT_TRUE(this->first().set("q", "", generous()).ok());
  const auto listed = this->second().list("p", generous());
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  EXPECT_TRUE(*listed == keys) << listed->size() << " keys";
}

TYPED_TEST_P(StoreSuite, ConcurrentAddsSumExactly) {
  constexpr int threads = 8, rounds = 100;
  std::vector<std::thread> adders;
  for (int i = 0; i < threads; ++i) {
    adders.emplace_back([&, i] {
      Store& store = i % 2 == 0 ? this->first() : this->second();
      for (int round = 0; round < rounds; ++round) {
        const auto sum = store.add("sum", 1 + i, generous());
        EXPECT_TRUE(sum.ok()) << sum.status().message();
      }
    });
  }
  for (std::thread& adder : adders) adder.join();
  EXPECT_EQ(this->first().get("sum", generous()).value(), std::to_string(rounds * threads * (threads + 1) / 2));
}

TYPED_TEST_P(StoreSuite, CompareAndSetMakesALock) {
  constexpr int threads = 4, rounds = 25;
  // What the lock in the store, and nothing else, keeps from being lost. Atomic, as a lock beyond a socket orders the
  // steps of this program, but not its memory.
  std::atomic<int> guarded = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      Store& store = i % 2 == 0 ? this->first() : this->second();
      for (int round = 0; round < rounds; ++round) {
        for (;;) {
          const auto before = store.compare_and_set("lock", std::nullopt, std::to_string(i), generous());
          ASSERT_TRUE(before.ok()) << before.status().message();
          if (!*before) break;
          std::this_thread::yield();
        }
        const int seen = guarded.load();
        std::this_thread::yield();
        guarded.store(seen + 1);
        ASSERT_EQ(store.peek("lock", generous()).value(), std::to_string(i));
        ASSERT_TRUE(store.remove("lock", generous()).value());
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(guarded.load(), threads * rounds);
}

TYPED_TEST_P(StoreSuite, ManyThreadsWaitOnOneStore) {
  constexpr int threads = 16;
  std::vector<Result<std::string>> got(threads, std::string());
  std::vector<std::thread> waiters;
  for (int i = 0; i < threads; ++i) {
    waiters.emplace_back([&, i] { got[i] = this->first().get("k" + std::to_string(i / 2), generous()); });
  }
  for (int i = threads / 2 - 1; i >= 0; --i) {
    Store& store = i % 2 == 0 ? this->first() : this->second();
    EXPECT_TRUE(store.set("k" + std::to_string(i), std::string(100'000, static_cast<char>('a' + i)), generous()).ok());
  }
  for (std::thread& waiter : waiters) waiter.join();
  for (int i = 0; i < threads; ++i) {
    ASSERT_TRUE(got[i].ok()) << got[i].status().message();
    EXPECT_TRUE(*got[i] == std::string(100'000, static_cast<char>('a' + i / 2))) << i;
  }
}

REGISTER_TYPED_TEST_SUITE_P(StoreSuite, GetReturnsWhatWasSet, PeekDoesNotWait, GetWaitsUntilAnotherThreadSets,
                            GetNamesTheKeyWhenItGivesUp, NothingHappensAfterTheDeadline, ClaimsAreSwaps,
                            KeysAndValuesHoldAnyByte, KeysAndValuesOfTheLargestSize, OversizeAndEmptyAreRefused,
                            AddCounts, AddRefusesWhatIsNoNumber, CompareAndSetSwapsOnlyWhatItExpects,
                            RemoveSaysWhetherTheKeyWasThere, ListIsSortedAndHasThePrefix, ListOfManyLongKeys,
                            ConcurrentAddsSumExactly, CompareAndSetMakesALock, ManyThreadsWaitOnOneStore);

}  // namespace hocket
