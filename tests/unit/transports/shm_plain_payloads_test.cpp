// What is different of long messages whose payload stays in plain memory.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/unit/transports/shm_payload_ends.hpp"

namespace hocket::shm {
namespace {

class ShmPlainPayloads : public testing::Test {
 protected:
  void SetUp() override { skip_where_unreadable(Kind::plain); }
};

// A sender that has died before its plain memory was read takes the message with it; the ring would have held this one.
TEST_F(ShmPlainPayloads, DieWithTheirSender) {
  constexpr std::size_t bytes = 100'000;
  Ranks ranks(2, [](Party& party, Rank rank) {
    End end(party, rank, Kind::plain);
    Outcome outcome;
    if (rank == 1) {
      end.link->send(tag(1), {end.memory(), bytes}, outcome);
      party.transport->progress();
      EXPECT_FALSE(outcome.done());
      end.say(static_cast<std::uint64_t>(::getpid()));
      ::raise(SIGKILL);
    }
    end.hear(1);
    siginfo_t ended{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(end.heard()), &ended, WEXITED | WNOWAIT), 0);
    std::vector<std::byte> to(bytes);
    end.link->recv(tag(1), {to.data(), to.size()}, outcome);
    EXPECT_TRUE(party.until([&] { return outcome.done(); }));
    EXPECT_EQ(outcome.status.code(), Code::peer_lost) << outcome.status.message();
  });
  ranks.allow_killed();
}

// The sender's mistake breaks the link, and nothing else.
TEST_F(ShmPlainPayloads, WhoseMemoryIsUnmappedAreAFailure) {
  const auto unmap = [](End& end) { end.mapping = Mapping(); };
  expect_failure_without(Kind::plain, unmap, "its memory cannot be read (Bad address)");
}

// Where reading is forbidden, messages pass through the ring, and are over once they lie there.
TEST(ShmPayloads, PassThroughTheRingToAReceiverThatMustNotRead) {
  ::setenv("HOCKET_SINGLE_COPY", "off", 1);  // which a transport reads when it is made
  Ranks(2, [](Party& party, Rank rank) {
    End end(party, rank, Kind::plain);
    constexpr std::size_t bytes = 100'000;  // which the ring holds
    Outcome outcome;
    if (rank == 0) {
      fill(end.memory(), bytes, 1);
      end.link->send(tag(1), {end.memory(), bytes}, outcome);
      EXPECT_TRUE(party.until([&] { return outcome.done(); }) && outcome.good());
      fill(end.memory(), bytes, 2);
      end.say(1);
    } else {
      end.hear(1);
      std::vector<std::byte> to(bytes);
      end.link->recv(tag(1), {to.data(), to.size()}, outcome);
      EXPECT_TRUE(party.until([&] { return outcome.done(); }) && outcome.good());
      EXPECT_TRUE(holds(to.data(), to.size(), 1));
    }
    end.leave();
  });
  ::unsetenv("HOCKET_SINGLE_COPY");
}

}  // namespace
}  // namespace hocket::shm
