#include "src/exec/direct/announcement.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/spi/signature_changes.hpp"

namespace hocket {
namespace {

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

// Of blocks whose size only two ranks know.
TEST(Announcement, ALineTellsCountsThatNobodyKnows) {
  Signature call{.collective = Collective::scatter_v, .algorithm = direct_paths_id, .count = Signature::unknown_count};
  EXPECT_EQ(AnnouncedCall(call).signature(0), call);
  const AnnouncedCall plain(call);
  call.opaque_bytes = 24;
  EXPECT_EQ(AnnouncedCall(call).signature(0), call);
  EXPECT_NE(AnnouncedCall(call), plain);
}

// Members compare two words and the digest of all calls, in which what the two words leave out must show.
TEST(Announcement, ThePastOfAWindowShowsEveryDifference) {
  std::set<std::uint32_t> digests;
  const auto after = [&](const Signature& signature, std::uint32_t communicator) {
    const ComparedCall call(signature, communicator);
    const std::uint32_t first = call.digest_after(0, 1), again = call.digest_after(first, 2);
    digests.insert({first, again, ComparedCall(Signature{.count = 9}, communicator).digest_after(again, 3)});
    EXPECT_EQ(ComparedCall(signature, communicator).digest_after(0, 1), first);
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
  const ComparedCall call({.collective = Collective::allreduce, .algorithm = 7}, 1);
  const std::uint32_t before = call.digest_after(0, 1);
  const std::uint32_t mine = call.digest_after(before, 3), theirs = call.digest_after(before, 2);
  EXPECT_NE(theirs, mine);
  EXPECT_EQ(call.number_behind(theirs, before, 3), 2U);
  EXPECT_EQ(call.number_behind(mine, before, 2), 3U);
  EXPECT_NE(call.digest_after(theirs, 4), call.digest_after(mine, 4));
  EXPECT_EQ(call.number_behind(call.digest_after(before, 5'000), before, 3), std::nullopt);
}

}  // namespace
}  // namespace hocket
