// How windows open, and who is told to hold that up.
#include "transports/shm/window_handshake.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <numeric>

#include "tests/unit/transports/shm_ranks.hpp"

namespace hocket::shm {
namespace {

// One of four members, connected with nobody, and what the boards of all tell.
struct Member {
  explicit Member(std::uint32_t self) {
    group.self = self;
    for (Rank rank = 0; rank < 4; ++rank) group.members.push_back({.rank = rank});
  }
  void see(const std::array<std::uint64_t, 4>& progress) {
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      boards[i].progress.store(progress[i]);
      group.members[i].board = &boards[i];
    }
  }
  WindowHandshake::Missing missing() { return WindowHandshake(group).missing(); }

  TransportConfig config{.size = 4};
  LinkContext context;
  Connector connector{config, context, UniqueFd(), -1};
  WakeSocket wake_socket;
  std::unique_ptr<MemberBoard[]> boards = std::make_unique<MemberBoard[]>(4);
  WindowGroup group{.members = {}, .connector = connector, .wake_socket = wake_socket};
};

TEST(WindowHandshake, FindsWhereTheWordIs) {
  const std::pair<std::array<std::uint64_t, 4>, Rank> steps[] = {
      {{0, 0, 0, 0}, 0}, {{1, 1, 0, 1}, 0}, {{2, 0, 1, 1}, 1}, {{2, 1, 1, 1}, 1},
      {{2, 2, 1, 0}, 2}, {{2, 2, 2, 1}, 3}, {{2, 2, 2, 2}, 0},
  };
  for (const auto& [progress, holder] : steps) {
    for (std::uint32_t self = 0; self < 4; ++self) {
      if (static_cast<Rank>(self) == holder) continue;
      Member member(self);
      member.see(progress);
      EXPECT_EQ(member.missing().rank, holder) << "as member " << self << " sees it";
      EXPECT_TRUE(member.missing().certain);
    }
  }
}

// Also where the first member could wake nobody, or has left since.
TEST(WindowHandshake, IsOverOnceTheFirstMemberSaysSo) {
  constexpr std::size_t page = 4096;
  Member member(2);
  member.see({2, 2, 2, 2});
  member.group.memory = std::move(map_memory(create_memory("a test", page)->get(), 0, page)).value();
  WindowHandshake handshake(member.group);
  EXPECT_TRUE(handshake.advance().ok());
  EXPECT_FALSE(handshake.opened());
  member.see({3, 2, 2, 2});
  EXPECT_TRUE(handshake.advance().ok());
  EXPECT_TRUE(handshake.opened());
}

TEST(WindowHandshake, WithoutMemoryIsCertainOfTheFirstMemberOnly) {
  EXPECT_EQ(Member(1).missing().rank, 0);
  EXPECT_TRUE(Member(1).missing().certain);
  EXPECT_EQ(Member(3).missing().rank, 2);
  EXPECT_FALSE(Member(3).missing().certain);
}

// Rank 0 is in both, and opens them at the same time.
TEST(WindowOpening, OfOneNumberIsToldApartByItsMembers) {
  constexpr std::uint32_t number = 7;
  Ranks(3, [&](Party& party, Rank rank) {
    if (rank != 0) {
      const std::vector<Rank> members{rank, 0};
      const auto opened = party.transport->open_window(number, members, generous());
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      EXPECT_TRUE(party.until([&] { return !party.witness.left.empty(); }));
      return;
    }
    const std::vector<Rank> lists[] = {{1, 0}, {2, 0}};
    std::unique_ptr<WindowOpening> openings[2];
    std::unique_ptr<Window> windows[2];
    for (int i = 0; i < 2; ++i) {
      auto begun = party.transport->begin_window(number, lists[i], generous(), {});
      ASSERT_TRUE(begun.ok()) << begun.status().message();
      openings[i] = std::move(*begun);
    }
    EXPECT_TRUE(party.until([&] {
      for (int i = 0; i < 2; ++i) {
        if (windows[i] != nullptr) continue;
        auto window = openings[i]->advance();
        if (!window.ok()) throw std::runtime_error(window.status().message());
        windows[i] = std::move(*window);
      }
      return windows[0] != nullptr && windows[1] != nullptr;
    }));
    for (int i = 0; i < 2; ++i) EXPECT_EQ(windows[i]->rank_of(0), i + 1);
    EXPECT_EQ(party.transport->begin_window(number, lists[0], generous(), {}).status().code(), Code::internal);
    party.transport->shut_down(Status(), generous());
  });
}

// So many are connected in a ring: most wait for one that waits itself.
TEST(WindowOpening, NamesTheRankThatNeverCame) {
  constexpr Rank size = all_connected_max + 2, absent = 5;
  std::vector<Rank> members(size);
  std::iota(members.begin(), members.end(), 0);
  std::array<int, 2> here{};  // closed by those that are through
  ASSERT_EQ(::pipe(here.data()), 0);
  Ranks(size, [&](Party& party, Rank rank) {
    if (rank == absent) {
      ::close(here[1]);
      char none = 0;
      EXPECT_EQ(::read(here[0], &none, 1), 0);
      return;
    }
    const auto opened = party.open_window(members, Deadline::after(std::chrono::seconds(1)));
    EXPECT_EQ(opened.status().code(), Code::timeout);
    EXPECT_EQ(opened.status().cause().peer, absent) << opened.status().message();
    ::close(here[1]);
  });
  ::close(here[0]);
}

}  // namespace
}  // namespace hocket::shm
