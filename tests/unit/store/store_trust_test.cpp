// Whom a store lets in, and which store a client trusts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "src/store/store_server.hpp"
#include "src/store/tcp_store.hpp"
#include "src/store/welcome.hpp"
#include "tests/unit/store/raw_client.hpp"

namespace hocket::store {
namespace {

using ::testing::HasSubstr;
using wire::Authentication;
using wire::Verdict;
using std::chrono_literals::operator""s;

const Trust known{.secret = "what the ranks of this job know"};
const Trust unknown{.secret = "what the ranks of others know"};
const Trust insecure{.insecure = true};

std::unique_ptr<StoreServer> serve_trusting(const Trust& trust) {
  auto server = StoreServer::start("127.0.0.1", 0, {.trust = trust});
  EXPECT_TRUE(server.ok());
  return std::move(*server);
}

Result<std::unique_ptr<TcpStore>> join(std::uint16_t port, const Trust& trust) {
  return TcpStore::connect("127.0.0.1", port, Deadline::after(60s), {}, trust);
}

// A client that sends what it likes, and what the server answers.
struct Stranger {
  explicit Stranger(std::uint16_t port) : client(port) {}

  void say(Authentication word, std::string_view more = {}, std::uint16_t version = wire::version) {
    client.send(wire::encode_greeting(wire::client_magic, {version, static_cast<std::uint16_t>(word), more}));
  }
  Verdict hear() {
    heard = client.receive(wire::greeting_bytes);
    const auto bytes = static_cast<std::size_t>(static_cast<unsigned char>(heard[12])) +
                       256 * static_cast<std::size_t>(static_cast<unsigned char>(heard[13]));
    text = client.receive(bytes);
    return static_cast<Verdict>(heard[10]);
  }
  bool ended() { return client.receive(1).empty(); }

  RawClient client;
  std::string heard, text;
};

void expect_unharmed(const StoreServer& server, const Trust& trust) {
  const auto store = join(server.port(), trust);
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_TRUE((*store)->set("key", "value", Deadline::after(60s)).ok());
  EXPECT_EQ(*(*store)->get("key", Deadline::after(60s)), "value");
}

TEST(StoreTrust, WhoKnowsTheSecretIsLetIn) {
  const auto server = serve_trusting(known);
  expect_unharmed(*server, known);
}

TEST(StoreTrust, WhoHasNoSecretIsRefusedAndBothSidesSayWhatToDo) {
  const auto server = serve_trusting(known);
  ::testing::internal::CaptureStderr();
  Stranger stranger(server->port());
  stranger.say(Authentication::none);
  EXPECT_EQ(stranger.hear(), Verdict::untrusted);
  EXPECT_TRUE(stranger.ended());
  const Status status = join(server->port(), {}).status();
  EXPECT_EQ(status.code(), Code::mismatch);
  EXPECT_THAT(status.message(), HasSubstr("it has a secret, but this process has none"));
  EXPECT_THAT(status.message(), HasSubstr("HOCKET_SECRET"));
  EXPECT_EQ(join(server->port(), insecure).status().code(), Code::mismatch);
  expect_unharmed(*server, known);  // and the line is written
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("it has no secret, but this process has one: give all processes of the job the same "
                        "HOCKET_SECRET"));
}

TEST(StoreTrust, AnotherSecretIsRefusedAndBothSidesSayWhatToDo) {
  const auto server = serve_trusting(known);
  ::testing::internal::CaptureStderr();
  const Status status = join(server->port(), unknown).status();
  EXPECT_EQ(status.code(), Code::mismatch);
  EXPECT_THAT(status.message(), HasSubstr("it does not know this process's secret"));
  expect_unharmed(*server, known);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("it does not know this process's secret"));
}

TEST(StoreTrust, AWrongProofIsRefused) {
  const auto server = serve_trusting(known);
  Stranger stranger(server->port());
  stranger.say(Authentication::number, std::string(Challenge::nonce_bytes, 'n'));
  EXPECT_EQ(stranger.hear(), Verdict::challenge);
  stranger.say(Authentication::proof, std::string(Challenge::proof_bytes, 'p'));
  EXPECT_EQ(stranger.hear(), Verdict::untrusted);
  EXPECT_TRUE(stranger.ended());
  expect_unharmed(*server, known);
}

TEST(StoreTrust, ARequestBeforeTheProofIsNotServed) {
  const auto server = serve_trusting(known);
  Stranger stranger(server->port());
  stranger.say(Authentication::number, std::string(Challenge::nonce_bytes, 'n'));
  stranger.client.send(wire::encode_request({.operation = wire::Operation::set, .key = "key", .value = "forged"}));
  EXPECT_EQ(stranger.hear(), Verdict::challenge);
  EXPECT_TRUE(stranger.ended());
  EXPECT_FALSE((*join(server->port(), known).value()->peek("key", Deadline::after(60s))).has_value());
}

TEST(StoreTrust, AReplayedTranscriptIsRefused) {
  const auto server = serve_trusting(known);
  Introduction genuine(known);
  const std::string number(genuine.first().text);
  std::string proof;
  {
    Stranger first(server->port());
    first.say(Authentication::number, number);
    ASSERT_EQ(first.hear(), Verdict::challenge);
    const auto step = genuine.take({.word = static_cast<std::uint16_t>(Verdict::challenge), .text = first.text}, -1);
    ASSERT_TRUE(step.refused.ok());
    proof = step.next->text;
    first.say(Authentication::proof, proof);
    ASSERT_EQ(first.hear(), Verdict::welcome);
  }
  Stranger replayer(server->port());
  replayer.say(Authentication::number, number);
  EXPECT_EQ(replayer.hear(), Verdict::challenge);
  replayer.say(Authentication::proof, proof);
  EXPECT_EQ(replayer.hear(), Verdict::untrusted);
}

TEST(StoreTrust, AReflectedChallengeIsRefused) {
  const auto server = serve_trusting(known);
  Stranger stranger(server->port());
  stranger.say(Authentication::number, std::string(Challenge::nonce_bytes, 'n'));
  ASSERT_EQ(stranger.hear(), Verdict::challenge);
  const std::string number = stranger.text.substr(0, Challenge::nonce_bytes);
  const std::string proof = stranger.text.substr(Challenge::nonce_bytes);
  Stranger oracle(server->port());  // asks the server to prove what the server has asked for
  oracle.say(Authentication::number, number);
  ASSERT_EQ(oracle.hear(), Verdict::challenge);
  stranger.say(Authentication::proof, oracle.text.substr(Challenge::nonce_bytes));
  EXPECT_EQ(stranger.hear(), Verdict::untrusted);
  oracle.say(Authentication::proof, proof);
  EXPECT_EQ(oracle.hear(), Verdict::untrusted);
}

TEST(StoreTrust, AnOlderGreetingIsRefused) {
  const auto server = serve_trusting(known);
  Stranger stranger(server->port());
  stranger.say(Authentication::none, {}, wire::version - 1);
  EXPECT_EQ(stranger.hear(), Verdict::other_version);
  EXPECT_THAT(stranger.text, HasSubstr("install the same Hocket"));
  EXPECT_TRUE(stranger.ended());
}

// Something listens where the store should be, and welcomes everyone without a proof.
TEST(StoreTrust, AStoreThatProvesNothingIsNotTrusted) {
  RawListener listener;
  listener.listen();
  std::thread impostor([&] {
    RawClient client = listener.accept();
    client.send(wire::encode_greeting(wire::server_magic, {}));
    client.receive_all();
  });
  const Status status = join(listener.port(), known).status();
  impostor.join();
  EXPECT_EQ(status.code(), Code::mismatch);
  EXPECT_THAT(status.message(), HasSubstr("it has no secret, but this process has one"));
}

TEST(StoreTrust, AStoreWithoutASecretTellsAClientThatHasOne) {
  const auto server = serve_trusting({});
  const Status status = join(server->port(), known).status();
  EXPECT_EQ(status.code(), Code::mismatch);
  EXPECT_THAT(status.message(), HasSubstr("it has no secret, but this process has one"));
}

TEST(StoreTrust, TextOfAStoreCannotSteerATerminal) {
  Introduction introduction(insecure);
  const auto step =
      introduction.take({.word = static_cast<std::uint16_t>(Verdict::untrusted), .text = "\x1b[2Jno"}, -1);
  EXPECT_THAT(step.refused.message(), HasSubstr("\\x1b[2Jno"));
}

// What everybody can read in it is no place for a secret.
TEST(StoreTrust, AStoreThatLetsEveryoneInIsForThoseWhoWantThat) {
  const auto server = serve_trusting(insecure);
  EXPECT_TRUE(join(server->port(), insecure).ok());
  const Status status = join(server->port(), {}).status();
  EXPECT_EQ(status.code(), Code::invalid_environment);
  EXPECT_THAT(status.message(), HasSubstr("HOCKET_INSECURE"));
}

// Runs `body` as another user, who tells with true or false.
bool as_nobody(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::setgid(65534) == 0 && ::setuid(65534) == 0 && body() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(StoreTrust, AnotherUserIsRefusedWhereThereIsNoSecret) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const auto server = serve_trusting({});
  EXPECT_TRUE(as_nobody([&] {
    Stranger stranger(server->port());
    stranger.say(Authentication::none);
    return stranger.hear() == Verdict::untrusted && stranger.ended();
  }));
  EXPECT_TRUE(as_nobody([&] {  // nobody's socket is not root's
    RawClient client(server->port());
    client.send(wire::encode_greeting(wire::client_magic, {}) +
                wire::encode_request({.operation = wire::Operation::set, .key = "key", .value = "forged"}));
    return true;
  }));
  const auto store = join(server->port(), {});
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_FALSE((*(*store)->peek("key", Deadline::after(60s))).has_value());
  const auto open = serve_trusting(insecure);
  EXPECT_TRUE(as_nobody([&] {
    Stranger stranger(open->port());
    stranger.say(Authentication::none);
    return stranger.hear() == Verdict::welcome;
  }));
}

TEST(StoreTrust, AStoreOfAnotherUserIsNotTrusted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    RawListener listener;
    if (::setuid(65534) != 0) ::_exit(1);
    listener.listen();
    const std::uint16_t port = listener.port();
    (void)!::write(ends[1], &port, sizeof port);
    RawClient client = listener.accept();
    client.send(wire::encode_greeting(wire::server_magic, {}));
    client.receive_all();
    ::_exit(0);
  }
  std::uint16_t port = 0;
  ASSERT_EQ(::read(ends[0], &port, sizeof port), static_cast<ssize_t>(sizeof port));
  const Status status = join(port, {}).status();
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]), ::close(ends[1]);
  EXPECT_EQ(status.code(), Code::mismatch) << status.message();
  EXPECT_THAT(status.message(), HasSubstr("another user"));
}

}  // namespace
}  // namespace hocket::store
