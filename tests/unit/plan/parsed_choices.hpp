// Choices as a test writes them down.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "src/plan/choices.hpp"

namespace hocket {

inline Choices choices(std::string_view text) {
  const auto made = Choices::parse(text);
  EXPECT_TRUE(made.ok()) << text << ": " << made.status().message();
  return made.ok() ? *made : Choices();
}

}  // namespace hocket
