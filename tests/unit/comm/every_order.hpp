// Visits the worlds of a model: what can follow from a beginning, in every order of its events.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace hocket::comm {

// Visits every world that can follow, each once; of more than so many, some. Calls look(world, events) for each, with
// what can happen next there. Stops where a test fails.
template <class World, class Look>
void visit_every_order(const World& from, Look look, std::size_t worlds_max = 1'000'000) {
  std::mt19937 random(1);
  std::unordered_set<std::size_t> seen;
  std::vector<World> open{from};
  while (!open.empty() && seen.size() < worlds_max && !testing::Test::HasFailure()) {
    const World world = std::move(open.back());
    open.pop_back();
    if (!seen.insert(std::hash<std::string>()(world.describe())).second) continue;
    auto events = world.events();
    std::ranges::shuffle(events, random);
    look(world, events);
    for (const auto& event : events) {
      open.push_back(world);
      open.back().apply(event);
    }
  }
  testing::Test::RecordProperty("worlds", static_cast<int>(seen.size()));
}

}  // namespace hocket::comm
