#include "src/exec/direct/announcement.hpp"

#include <gtest/gtest.h>

#include <set>

#include "src/exec/direct/window_use.hpp"
#include "tests/unit/spi/signature_changes.hpp"

namespace hocket {
namespace {

WindowUse::Call call_after(const WindowUse::Call& before, const Signature& signature, std::uint32_t communicator,
                           std::uint32_t number) {
  WindowUse::Call call;
  call.follow(before, signature, communicator, number);
  return call;
}

TEST(Announcement, ALineHasAllButTheAlgorithm) {
  const Signature plain{.collective = Collective::allreduce, .algorithm = direct_paths_id};
  for (std::size_t i = 0; i < signature_changes.size(); ++i) {
    Signature call = plain;
    signature_changes[i](call);
    call.algorithm = direct_paths_id;
    EXPECT_EQ(AnnouncedCall(call).signature(call.digest), call) << i;
    const bool in_line = call.digest == 0 && call != plain;
    EXPECT_EQ(AnnouncedCall(call) != AnnouncedCall(plain), in_line) << i;
  }
}

// Members compare two words and the digest of all calls, in which what the two words leave out must show.
TEST(Announcement, ThePastOfAWindowShowsEveryDifference) {
  std::set<std::uint32_t> digests;
  const auto after = [&](const Signature& call, std::uint32_t communicator) {
    const auto first = call_after({}, call, communicator, 1);
    const auto again = call_after(first, call, communicator, 2);
    const auto other = call_after(again, Signature{.count = 9}, communicator, 3);
    digests.insert({first.digest, again.digest, other.digest});
    EXPECT_EQ(call_after({}, call, communicator, 1).digest, first.digest);
  };
  Signature call{.collective = Collective::allreduce, .algorithm = 7};
  after(call, 1);
  after(call, 2);
  for (const auto& change : signature_changes) {
    Signature other = call;
    change(other);
    if (other.algorithm == call.algorithm) after(other, 1);
  }
  EXPECT_EQ(digests.size(), 3 * (signature_changes.size() + 1));
}

// Calls over links are made between those over the window; where one is left out, their numbers differ.
TEST(Announcement, ThePastOfAWindowShowsTheNumbersOfCalls) {
  const Signature call{.collective = Collective::allreduce, .algorithm = 7};
  const auto before = call_after({}, call, 1, 1);
  const auto mine = call_after(before, call, 1, 3);
  const auto theirs = call_after(before, call, 1, 2);
  EXPECT_NE(theirs.digest, mine.digest);
  EXPECT_EQ(mine.number_behind(theirs.digest, before), 2U);
  EXPECT_EQ(theirs.number_behind(mine.digest, before), 3U);
  EXPECT_NE(call_after(theirs, call, 1, 4).digest, call_after(mine, call, 1, 4).digest);
  const auto far_away = call_after(before, call, 1, 5'000);
  EXPECT_EQ(mine.number_behind(far_away.digest, before), std::nullopt);
}

}  // namespace
}  // namespace hocket
