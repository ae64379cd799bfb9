#include "src/comm/call_tables.hpp"

#include <gtest/gtest.h>

#include <array>
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

// However long they are, each value counts, and nothing behind the last one is looked at.
TEST(CallTables, CompareAllValuesOfListsOfAnyLength) {
  for (std::size_t length = 1; length <= 7; ++length) {
    const auto ranks = static_cast<Rank>(length);
    for (std::size_t list = 0; list < 4; ++list) {
      std::array<std::vector<std::size_t>, 4> lists;
      for (auto& each : lists) each.assign(length, 5);
      const CallArguments call{.collective = Collective::alltoall_v,
                               .blocks = {lists[0].data(), lists[1].data(), lists[2].data(), lists[3].data()}};
      const CallTables tables = CallTables::of(call, 0, ranks);
      EXPECT_TRUE(tables.fit(call)) << length;
      for (std::size_t& value : lists[list]) {
        for (const std::size_t other : {std::size_t{4}, std::size_t{0}, std::size_t{5} + (std::size_t{1} << 32)}) {
          value = other;
          EXPECT_FALSE(tables.fit(call)) << length << " values, list " << list;
        }
        value = 5;
        EXPECT_TRUE(tables.fit(call));
      }
    }
  }
}

// Those are not read.
TEST(CallTables, NoticeListsThatAreNoLongerGivenOrNewlyGiven) {
  const std::vector<std::size_t> list{5, 5, 5};
  for (const Rank ranks : {1, 2, 3}) {
    for (std::size_t given = 0; given < 16; ++given) {
      for (std::size_t then = 0; then < 16; ++then) {
        const auto call_with = [&](std::size_t which) {
          const auto at = [&](std::size_t i) { return (which >> i & 1) != 0 ? list.data() : nullptr; };
          return CallArguments{.collective = Collective::alltoall_v, .blocks = {at(0), at(1), at(2), at(3)}};
        };
        EXPECT_EQ(CallTables::of(call_with(given), 0, ranks).fit(call_with(then)), given == then)
            << ranks << " ranks: " << given << ", then " << then;
      }
    }
  }
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
