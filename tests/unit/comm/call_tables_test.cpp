#include "src/comm/call_tables.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace hocket::comm {
namespace {

constexpr Rank size = 3;

// The caller's lists, which it may write into.
struct Lists {
  std::vector<std::size_t> send_counts{1, 2, 3}, send_at{0, 1, 3}, recv_counts{4, 2, 5}, recv_at{20, 10, 0};

  CallArguments call(Collective collective, Rank root = 0) const {
    return {.collective = collective,
            .root = root,
            .blocks = {send_counts.data(), send_at.data(), recv_counts.data(), recv_at.data()}};
  }
};

TEST(CallTables, FitOtherListsOfTheSameValues) {
  const Lists one, other;
  const CallTables tables = CallTables::of(one.call(Collective::alltoall_v), 0, size);
  EXPECT_TRUE(tables.fit(other.call(Collective::alltoall_v)));
}

// The lists are the ones that were kept, but no longer say the same.
TEST(CallTables, NoticeWhatTheCallerChanges) {
  const std::vector<std::function<void(Lists&)>> changes = {
      [](Lists& lists) { lists.send_counts[0] = 2; },
      [](Lists& lists) { lists.send_at[2] = 4; },
      [](Lists& lists) { lists.recv_counts[1] = 0; },
      [](Lists& lists) { lists.recv_at[2] = 1; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Lists lists;
    const CallArguments call = lists.call(Collective::alltoall_v);
    const CallTables tables = CallTables::of(call, 0, size);
    EXPECT_TRUE(tables.fit(call));
    changes[i](lists);
    EXPECT_FALSE(tables.fit(call)) << "change " << i;
  }
}

TEST(CallTables, TellDisplacementsFromNone) {
  const Lists lists;
  CallArguments packed = lists.call(Collective::alltoall_v), displaced = packed;
  packed.blocks.recv_displacements = nullptr;
  EXPECT_FALSE(CallTables::of(packed, 0, size).fit(displaced));
  EXPECT_FALSE(CallTables::of(displaced, 0, size).fit(packed));
  EXPECT_TRUE(CallTables::of(packed, 0, size).fit(packed));
}

// A list that this rank need not give may be anything, memory that is not there, too.
TEST(CallTables, LookAtNoListsWhereTheRootAloneGivesThem) {
  const auto* const nowhere = reinterpret_cast<const std::size_t*>(std::uintptr_t{8});
  for (const Collective collective : {Collective::gather_v, Collective::scatter_v}) {
    const CallArguments call{.collective = collective, .root = 1, .blocks = {nowhere, nowhere, nowhere, nowhere}};
    EXPECT_TRUE(CallTables::of(call, 0, size).fit(call));
    Lists lists;
    const CallArguments roots = lists.call(collective, 1);
    const CallTables tables = CallTables::of(roots, 1, size);
    (collective == Collective::gather_v ? lists.recv_counts : lists.send_counts)[2] = 9;
    EXPECT_FALSE(tables.fit(roots));
  }
}

TEST(CallTables, AreNoneWhereBlocksAreEqual) {
  const CallArguments call{.collective = Collective::allgather};
  EXPECT_TRUE(CallTables::of(call, 0, size).fit(call));
}

}  // namespace
}  // namespace hocket::comm
