// BuildIdentity: what the builds of all ranks must have alike, so that these speak, choose and number alike. Ranks
// compare theirs when they meet.
#pragma once

#include <cstdint>
#include <string>

namespace hocket::comm {

// A digest of each; plain numbers, which travel as they lie in memory.
struct BuildIdentity {
  std::uint64_t protocol = 0;   // what ranks tell each other, and what they derive alike without a word
  std::uint64_t tables = 0;     // collectives, types and reductions
  std::uint64_t catalog = 0;    // algorithms and their versions, in whatever order
  std::uint64_t selection = 0;  // the tables by which algorithms and direct paths are chosen

  // Of this build.
  static const BuildIdentity& own();

  friend bool operator==(const BuildIdentity&, const BuildIdentity&) = default;
};

// "its selection tables differ (digest 34cd, here 12ab)"; of several differences, the most basic one. Empty where
// both are alike.
std::string difference(const BuildIdentity& here, const BuildIdentity& there);

}  // namespace hocket::comm
