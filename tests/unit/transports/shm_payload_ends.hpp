// Two ranks between which payloads stay where they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/spi/plain_messages.hpp"
#include "tests/support/plain_memory.hpp"
#include "tests/unit/transports/shm_ranks.hpp"
#include "transports/shm/shared_memory.hpp"

namespace hocket::shm {

inline constexpr std::size_t long_bytes = 1'000'000;
inline constexpr auto generously = std::chrono::seconds(60);

struct Outcome : Completion {
  Outcome() {
    on_done = [](Completion& self, const Status& why) {
      auto& outcome = static_cast<Outcome&>(self);
      ++outcome.times;
      outcome.status = why;
      if (outcome.then) outcome.then();
    };
  }
  bool done() const { return times > 0; }
  bool good() const { return times == 1 && status.ok(); }

  int times = 0;
  Status status;
  std::function<void()> then;  // at once, while the link is at work
};

inline Tag tag(std::uint32_t sequence) {
  return {.communicator = 3, .sequence = sequence, .call = {.kind = SignatureKind::send, .root = 1}};
}

inline std::byte pattern(std::uint32_t seed, std::size_t at) {
  return static_cast<std::byte>(seed * 37 + at * 7 + at / 251);
}

inline void fill(std::byte* data, std::size_t bytes, std::uint32_t seed) {
  for (std::size_t at = 0; at < bytes; ++at) data[at] = pattern(seed, at);
}

inline bool holds(const std::byte* data, std::size_t bytes, std::uint32_t seed) {
  for (std::size_t at = 0; at < bytes; ++at) {
    if (data[at] != pattern(seed, at)) return false;
  }
  return true;
}

enum class Kind { registered, plain };

// One of two ranks: a window, a link to the other, and memory that the other can read.
struct End {
  End(Party& own, Rank rank, Kind kind = Kind::registered) : party(own), window(std::move(own.open_window(2)).value()) {
    link = std::move(party.transport->connect(1 - rank, party.transport->address(), generous())).value();
    auto fd = std::move(create_memory("a test", bytes)).value();
    mapping = std::move(map_memory(fd.get(), 0, bytes)).value();
    if (kind == Kind::registered) {
      EXPECT_TRUE(party.regions.add(fd.get(), memory(), bytes));
    } else {
      party.transport->leave_in_place(all_plain_messages());
      meet();
    }
  }
  // Both ways, a message that opens the ring, and one behind which either end knows what the other can read.
  void meet() {
    for (std::uint32_t at = 100; at < 102; ++at) {
      std::vector<std::byte> from(long_bytes), to(long_bytes);
      Outcome sent, received;
      link->send(tag(at), {from.data(), from.size()}, sent);
      link->recv(tag(at), {to.data(), to.size()}, received);
      EXPECT_TRUE(party.until([&] { return sent.done() && received.done(); }) && sent.good() && received.good());
    }
  }
  std::byte* memory() const { return mapping.data(); }
  // Says `value` to the other rank, or waits until that has said it; makes no progress over the link.
  void say(std::uint64_t value) { window->control_lines(window->self())[0].words[0] = value; }
  void hear(std::uint64_t value) {
    const Deadline deadline = Deadline::after(generously);
    while (heard() < value && !deadline.passed()) ::sched_yield();
    ASSERT_FALSE(deadline.passed());
  }
  std::uint64_t heard() const { return window->control_lines(1 - window->self())[0].words[0]; }
  // As a rank that leaves in good order.
  void leave() { party.transport->shut_down(Status(), generous()); }

  static constexpr std::size_t bytes = 4 << 20;
  Party& party;
  std::unique_ptr<Window> window;
  Link* link;
  Mapping mapping;
};

inline void skip_where_unreadable(Kind kind) {
  if (kind == Kind::plain && !ranks_may_read_each_other())
    GTEST_SKIP() << "this user may not read other processes' memory here";
}

// Rank 1 sends from memory that `take_away` takes away before rank 0 receives it: its mistake, of which both hear in
// these words.
inline void expect_failure_without(Kind kind, const std::function<void(End&)>& take_away, const std::string& words) {
  Ranks(2, [&](Party& party, Rank rank) {
    End end(party, rank, kind);
    Outcome outcome;
    std::vector<std::byte> to(long_bytes);
    if (rank == 1) {
      end.link->send(tag(1), {end.memory(), long_bytes}, outcome);
      party.transport->progress();
      take_away(end);
      end.say(1);
    } else {
      end.hear(1);
      end.link->recv(tag(1), {to.data(), to.size()}, outcome);
    }
    EXPECT_TRUE(party.until([&] { return outcome.done(); }));
    EXPECT_EQ(outcome.status.code(), Code::invalid_argument) << outcome.status.message();
    EXPECT_THAT(outcome.status.message(), testing::HasSubstr("rank 1 (process "));
    EXPECT_THAT(outcome.status.message(), testing::HasSubstr(words));
    if (rank == 0) end.say(2);
    if (rank == 1) end.hear(2);
  });
}

}  // namespace hocket::shm
