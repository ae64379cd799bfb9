// Verifies schedules that a test writes by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "src/plan/verify.hpp"

namespace hocket {

using Steps = std::function<void(const Shape&, ScheduleBuilder&)>;

inline Result<Verified> verify_steps(Collective collective, Rank size, std::uint32_t chunks, const Steps& steps,
                                     const VerifyOptions& options = {}) {
  return verify(
      collective, size, 0,
      [&](Rank rank) {
        const Shape shape{.collective = collective, .rank = rank, .size = size, .root = 0, .chunks = chunks};
        ScheduleBuilder builder(shape);
        steps(shape, builder);
        return std::move(builder).take();
      },
      options);
}

inline std::string fault(Collective collective, Rank size, std::uint32_t chunks, const Steps& steps,
                         Placement placement = Placement::out_of_place) {
  const Result<Verified> result = verify_steps(collective, size, chunks, steps, {.placement = placement});
  EXPECT_FALSE(result.ok()) << "the fault was not found";
  if (result.ok()) return {};
  EXPECT_EQ(result.status().code(), Code::internal);
  EXPECT_THAT(result.status().message(), ::testing::HasSubstr(name_of(collective)));
  return result.status().message();
}

}  // namespace hocket
