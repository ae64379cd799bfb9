#include "src/exec/direct/payload_ring.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "src/base/arithmetic.hpp"

namespace hocket {
namespace {

struct Taken {
  std::uint64_t turn;
  std::size_t begin, end;
};

// Numbers that look random and are the same in every run.
class PayloadDraw {
 public:
  std::size_t below(std::size_t limit) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return (state_ >> 33) % limit;
  }

 private:
  std::uint64_t state_ = 1;
};

TEST(PayloadRing, GivesNoPlaceThatIsInUse) {
  constexpr std::size_t from = 640, to = 10'240;
  PayloadRing ring(from, to);
  PayloadDraw draw;
  std::deque<Taken> in_use;
  std::uint64_t left_until = 0;
  int refused = 0;
  for (std::uint64_t turn = 1; turn < 20'000; ++turn) {
    const std::size_t bytes = 1 + draw.below(draw.below(10) == 0 ? 3000 : 300);
    const auto place = ring.take(turn, bytes, left_until);
    while (!in_use.empty() && in_use.front().turn < left_until) in_use.pop_front();
    if (place) {
      const Taken taken{turn, *place, *place + bytes};
      EXPECT_GE(taken.begin, from);
      EXPECT_LE(taken.end, to);
      EXPECT_EQ(taken.begin % cache_line_bytes, 0u);
      for (const Taken& other : in_use) EXPECT_TRUE(taken.end <= other.begin || taken.begin >= other.end) << turn;
      in_use.push_back(taken);
    } else {
      ++refused;
      ASSERT_FALSE(in_use.empty());
      EXPECT_EQ(ring.oldest(), in_use.front().turn);
    }
    if (HasFailure()) return;
    if (draw.below(3) == 0) left_until = std::max<std::uint64_t>(left_until, turn - std::min(turn, draw.below(40)));
  }
  EXPECT_GT(refused, 100) << "or it was never full";
}

TEST(PayloadRing, TakesTurnsOnTwoPlacesWhileNobodyIsAhead) {
  PayloadRing ring(0, 100'000);
  for (std::uint64_t turn = 1; turn < 100; ++turn) EXPECT_EQ(ring.take(turn, 1000, turn - 1), turn % 2 == 1 ? 0 : 1024);
}

TEST(Payloads, AreBoundedByTheirBytesAlone) {
  constexpr std::size_t bytes = 4096;
  Payloads payloads;
  std::uint64_t turn = 1;
  while (payloads.take_near(turn, bytes, 0) || payloads.take_far(turn, bytes, 0)) ++turn;
  EXPECT_EQ((turn - 1) * bytes, direct::payload_bytes);
  EXPECT_EQ(payloads.oldest(), 1u);
  EXPECT_EQ(payloads.take_near(turn, bytes, 2), 0u);
  EXPECT_EQ(payloads.oldest(), 2u);
}

}  // namespace
}  // namespace hocket
