// How a run ends for a handle that waits, asks to be called, or is let go.
#include "src/exec/run_end.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hocket {
namespace {

const Status late(Code::timeout, "nothing came");

class Handle final : public RunEnd {
 public:
  Handle() { begin_for_others(); }
  using RunEnd::leave;

  int released = 0;

 private:
  void release_itself() noexcept override { ++released; }
};

TEST(RunEnd, TellsHowItWentAndWithWhichNumber) {
  Handle run;
  EXPECT_FALSE(run.finished());
  run.end_as(7, late);
  ASSERT_TRUE(run.finished());
  EXPECT_EQ(run.status().code(), Code::timeout);
  EXPECT_EQ(run.sequence(), 7U);
  run.begin_for_others();
  EXPECT_FALSE(run.finished());
  run.end_well_as(8);
  ASSERT_TRUE(run.finished());
  EXPECT_TRUE(run.status().ok()) << "the failure was that of the run before";
  EXPECT_EQ(run.sequence(), 8U);
}

TEST(RunEnd, CallsOnceAtItsEndOrNow) {
  Handle run;
  std::vector<Code> called;
  const auto note = [&](Code result) { called.push_back(result); };
  ASSERT_TRUE(run.on_complete(note));
  EXPECT_FALSE(run.on_complete(note)) << "one at a time";
  run.end_as(1, late);
  EXPECT_EQ(called, std::vector{Code::timeout});
  ASSERT_TRUE(run.on_complete(note));
  EXPECT_EQ(called, (std::vector{Code::timeout, Code::timeout}));
  EXPECT_EQ(run.released, 0);
}

TEST(RunEnd, IsReleasedAtItsEndByWhomItWasLeftTo) {
  Handle run;
  EXPECT_TRUE(run.leave());
  EXPECT_EQ(run.released, 0);
  run.end_well_as(1);
  EXPECT_EQ(run.released, 1);
  EXPECT_FALSE(run.leave()) << "it is over, and its caller's";
}

TEST(RunEnd, CallsAlsoWhereItWasLeft) {
  Handle run;
  int called = 0;
  ASSERT_TRUE(run.on_complete([&](Code) { called += run.released == 1 ? 1 : 100; }));
  EXPECT_TRUE(run.leave());
  run.end_well_as(1);
  EXPECT_EQ(called, 1);
  EXPECT_EQ(run.released, 1);
}

TEST(RunEnd, ThatNobodyRanIsOver) {
  Handle run;
  run.take_back();
  EXPECT_TRUE(run.finished());
  EXPECT_FALSE(run.leave());
}

}  // namespace
}  // namespace hocket
