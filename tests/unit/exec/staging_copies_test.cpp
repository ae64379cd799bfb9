// What a member has found out about the stores of its copies into its staging area, by who reads them there.
#include <gtest/gtest.h>

#include <cstddef>

#include "src/exec/direct/window_use.hpp"
#include "tests/unit/exec/memory_window.hpp"

namespace hocket::testing_support {
namespace {

constexpr auto traffic = SharedCopy::Traffic::both_ways;
constexpr std::size_t bytes = std::size_t{32} << 10;
constexpr float on_one_core = 0.3F, far_away = 30;

void learn(SharedCopy& copy, float gain) {
  for (int i = 0; i < 3; ++i) copy.learn({.gain = gain});
}

TEST(StagingCopies, AreKnownForEachReader) {
  SharedMemory shared(4, direct::payload_bytes + (std::size_t{1} << 18));
  MemoryWindow window(shared, 1);
  WindowUse use{.window = &window};
  EXPECT_FALSE(use.streams_for(0, bytes, traffic));
  EXPECT_FALSE(use.streams_for(everyone, bytes, traffic)) << "nothing has been measured";
  learn(use.copy_for(0), on_one_core);
  learn(use.copy_for(2), far_away);
  EXPECT_FALSE(use.streams_for(0, bytes, traffic));
  EXPECT_TRUE(use.streams_for(2, bytes, traffic));
  EXPECT_FALSE(use.streams_for(3, bytes, traffic));
  EXPECT_TRUE(use.streams_for(everyone, bytes, traffic)) << "15 times as fast on average";
}

// As what has been measured for single readers may say nothing where all take everything, and the other way round.
TEST(StagingCopies, ForEveryoneGoByAllThatIsKnown) {
  SharedMemory shared(4, direct::payload_bytes + (std::size_t{1} << 18));
  MemoryWindow window(shared, 1);
  WindowUse use{.window = &window};
  learn(use.copy_for(everyone), 2.6F);
  EXPECT_TRUE(use.streams_for(everyone, bytes, traffic));
  learn(use.copy_for(3), 2.2F);
  EXPECT_FALSE(use.streams_for(everyone, bytes, traffic)) << "2.4 times as fast on average";
}

TEST(StagingCopies, OfTwoMembersAreForTheOtherOne) {
  SharedMemory shared(2, direct::payload_bytes + (std::size_t{1} << 18));
  MemoryWindow window(shared, 1);
  WindowUse use{.window = &window};
  learn(use.copy_for(everyone), far_away);
  EXPECT_TRUE(use.streams_for(0, bytes, traffic));
  EXPECT_TRUE(use.streams_for(everyone, bytes, traffic));
  EXPECT_EQ(&use.copy_for(everyone), &use.copy_for(0));
}

}  // namespace
}  // namespace hocket::testing_support
