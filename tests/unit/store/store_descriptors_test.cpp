// What a store's server does where its process has no descriptor left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>

#include "src/store/store_server.hpp"
#include "src/store/tcp_store.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/generous.hpp"
#include "tests/unit/store/raw_client.hpp"

namespace hocket {
namespace {

using store::RawClient;
namespace wire = store::wire;
using ::testing::HasSubstr;

std::unique_ptr<StoreServer> serve_with(const StoreServerOptions& options = {}) {
  auto server = StoreServer::start("127.0.0.1", 0, options);
  EXPECT_TRUE(server.ok()) << server.status().message();
  return server.ok() ? std::move(*server) : nullptr;
}

// While it lives, this process may have one descriptor more.
class OneDescriptorLeft {
 public:
  OneDescriptorLeft() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const UniqueFd last(::dup(0));  // the lowest that is free
    rlimit tight = before_;
    tight.rlim_cur = static_cast<rlim_t>(last.get() + 1);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  }
  ~OneDescriptorLeft() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  OneDescriptorLeft(const OneDescriptorLeft&) = delete;
  OneDescriptorLeft& operator=(const OneDescriptorLeft&) = delete;

 private:
  rlimit before_{};
};

TEST(StoreWithoutDescriptors, SaysWhichLimitToRaise) {
  ::testing::internal::CaptureStderr();
  const auto server = serve_with({.members = 8});
  EXPECT_TRUE(server->starved().ok());
  std::string answer;
  {
    const OneDescriptorLeft limit;
    RawClient client(server->port());  // takes it, so that the server finds none
    client.send(store::wire::encode_greeting(store::wire::client_magic, {}));
    answer = client.receive_all().value_or("");
  }
  const auto greeting = store::wire::parse_greeting(answer, store::wire::server_magic);
  ASSERT_TRUE(greeting.ok() && *greeting) << answer.size();
  EXPECT_EQ((*greeting)->word, static_cast<std::uint16_t>(store::wire::Verdict::starved));
  EXPECT_THAT((*greeting)->text, HasSubstr("ulimit -n"));
  EXPECT_EQ(server->starved().code(), Code::out_of_resources);
  EXPECT_THAT(server->starved().message(), HasSubstr(std::string((*greeting)->text)));
  EXPECT_TRUE(TcpStore::connect("127.0.0.1", server->port(), generous()).ok());  // now that there are some
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("ulimit -n"));
}

TEST(StoreWithoutDescriptors, LetsStrangersMakeRoom) {
  ::testing::internal::CaptureStderr();
  const auto server = serve_with({.trust = {.insecure = true}});
  RawClient stranger(server->port());
  RawClient store(server->port());
  store.greet();  // the stranger is there, too, then
  const OneDescriptorLeft limit;
  RawClient client(server->port());
  client.send(store::wire::encode_greeting(store::wire::client_magic, {}));
  EXPECT_EQ(client.receive(8), store::wire::server_magic);
  EXPECT_EQ(stranger.receive_all(), "");
  EXPECT_TRUE(server->starved().ok());
  store.send(wire::encode_request({.id = 1, .operation = wire::Operation::set, .key = "still", .value = "here"}));
  const std::string welcome = "open to all", done = store::wire::encode_response_head(1, Code::ok, 0);
  EXPECT_EQ(store.receive(welcome.size() + done.size()), welcome + done);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

// Whether a client may be trusted, the kernel can only be asked with a descriptor.
TEST(StoreWithoutDescriptors, TakesNobodyForAStranger) {
  ::testing::internal::CaptureStderr();
  const auto server = serve_with();
  RawClient client(server->port());
  RawClient other(server->port());
  other.greet();  // the first one is there, too, then, and has said nothing yet
  std::string answer;
  {
    const OneDescriptorLeft limit;
    const UniqueFd last(::dup(0));
    client.send(store::wire::encode_greeting(store::wire::client_magic, {}));
    answer = client.receive_all().value_or("");
  }
  const auto greeting = store::wire::parse_greeting(answer, store::wire::server_magic);
  ASSERT_TRUE(greeting.ok() && *greeting) << answer.size();
  EXPECT_EQ((*greeting)->word, static_cast<std::uint16_t>(store::wire::Verdict::starved));
  EXPECT_EQ(server->starved().code(), Code::out_of_resources);
  (void)::testing::internal::GetCapturedStderr();
}

// Where everybody shows a certificate of one authority.
class StoreOverTls : public ::testing::Test {
 protected:
  StoreOverTls() {
    std::filesystem::create_directories(folder_);
    const testing_support::Authority authority(folder_, "authority");
    const testing_support::CertificateFiles files = authority.sign("everybody");
    const auto identity = TlsIdentity::load(files.certificate, files.key, files.authority);
    EXPECT_TRUE(identity.ok()) << identity.status().message();
    if (identity.ok()) trust_.tls = *identity;
  }
  ~StoreOverTls() override { std::filesystem::remove_all(folder_); }

  // What the store answers to a greeting, until it closes.
  std::string answer_to(RawClient& client) const {
    TlsStream tls(*trust_.tls, TlsStream::Side::dialled);
    const auto wait = [&] {
      pollfd entry{client.fd(), POLLIN, 0};
      return ::poll(&entry, 1, 60'000) > 0;
    };
    TlsStream::Handshake now = TlsStream::Handshake::waiting;
    while (now == TlsStream::Handshake::waiting) {
      now = tls.shake_hands(client.fd());
      if (now == TlsStream::Handshake::waiting && !wait()) return "no handshake";
    }
    std::string greeting = store::wire::encode_greeting(store::wire::client_magic, {}), answer;
    const iovec words{greeting.data(), greeting.size()};
    EXPECT_GT(tls.send(client.fd(), {&words, 1}), 0);
    std::array<char, 4096> block;
    const iovec room{block.data(), block.size()};
    for (ssize_t got = -1; got != 0;) {
      got = tls.receive(client.fd(), {&room, 1});
      if (got > 0) answer.append(block.data(), static_cast<std::size_t>(got));
      if (got < 0 && (errno != EAGAIN || !wait())) break;
    }
    return answer;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ("store_over_tls_" + std::to_string(::getpid()));
  Trust trust_;
};

TEST_F(StoreOverTls, SaysWhichLimitToRaise) {
  ::testing::internal::CaptureStderr();
  const auto server = serve_with({.trust = trust_, .members = 8});
  const auto before = TcpStore::connect("127.0.0.1", server->port(), generous(), {}, trust_);
  ASSERT_TRUE(before.ok()) << before.status().message();
  std::string answer;
  {
    const OneDescriptorLeft limit;
    RawClient client(server->port());
    answer = answer_to(client);
  }
  const auto greeting = store::wire::parse_greeting(answer, store::wire::server_magic);
  ASSERT_TRUE(greeting.ok() && *greeting) << answer;
  EXPECT_EQ((*greeting)->word, static_cast<std::uint16_t>(store::wire::Verdict::starved));
  EXPECT_THAT((*greeting)->text, HasSubstr("ulimit -n"));
  EXPECT_EQ(server->starved().code(), Code::out_of_resources);
  EXPECT_TRUE(TcpStore::connect("127.0.0.1", server->port(), generous(), {}, trust_).ok());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("ulimit -n"));
}

TEST_F(StoreOverTls, SaysThatItIsFull) {
  ::testing::internal::CaptureStderr();
  const auto server = serve_with({.trust = trust_, .limits = {.clients = 1}});
  const auto only = TcpStore::connect("127.0.0.1", server->port(), generous(), {}, trust_);
  ASSERT_TRUE(only.ok()) << only.status().message();
  ASSERT_TRUE((*only)->claim("place", std::nullopt, "taken", {}, generous()).ok());  // so it need not make room
  RawClient client(server->port());
  EXPECT_THAT(answer_to(client), HasSubstr("it serves 1 clients"));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("--max-clients"));
}

class StoreThatTurnsAllAway : public StoreOverTls, public ::testing::WithParamInterface<bool> {};

TEST_P(StoreThatTurnsAllAway, SaysWhy) {
  const Trust trust = GetParam() ? trust_ : Trust();
  ::testing::internal::CaptureStderr();
  const auto server = serve_with({.trust = trust});
  const auto store = TcpStore::connect("127.0.0.1", server->port(), generous(), {}, trust);
  ASSERT_TRUE(store.ok()) << store.status().message();
  server->turn_all_away("it lacks descriptors");
  EXPECT_EQ((*store)->set("key", "value", generous()).code(), Code::store_unreachable);
  const auto late = TcpStore::connect("127.0.0.1", server->port(), generous(), {}, trust);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(late.status().code(), Code::out_of_resources);
  EXPECT_THAT(late.status().message(), HasSubstr("it lacks descriptors"));
  (void)::testing::internal::GetCapturedStderr();
}

INSTANTIATE_TEST_SUITE_P(Plain, StoreThatTurnsAllAway, ::testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Tls, StoreThatTurnsAllAway, ::testing::Values(true));

}  // namespace
}  // namespace hocket
