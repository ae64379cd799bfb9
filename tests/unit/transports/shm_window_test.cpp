#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/unit/transports/shm_ranks.hpp"
#include "transports/shm/shared_memory.hpp"
#include "transports/shm/wake_flag.hpp"

namespace hocket::shm {
namespace {

// Sleeps on the window until `done`, for which it waits for `awaited` alone, as a direct path does.
template <class Done>
void sleep_until(Window& window, Done done, MemberSet awaited = all_members) {
  const Deadline deadline = generous();
  while (!done()) {
    ASSERT_FALSE(deadline.passed());
    const std::uint32_t ticket = window.prepare_sleep(awaited);
    if (done()) {
      window.cancel_sleep();
      return;
    }
    window.sleep(ticket, deadline);
  }
}

std::atomic<std::uint64_t>& word(Window& window, std::uint32_t member, std::size_t line) {
  return window.control_lines(member)[line].words[0];
}

// The first `members` have said `value` on `line` when this returns.
void barrier(Window& window, std::size_t line, std::uint64_t value, std::uint32_t members) {
  word(window, window.self(), line).store(value, std::memory_order_release);
  window.wake_others();
  for (std::uint32_t member = 0; member < members; ++member) {
    const auto came = [&] { return word(window, member, line).load(std::memory_order_acquire) >= value; };
    sleep_until(window, came, set_of(member));
  }
}

void barrier(Window& window, std::size_t line, std::uint64_t value) {
  barrier(window, line, value, window.size());
}

std::byte shm_window_pattern(std::uint32_t member, std::size_t i) {
  return static_cast<std::byte>(member * 31 + i * 7);
}

void shm_window_fill(std::byte* data, std::size_t bytes, std::uint32_t member) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = shm_window_pattern(member, i);
}

bool shm_window_holds(const std::byte* data, std::size_t bytes, std::uint32_t member) {
  for (std::size_t i = 0; i < bytes; ++i) {
    if (data[i] != shm_window_pattern(member, i)) return false;
  }
  return true;
}

class ShmWindowOf : public testing::TestWithParam<Rank> {};

TEST_P(ShmWindowOf, MembersSeeBoardsAndStagingOfAll) {
  Ranks(GetParam(), [&](Party& party, Rank rank) {
    auto opened = party.open_window(GetParam());
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    Window& window = **opened;
    ASSERT_EQ(window.size(), static_cast<std::uint32_t>(GetParam()));
    ASSERT_EQ(window.self(), static_cast<std::uint32_t>(rank));
    EXPECT_EQ(window.staging_bytes() % (std::size_t{2} << 20), 0u);
    for (std::uint32_t member = 0; member < window.size(); ++member) {
      EXPECT_EQ(window.rank_of(member), static_cast<Rank>(member));
    }
    shm_window_fill(window.staging(window.self()), window.staging_bytes(), window.self());
    for (std::size_t line = 1; line < Window::lines_per_member; ++line) {
      EXPECT_EQ(word(window, window.self(), line).load(), 0u);
      word(window, window.self(), line).store(line * 100 + window.self());
    }
    barrier(window, 0, 1);
    for (std::uint32_t member = 0; member < window.size(); ++member) {
      EXPECT_TRUE(shm_window_holds(window.staging(member), window.staging_bytes(), member)) << member;
      for (std::size_t line = 1; line < Window::lines_per_member; ++line) {
        EXPECT_EQ(word(window, member, line).load(), line * 100 + member);
      }
    }
    barrier(window, 0, 2);
  });
}

// How much of a member's staging area takes memory.
std::size_t committed_bytes(Window& window, std::uint32_t member) {
  const auto page = static_cast<std::size_t>(::getpagesize());
  std::vector<unsigned char> pages(window.staging_bytes() / page);
  EXPECT_EQ(::mincore(window.staging(member), window.staging_bytes(), pages.data()), 0);
  return static_cast<std::size_t>(std::ranges::count_if(pages, [](auto flags) { return (flags & 1) != 0; })) * page;
}

TEST_P(ShmWindowOf, StagingTakesMemoryOnceItsOwnerUsesIt) {
  if (!enter_pages(static_cast<std::byte*>(nullptr), 0)) GTEST_SKIP() << "this kernel cannot commit memory later";
  Ranks(GetParam(), [&](Party& party, Rank) {
    auto opened = party.open_window(GetParam());
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    Window& window = **opened;
    const std::uint32_t next = (window.self() + 1) % window.size();
    if (next != window.self()) {
      EXPECT_EQ(committed_bytes(window, next), 0u);
    }
    barrier(window, 0, 1);
    (void)window.staging(window.self());
    barrier(window, 0, 2);
    EXPECT_EQ(committed_bytes(window, next), window.staging_bytes());
    barrier(window, 0, 3);
  });
}

// Every round needs every wake-up: a lost one is a hang, which the deadline turns into a failure.
TEST_P(ShmWindowOf, NoWakeUpIsLost) {
  Ranks(GetParam(), [&](Party& party, Rank) {
    auto opened = party.open_window(GetParam());
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    for (std::uint64_t round = 1; round <= (GetParam() > 5 ? 1000u : 20'000u) && !testing::Test::HasFailure(); ++round)
      barrier(**opened, 0, round);
  });
}

void expect_removal_is_seen(Party& party, Window& window, std::byte* memory, std::uint32_t id) {
  EXPECT_TRUE(party.regions.remove(memory));
  EXPECT_EQ(window.locate(memory, 1).region, 0u);
  barrier(window, 0, 4);
  party.transport->progress();
  for (std::uint32_t member = 0; member < window.size(); ++member) {
    if (member == window.self()) continue;
    party.until([&] { return window.map(member, {id, 0}, 1) == nullptr; });
    EXPECT_EQ(window.map(member, {id, 0}, 1), nullptr) << "removed";
  }
}

TEST_P(ShmWindowOf, RegisteredMemoryIsMappedByTheOthers) {
  constexpr std::size_t bytes = 3'000'000;
  Ranks(GetParam(), [&](Party& party, Rank) {
    auto opened = party.open_window(GetParam());
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    Window& window = **opened;
    auto fd = create_memory("a test", bytes);
    ASSERT_TRUE(fd.ok());
    auto memory = map_memory(fd->get(), 0, bytes);
    ASSERT_TRUE(memory.ok());
    auto id = party.regions.add(fd->get(), memory->data(), bytes);
    ASSERT_TRUE(id.ok()) << id.status().message();
    fd->reset();
    shm_window_fill(memory->data(), bytes, window.self());

    RegionRef ref;  // of many members, once all are connected
    party.until([&] {
      ref = window.locate(memory->data() + 1000, bytes - 1000);
      return ref.region != 0;
    });
    ASSERT_EQ(ref, (RegionRef{*id, 1000}));
    EXPECT_EQ(window.locate(memory->data() + 1000, bytes).region, 0u) << "beyond the end";
    EXPECT_EQ(window.locate(&ref, sizeof ref).region, 0u) << "not registered";
    EXPECT_EQ(window.map(window.self(), ref, bytes - 1000), memory->data() + 1000);
    auto& line = window.control_lines(window.self())[1];
    line.words[0] = ref.region;
    line.words[1] = ref.offset;
    barrier(window, 0, 1);
    for (std::uint32_t member = 0; member < window.size(); ++member) {
      if (member == window.self()) continue;
      auto& theirs = window.control_lines(member)[1];
      const RegionRef there{static_cast<std::uint32_t>(theirs.words[0]), theirs.words[1]};
      std::byte* const data = window.map(member, there, bytes - 1000);
      ASSERT_NE(data, nullptr);
      EXPECT_TRUE(shm_window_holds(data - 1000, bytes, member));
      EXPECT_EQ(window.map(member, there, bytes - 1000), data) << "mapped once";
      EXPECT_EQ(window.map(member, there, bytes), nullptr) << "beyond the end";
      EXPECT_EQ(window.map(member, {there.region + 1, 0}, 1), nullptr) << "no such region";
    }
    barrier(window, 0, 2);
    for (std::uint32_t member = 0; member < window.size(); ++member) {
      if (member == window.self()) continue;
      auto& theirs = window.control_lines(member)[1];
      const RegionRef there{static_cast<std::uint32_t>(theirs.words[0]), theirs.words[1]};
      *window.map(member, {there.region, window.self()}, 1) = std::byte{0xee};  // written here, seen by the owner
    }
    barrier(window, 0, 3);
    for (std::uint32_t member = 0; member < window.size(); ++member) {
      if (member == window.self()) continue;
      EXPECT_EQ(memory->data()[member], std::byte{0xee});
    }
    expect_removal_is_seen(party, window, memory->data(), *id);
    window.tidy();
    barrier(window, 0, 5);
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, ShmWindowOf, testing::Values(1, 2, 3, 5, 20));  // 20: more than are all connected

TEST(ShmWindow, ManyMembersAreConnectedInARing) {
  constexpr Rank size = 20;
  Ranks(size, [&](Party& party, Rank rank) {
    auto opened = party.open_window(size);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    barrier(**opened, 0, 1);
    for (Rank peer = 0; peer < size; ++peer) {
      const bool neighbour = peer == (rank + 1) % size || peer == (rank + size - 1) % size;
      EXPECT_EQ(party.transport->connected(peer), neighbour) << peer;
    }
    barrier(**opened, 0, 2);
  });
}

TEST(ShmWindow, InterruptEndsASleep) {
  Ranks(1, [&](Party& party, Rank) {
    auto opened = party.open_window(1);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    Window& window = **opened;
    std::atomic<bool> stop{false};
    std::thread other([&] {
      stop = true;
      window.interrupt();
    });
    sleep_until(window, [&] { return stop.load(); });
    other.join();
    // One that came before the ticket is not remembered: the deadline ends this sleep.
    const auto before = Deadline::Clock::now();
    window.sleep(window.prepare_sleep(all_members), Deadline::after(std::chrono::milliseconds(20)));
    EXPECT_GE(Deadline::Clock::now() - before, std::chrono::milliseconds(20));
  });
}

TEST(ShmWindow, ASleeperIsWokenByThoseItWaitsFor) {
  WakeFlag flag;
  const auto passes = [&](Deadline deadline, std::uint32_t waker) {
    const std::uint32_t ticket = flag.prepare(set_of(1) | set_of(70));
    flag.wake(set_of(waker));
    flag.sleep(ticket, deadline);
    return deadline.passed();
  };
  EXPECT_TRUE(passes(Deadline::after(std::chrono::milliseconds(20)), 0));
  EXPECT_FALSE(passes(generous(), 1));
  EXPECT_FALSE(passes(generous(), 70));
}

// Every round needs its wake-up: members sleep in poll(2), where they would hear of their links too.
TEST_P(ShmWindowOf, WhoPollsIsWokenToo) {
  Ranks(GetParam(), [&](Party& party, Rank) {
    auto opened = party.open_window(GetParam());
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    Window& window = **opened;
    std::vector<pollfd> interests;
    for (std::uint64_t round = 1; round <= (GetParam() > 5 ? 100u : 2000u) && !testing::Test::HasFailure(); ++round) {
      word(window, window.self(), 0).store(round, std::memory_order_release);
      window.wake_others();
      for (std::uint32_t member = 0; member < window.size(); ++member) {
        const auto came = [&] { return word(window, member, 0).load(std::memory_order_acquire) >= round; };
        while (!came()) {
          interests.clear();
          window.prepare_poll();
          if (!came() && party.transport->arm(interests)) {
            ASSERT_GT(::poll(interests.data(), interests.size(), generous().remaining_ms()), 0) << "a lost wake-up";
            party.transport->disarm();
          }
          window.cancel_sleep();
          party.transport->progress();
        }
      }
    }
  });
}

TEST(ShmWindow, AKilledMemberIsReportedByRank) {
  Ranks run(3, [&](Party& party, Rank rank) {
    auto opened = party.open_window(3);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    barrier(**opened, 0, 1);
    if (rank == 2) ::kill(::getpid(), SIGKILL);
    std::vector<pollfd> watched;
    party.transport->watch(watched);
    ASSERT_GT(::poll(watched.data(), watched.size(), generous().remaining_ms()), 0) << "what is watched tells";
    ASSERT_TRUE(party.until([&] { return !party.witness.failed.empty(); }));
    EXPECT_EQ(party.witness.failed, std::vector<Rank>{2});
    EXPECT_EQ(party.witness.failure.code(), Code::peer_lost);
    EXPECT_EQ(party.witness.failure.cause().peer, 2);
    EXPECT_NE(party.witness.failure.message().find("rank 2 (process "), std::string::npos);
    watched.clear();
    party.transport->watch(watched);
    std::erase_if(watched, [](const pollfd& one) { return one.fd < 0; });
    EXPECT_EQ(::poll(watched.data(), watched.size(), 0), 0) << "nothing left that progress cannot clear";
    barrier(**opened, 0, 2, 2);
  });
  run.allow_killed();
}

}  // namespace
}  // namespace hocket::shm
