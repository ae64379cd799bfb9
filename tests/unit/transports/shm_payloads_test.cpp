// Long messages whose payload stays where it is, in memory that the sender has registered or in plain memory.
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <utility>

#include "src/exec/reduce.hpp"
#include "tests/unit/transports/shm_payload_ends.hpp"

namespace hocket::shm {
namespace {

class ShmPayloadsOf : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override { skip_where_unreadable(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Memory, ShmPayloadsOf, testing::Values(Kind::registered, Kind::plain),
                         [](const auto& kind) { return kind.param == Kind::plain ? "plain" : "registered"; });

TEST_P(ShmPayloadsOf, StayInTheirPlaceUntilTheyAreReceived) {
  Ranks(2, [](Party& party, Rank rank) {
    End end(party, rank, GetParam());
    Outcome outcome;
    if (rank == 1) {
      std::byte* const from = end.memory() + 13;
      fill(from, long_bytes, 1);
      end.link->send(tag(1), {from, long_bytes}, outcome);
      party.transport->progress();
      EXPECT_FALSE(outcome.done());
      fill(from, long_bytes, 2);  // which no sender may do, but shows where the receiver reads
      end.say(1);
      EXPECT_TRUE(party.until([&] { return outcome.done(); }) && outcome.good());
    } else {
      end.hear(1);
      std::vector<std::byte> to(long_bytes);
      end.link->recv(tag(1), {to.data(), to.size()}, outcome);
      EXPECT_TRUE(party.until([&] { return outcome.done(); }) && outcome.good());
      EXPECT_TRUE(holds(to.data(), to.size(), 2));
    }
    end.leave();
  });
}

// Short and long, registered and not, and not aligned to anything: all arrive whole and in their order.
TEST_P(ShmPayloadsOf, ComeInTheOrderOfTheSends) {
  const std::vector<std::size_t> sizes{65'536, 8, 32'767, 300'000, 0, 32'769, 32'768, 1'500'000, 4'096, 262'144};
  Ranks(2, [&](Party& party, Rank rank) {
    End end(party, rank, GetParam());
    std::list<Outcome> outcomes;
    std::vector<std::vector<std::byte>> buffers;
    std::size_t offset = 1;
    for (std::uint32_t at = 0; at < 2 * sizes.size(); ++at) {
      const std::size_t bytes = sizes[at % sizes.size()];
      const bool registered = at < sizes.size();
      buffers.emplace_back(bytes);
      Outcome& outcome = outcomes.emplace_back();
      if (rank == 0) {
        end.link->recv(tag(at), {buffers.back().data(), bytes}, outcome);
        continue;
      }
      std::byte* const from = registered ? end.memory() + offset : buffers.back().data();
      if (registered) offset += bytes + 3;
      fill(from, bytes, at);
      end.link->send(tag(at), {from, bytes}, outcome);
    }
    const auto all_done = [&] { return std::ranges::all_of(outcomes, &Outcome::done); };
    EXPECT_TRUE(party.until(all_done));
    EXPECT_TRUE(std::ranges::all_of(outcomes, &Outcome::good));
    for (std::uint32_t at = 0; rank == 0 && at < buffers.size(); ++at) {
      EXPECT_TRUE(holds(buffers[at].data(), buffers[at].size(), at)) << at;
    }
    end.leave();
  });
}

// Both ways at once, so that each end takes a payload while its own is taken.
TEST_P(ShmPayloadsOf, AreCombinedWhereTheyLie) {
  constexpr std::size_t count = 200'001;
  Ranks(2, [](Party& party, Rank rank) {
    End end(party, rank, GetParam());
    auto* const own = reinterpret_cast<float*>(end.memory() + 4);
    for (std::size_t at = 0; at < count; ++at) own[at] = static_cast<float>(at % 1000 + rank);
    std::vector<float> mine(count, 10), sum(count);
    Outcome sent, received;
    const Reduction add = reduction_for(DataType::float32, ReduceOp::sum, 2);
    end.link->send(tag(5), {reinterpret_cast<const std::byte*>(own), count * sizeof(float)}, sent);
    end.link->recv_reduce(tag(5), {reinterpret_cast<const std::byte*>(mine.data()), count * sizeof(float)},
                          {reinterpret_cast<std::byte*>(sum.data()), count * sizeof(float)}, add, received);
    EXPECT_TRUE(party.until([&] { return sent.done() && received.done(); }) && sent.good() && received.good());
    for (std::size_t at = 0; at < count; ++at) ASSERT_EQ(sum[at], static_cast<float>(at % 1000 + 1 - rank + 10)) << at;
    end.leave();
  });
}

// What its owner uses for something else by then is not taken for a message.
TEST_P(ShmPayloadsOf, AreNotReceivedOnceTheirSenderHasFailed) {
  Ranks(2, [](Party& party, Rank rank) {
    End end(party, rank, GetParam());
    Outcome outcome;
    if (rank == 1) {
      fill(end.memory(), long_bytes, 1);
      end.link->send(tag(1), {end.memory(), long_bytes}, outcome);
      party.transport->progress();
      ASSERT_FALSE(outcome.done());
      end.link->close(Status(Cause{.code = Code::timeout, .message = "rank 1 waits no more", .rank = 1, .peer = 0}));
      EXPECT_EQ(outcome.status.code(), Code::timeout);
      fill(end.memory(), long_bytes, 2);
      end.say(1);
      end.hear(1);
    } else {
      end.hear(1);
      std::vector<std::byte> to(long_bytes);
      end.link->recv(tag(1), {to.data(), to.size()}, outcome);
      EXPECT_TRUE(party.until([&] { return outcome.done(); }));
      EXPECT_EQ(outcome.times, 1);
      EXPECT_EQ(outcome.status.code(), Code::timeout) << outcome.status.message();
      EXPECT_EQ(party.witness.failed, std::vector<Rank>{1});
      end.say(1);
    }
  });
}

// A message that was sent outlives its sender, as one does that lies in the ring.
TEST(ShmPayloads, OutliveTheirSender) {
  Ranks ranks(2, [](Party& party, Rank rank) {
    End end(party, rank);
    Outcome first, second;
    if (rank == 1) {
      fill(end.memory(), long_bytes, 1);
      end.link->send(tag(1), {end.memory(), long_bytes}, first);
      party.transport->progress();
      end.say(1);
      ::raise(SIGKILL);
    }
    end.hear(1);
    std::vector<std::byte> to(long_bytes);
    end.link->recv(tag(1), {to.data(), to.size()}, first);
    end.link->recv(tag(2), {to.data(), to.size()}, second);
    EXPECT_TRUE(party.until([&] { return second.done(); }));
    EXPECT_TRUE(first.good()) << first.status.message();
    EXPECT_EQ(second.status.code(), Code::peer_lost);
    EXPECT_TRUE(holds(to.data(), to.size(), 1));
  });
  ranks.allow_killed();
}

TEST_P(ShmPayloadsOf, EndWithTheirReceiver) {
  Ranks ranks(2, [](Party& party, Rank rank) {
    End end(party, rank, GetParam());
    Outcome outcome;
    if (rank == 1) {
      end.hear(1);
      ::raise(SIGKILL);
    }
    end.link->send(tag(1), {end.memory(), long_bytes}, outcome);
    party.transport->progress();
    EXPECT_FALSE(outcome.done());
    end.say(1);
    EXPECT_TRUE(party.until([&] { return outcome.done(); }));
    EXPECT_EQ(outcome.status.code(), Code::peer_lost);
  });
  ranks.allow_killed();
}

// The memory of the second message is told of after the receiver has looked for that of the first.
TEST(ShmPayloads, MayLieInMemoryThatIsNewerThanTheLatestLook) {
  Ranks(2, [](Party& party, Rank rank) {
    End end(party, rank);
    Outcome opening, second;  // the first message opens the ring
    std::byte byte{};
    if (rank == 1) {
      Outcome first;
      end.link->send(tag(0), {&byte, 1}, opening);
      EXPECT_TRUE(party.until([&] { return opening.done(); }));
      fill(end.memory(), long_bytes, 1);
      end.hear(1);
      end.link->send(tag(1), {end.memory(), long_bytes}, first);
      party.transport->progress();
      end.say(1);
      end.hear(2);
      auto fd = std::move(create_memory("another test", End::bytes)).value();
      const auto newer = std::move(map_memory(fd.get(), 0, End::bytes)).value();
      ASSERT_TRUE(party.regions.add(fd.get(), newer.data(), End::bytes));
      fill(newer.data(), long_bytes, 2);
      end.link->send(tag(2), {newer.data(), long_bytes}, second);
      party.transport->progress();
      end.say(3);
      EXPECT_TRUE(party.until([&] { return first.done() && second.done(); }) && first.good() && second.good());
    } else {
      end.link->recv(tag(0), {&byte, 1}, opening);
      EXPECT_TRUE(party.until([&] { return opening.done(); }));
      Outcome first;
      first.then = [&end] {
        end.say(2);
        end.hear(3);
      };
      std::vector<std::byte> to(2 * long_bytes);
      end.link->recv(tag(1), {to.data(), long_bytes}, first);
      end.link->recv(tag(2), {to.data() + long_bytes, long_bytes}, second);
      end.say(1);
      end.hear(1);
      EXPECT_TRUE(party.until([&] { return first.done() && second.done(); }) && first.good() && second.good());
      EXPECT_TRUE(holds(to.data() + long_bytes, long_bytes, 2));
    }
    end.leave();
  });
}

// The sender's mistake breaks the link, and nothing else.
TEST(ShmPayloads, WhoseMemoryIsNotRegisteredAnyMoreAreAFailure) {
  const auto deregister = [](End& end) {
    ASSERT_TRUE(end.party.regions.remove(end.memory()));
    (void)end.window->locate(end.memory(), 1);  // tells the others
  };
  expect_failure_without(Kind::registered, deregister, "the registered memory from which");
}

}  // namespace
}  // namespace hocket::shm
