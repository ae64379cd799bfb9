// Who is let in at a rank's Unix socket where there is a secret, and whom a rank trusts that it dials.
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cstring>
#include <fstream>

#include "tests/conformance/transport_ranks.hpp"
#include "transports/shm/shm_transport.hpp"

namespace hocket::shm {
namespace {

using ::testing::HasSubstr;
using testing_support::Ranks;
using Side = Challenge::Side;

const std::string secret = "what the ranks of this job know";

std::uint64_t fresh_group() {
  static std::uint64_t count = 0;
  return (static_cast<std::uint64_t>(::getpid()) << 32) + ++count + (1u << 20);
}

struct Maker {
  explicit Maker(Rank) {}
  Result<std::unique_ptr<Transport>> make(TransportConfig config) const {
    config.group = group;
    config.secret = secret;
    return make_transport(config);
  }
  std::uint64_t group = fresh_group();
};

sockaddr_un address_of(std::uint64_t group, Rank rank, socklen_t* bytes) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const std::string name = name_of(group, rank);
  std::memcpy(to.sun_path + 1, name.data(), name.size());
  *bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return to;
}

UniqueFd connect_to(std::uint64_t group, Rank rank) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  socklen_t bytes = 0;
  const sockaddr_un to = address_of(group, rank, &bytes);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), bytes), 0);
  return fd;
}

// Somebody of this user who speaks the protocol as rank 1, but knows the secret only if a test says so.
struct Newcomer {
  // At the door of `rank`, whatever it says there.
  explicit Newcomer(std::uint64_t of, Rank rank = 0) : group(of), channel(connect_to(of, rank)) {}

  void say(PacketKind kind, std::string_view text, bool with_event) {
    const int fd = wake_event.get();
    const std::span<const int> fds(&fd, with_event ? 1 : 0);
    EXPECT_TRUE(channel.try_send({.kind = kind, .words = {group, 1, 0}, .text = std::string(text)}, fds));
  }
  PacketKind hear(Ranks<Maker>& ranks) {
    EXPECT_TRUE(ranks.until([&] { return channel.receive(heard) == Channel::Event::packet; }));
    return heard.kind;
  }
  void expect_refusal(Ranks<Maker>& ranks, Distrust why) {
    EXPECT_EQ(hear(ranks), PacketKind::distrust);
    EXPECT_EQ(heard.words[0], static_cast<std::uint64_t>(why));
    EXPECT_TRUE(ranks.until([&] { return channel.receive(heard) == Channel::Event::end; }));
  }
  std::string their_nonce() const { return heard.text.substr(0, Challenge::nonce_bytes); }
  std::string their_proof() const { return heard.text.substr(Challenge::nonce_bytes); }

  std::uint64_t group;
  Channel channel;
  UniqueFd wake_event{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  Packet heard;
};

class ShmTrust : public ::testing::Test {
 protected:
  std::string context() const { return context_of({maker_.group, 1, 0}); }

  const Maker maker_{2};
  Ranks<Maker> ranks_{2, maker_};
};

TEST_F(ShmTrust, ARankWithTheSecretIsLetIn) {
  const Challenge own(secret, Side::dials, context());
  Newcomer rank(maker_.group);
  rank.say(PacketKind::hello, own.nonce(), false);
  ASSERT_EQ(rank.hear(ranks_), PacketKind::challenge);
  EXPECT_EQ(rank.heard.fds.size(), 1u);
  EXPECT_TRUE(own.accepts(rank.their_proof(), rank.their_nonce()));
  rank.say(PacketKind::proof, text_of(own.proof(rank.their_nonce())), true);
  EXPECT_EQ(rank.hear(ranks_), PacketKind::welcome);
  EXPECT_TRUE(rank.heard.fds.empty());
  EXPECT_TRUE(ranks_[0].connected(1));
}

// It has proved what it should, but the other side leaves in good order before it has taken that in.
TEST_F(ShmTrust, WhoLeavesWhileItIsGreetedIsNotTakenForDead) {
  auto link = ranks_[1].connect(0, ranks_[0].address(), std::nullopt);
  ASSERT_TRUE(link.ok());
  for (int step = 0; step < 20 && !ranks_[1].connected(0); ++step) {
    ranks_[1].progress();                 // the last thing it does may be its proof
    if (step == 0) ranks_[0].progress();  // the challenge
  }
  EXPECT_FALSE(ranks_[1].connected(0)) << "nobody has welcomed it";
  ranks_[0].shut_down(Status(), Deadline::after({}));
  ranks_.kill(0);
  EXPECT_TRUE(ranks_.until([&] { return !ranks_.seen(1).departures.empty() || !ranks_.seen(1).failures.empty(); }));
  EXPECT_THAT(ranks_.seen(1).departures, ::testing::ElementsAre(0));
  EXPECT_TRUE(ranks_.seen(1).failures.empty());
}

TEST_F(ShmTrust, AStrangerWithTheRightGroupAndRankIsRefused) {
  ::testing::internal::CaptureStderr();
  Newcomer stranger(maker_.group);
  stranger.say(PacketKind::hello, "", true);
  stranger.expect_refusal(ranks_, Distrust::needs_secret);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("it has no secret, but this process has one: give all processes of the job the same "
                        "HOCKET_SECRET"));
  expect_unharmed(ranks_);
}

TEST_F(ShmTrust, AGuessedProofIsRefused) {
  Newcomer stranger(maker_.group);
  stranger.say(PacketKind::hello, std::string(Challenge::nonce_bytes, 'n'), false);
  ASSERT_EQ(stranger.hear(ranks_), PacketKind::challenge);
  EXPECT_FALSE(ranks_[0].connected(1));
  stranger.say(PacketKind::proof, std::string(Challenge::proof_bytes, 'p'), true);
  stranger.expect_refusal(ranks_, Distrust::other_secret);
  expect_unharmed(ranks_);
}

TEST_F(ShmTrust, AReplayedTranscriptIsRefused) {
  const Challenge own(secret, Side::dials, context());
  Newcomer first(maker_.group);
  first.say(PacketKind::hello, own.nonce(), false);
  ASSERT_EQ(first.hear(ranks_), PacketKind::challenge);
  const Mac proof = own.proof(first.their_nonce());  // which the first one never sends
  Newcomer replayer(maker_.group);
  replayer.say(PacketKind::hello, own.nonce(), false);
  ASSERT_EQ(replayer.hear(ranks_), PacketKind::challenge);
  replayer.say(PacketKind::proof, text_of(proof), true);
  replayer.expect_refusal(ranks_, Distrust::other_secret);
  first.say(PacketKind::proof, text_of(proof), true);
  EXPECT_TRUE(ranks_.until([&] { return ranks_[0].connected(1); }));
}

// One that has been let in: its words open neither the same door again nor another one, and it stays connected.
TEST(ShmTrustOfThree, ATranscriptThatWasTakenOpensNoDoor) {
  const Maker maker(3);
  Ranks<Maker> ranks(3, maker);
  const std::uint64_t group = maker.group;
  const Challenge own(secret, Side::dials, context_of({group, 1, 0}));
  Newcomer first(group);
  first.say(PacketKind::hello, own.nonce(), false);
  ASSERT_EQ(first.hear(ranks), PacketKind::challenge);
  const Mac proof = own.proof(first.their_nonce());
  first.say(PacketKind::proof, text_of(proof), true);
  ASSERT_EQ(first.hear(ranks), PacketKind::welcome);

  Newcomer again(group);
  again.say(PacketKind::hello, own.nonce(), false);
  ASSERT_EQ(again.hear(ranks), PacketKind::challenge);
  again.say(PacketKind::proof, text_of(proof), true);
  again.expect_refusal(ranks, Distrust::other_secret);

  Newcomer elsewhere(group, 1);
  elsewhere.say(PacketKind::hello, own.nonce(), false);
  EXPECT_TRUE(ranks.until([&] { return elsewhere.channel.receive(elsewhere.heard) == Channel::Event::end; }));

  EXPECT_TRUE(ranks[0].connected(1));
  auto [from, to] = ranks.connect_both(0, 2);
  exchange(ranks, *from, *to, 1, 700'000);
  EXPECT_TRUE(ranks.seen(0).failures.empty());
  EXPECT_TRUE(ranks.seen(1).failures.empty());
}

TEST_F(ShmTrust, AReflectedChallengeIsRefused) {
  Newcomer stranger(maker_.group), oracle(maker_.group);
  stranger.say(PacketKind::hello, std::string(Challenge::nonce_bytes, 'n'), false);
  ASSERT_EQ(stranger.hear(ranks_), PacketKind::challenge);
  oracle.say(PacketKind::hello, stranger.their_nonce(), false);  // asks the rank to prove what it has asked for
  ASSERT_EQ(oracle.hear(ranks_), PacketKind::challenge);
  oracle.say(PacketKind::proof, stranger.their_proof(), true);
  stranger.say(PacketKind::proof, oracle.their_proof(), true);
  oracle.expect_refusal(ranks_, Distrust::other_secret);
  stranger.expect_refusal(ranks_, Distrust::other_secret);
  expect_unharmed(ranks_);
}

TEST_F(ShmTrust, AnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(1);
    Newcomer stranger(maker_.group);  // which even knows the secret
    const Challenge own(secret, Side::dials, context());
    stranger.say(PacketKind::hello, own.nonce(), false);
    pollfd readable{stranger.channel.fd(), POLLIN, 0};
    ::poll(&readable, 1, 60'000);
    ::_exit(stranger.channel.receive(stranger.heard) == Channel::Event::end ? 0 : 2);
  }
  int status = -1;
  EXPECT_TRUE(ranks_.until([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  expect_unharmed(ranks_);
}

// What everybody on the host can read is no key to anything.
TEST_F(ShmTrust, TheNamesOfSocketsDoNotTellTheGroup) {
  std::ifstream file("/proc/net/unix");
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(all, HasSubstr(name_of(maker_.group, 0)));
  EXPECT_THAT(all, ::testing::Not(HasSubstr(fmt::format("{:016x}", maker_.group))));
  EXPECT_THAT(all, ::testing::Not(HasSubstr(std::to_string(maker_.group))));
}

// ---- the side that dials --------------------------------------------------------------------------------------------

// Listens where rank 0 should be, and answers one hello; what the side that dials says of it.
std::string problem_of(const std::string& with, const Packet& answer, Packet* said = nullptr) {
  const std::uint64_t group = answer.words[0];
  const auto listener = listen_as(group, 0);
  const UniqueFd wake_event(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  Dial dial({group, 1, 0}, wake_event.get(), with);
  EXPECT_EQ(dial.step(), Handshake::waiting);
  Channel peer(UniqueFd(::accept(listener->get(), nullptr, nullptr)));
  const int fd = wake_event.get();
  EXPECT_TRUE(peer.try_send(answer, std::span(&fd, 1)));
  EXPECT_EQ(dial.step(), Handshake::failed);
  Packet hello;
  EXPECT_EQ(peer.receive(hello), Channel::Event::packet);
  EXPECT_EQ(hello.fds.size(), with.empty() ? 1u : 0u);  // nothing is handed to who has proved nothing
  if (said != nullptr) {
    EXPECT_EQ(peer.receive(*said), Channel::Event::packet);
  }
  return dial.problem();
}

TEST(ShmTrustOfADialler, WhoWelcomesWithoutAProofIsNotTrusted) {
  EXPECT_THAT(problem_of(secret, {.kind = PacketKind::welcome, .words = {fresh_group(), 0, 1}}),
              HasSubstr("it has no secret, but this process has one"));
}

TEST(ShmTrustOfADialler, WhoProvesAnotherSecretIsNotTrustedAndIsTold) {
  Packet said;
  const std::string wrong(Challenge::nonce_bytes + Challenge::proof_bytes, 'x');
  EXPECT_THAT(problem_of(secret, {.kind = PacketKind::challenge, .words = {fresh_group(), 0, 1}, .text = wrong}, &said),
              HasSubstr("it does not know this process's secret"));
  EXPECT_EQ(said.kind, PacketKind::distrust);
}

}  // namespace
}  // namespace hocket::shm
