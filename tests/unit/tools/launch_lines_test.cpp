#include "tools/launch_lines.hpp"

#include <gtest/gtest.h>

namespace hocket::launch {
namespace {

TEST(LineCutter, PassesOnWholeLinesOnly) {
  LineCutter lines("[3] ");
  EXPECT_EQ(lines.feed("fir"), "");
  EXPECT_EQ(lines.feed("st\nsecond\nthi"), "[3] first\n[3] second\n");
  EXPECT_EQ(lines.feed("rd\n"), "[3] third\n");
  EXPECT_EQ(lines.finish(), "");
}

TEST(LineCutter, EndsTheLastLine) {
  LineCutter lines("[0] ");
  EXPECT_EQ(lines.feed("no end"), "");
  EXPECT_EQ(lines.finish(), "[0] no end\n");
  EXPECT_EQ(lines.finish(), "");
}

TEST(LineCutter, KeepsEmptyLines) {
  LineCutter lines("[1] ");
  EXPECT_EQ(lines.feed("\n\n"), "[1] \n[1] \n");
}

TEST(LineCutter, DoesNotHoardALineWithoutEnd) {
  LineCutter lines("");
  const std::string piece(LineCutter::line_bytes_max + 1, 'x');
  EXPECT_EQ(lines.feed(piece), piece + "\n");
  EXPECT_EQ(lines.feed("y\n"), "y\n");
}

}  // namespace
}  // namespace hocket::launch
