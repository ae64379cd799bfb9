#include "src/store/prefix_store.hpp"

#include <gtest/gtest.h>

#include "src/store/memory_store.hpp"

namespace hocket {
namespace {

Deadline generous() {
  return Deadline::after(std::chrono::seconds(60));
}

TEST(PrefixStore, PartsDoNotSeeEachOther) {
  MemoryStore whole;
  PrefixStore one(whole, "one/"), two(whole, "two/");
  ASSERT_TRUE(one.set("key", "1", generous()).ok());
  EXPECT_EQ(two.peek("key", generous()).value(), std::nullopt);
  EXPECT_EQ(two.add("key", 5, generous()).value(), 5);
  EXPECT_EQ(one.get("key", generous()).value(), "1");
  EXPECT_EQ(one.compare_and_set("key", "1", "2", generous()).value(), "1");
  EXPECT_EQ(whole.list("", generous()).value(), (std::vector<std::string>{"one/key", "two/key"}));
  EXPECT_EQ(one.list("", generous()).value(), (std::vector<std::string>{"key"}));
  EXPECT_TRUE(one.remove("key", generous()).value());
  EXPECT_EQ(two.get("key", generous()).value(), "5");
}

TEST(PrefixStore, PrefixesAddUp) {
  MemoryStore whole;
  PrefixStore job(whole, "job/");
  PrefixStore communicator(job, "comm/1/");
  ASSERT_TRUE(communicator.set("rank", "0", generous()).ok());
  EXPECT_EQ(whole.get("job/comm/1/rank", generous()).value(), "0");
}

TEST(PrefixStore, EmptyKeysAndLongOnesAreRefused) {
  MemoryStore whole;
  PrefixStore part(whole, std::string(store_key_bytes_max, 'p'));
  EXPECT_EQ(part.set("", "x", generous()).code(), Code::invalid_argument);
  EXPECT_EQ(part.peek("", generous()).status().code(), Code::invalid_argument);
  EXPECT_EQ(part.set("x", "x", generous()).code(), Code::invalid_argument);
}

}  // namespace
}  // namespace hocket
