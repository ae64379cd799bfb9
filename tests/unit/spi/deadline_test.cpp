// Points in time that are too far away to be reached.
#include <gtest/gtest.h>

#include <cstdint>

#include "src/spi/types.hpp"

namespace hocket {
namespace {

TEST(Deadline, NeverStaysNever) {
  EXPECT_EQ(Deadline::never().later(std::chrono::hours(1)).at(), Deadline::never().at());
  EXPECT_EQ(Deadline::after(std::chrono::nanoseconds::max()).at(), Deadline::never().at());
  EXPECT_FALSE(Deadline::never().passed());
  EXPECT_GT(Deadline::never().remaining_ms(), 0);
}

TEST(Deadline, OfAnyNumberOfMillisecondsLiesAhead) {
  for (const std::int64_t milliseconds : {std::int64_t{1} << 40, INT64_MAX / 1'000'000, INT64_MAX - 1, INT64_MAX}) {
    EXPECT_LE(timeout_of(milliseconds), longest_timeout);
    EXPECT_FALSE(Deadline::after(timeout_of(milliseconds)).passed()) << milliseconds;
    EXPECT_FALSE(Deadline::after(timeout_of(milliseconds) + timeout_of(INT64_MAX)).passed()) << milliseconds;
  }
  EXPECT_EQ(timeout_of(5).count(), 5);
}

}  // namespace
}  // namespace hocket
