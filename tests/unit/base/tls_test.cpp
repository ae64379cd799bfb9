#include "src/base/tls.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "src/base/fd.hpp"
#include "tests/process/program.hpp"
#include "tests/support/certificates.hpp"

namespace hocket {
namespace {

using Handshake = TlsStream::Handshake;
using TlsSide = TlsStream::Side;
using testing_support::Authority;
using testing_support::CertificateFiles;

TlsIdentity load(const CertificateFiles& files) {
  auto identity = TlsIdentity::load(files.certificate, files.key, files.authority);
  EXPECT_TRUE(identity.ok()) << identity.status().message();
  return *identity;
}

// Both ends of a connection between two ranks, in one thread.
struct Ends {
  Ends(const TlsIdentity& dials, const TlsIdentity& accepts)
      : dialled(dials, TlsSide::dialled), accepted(accepts, TlsSide::accepted) {
    std::array<int, 2> pair{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()), 0);
    one = UniqueFd(pair[0]);
    other = UniqueFd(pair[1]);
  }

  // How it ended on the side that dialled and on the other.
  std::pair<Handshake, Handshake> shake_hands() {
    std::pair ended{Handshake::waiting, Handshake::waiting};
    for (int turn = 0; turn < 10; ++turn) {
      if (ended.first == Handshake::waiting) ended.first = dialled.shake_hands(one.get());
      if (ended.second == Handshake::waiting) ended.second = accepted.shake_hands(other.get());
    }
    return ended;
  }

  UniqueFd one, other;
  TlsStream dialled, accepted;
};

ssize_t send(TlsStream& stream, const UniqueFd& fd, std::string_view text) {
  const iovec piece{const_cast<char*>(text.data()), text.size()};
  return stream.send(fd.get(), {&piece, 1});
}

// What receive() returns, with the text in `into` cut to it.
ssize_t receive(TlsStream& stream, const UniqueFd& fd, std::string& into) {
  const iovec piece{into.data(), into.size()};
  const ssize_t taken = stream.receive(fd.get(), {&piece, 1});
  if (taken >= 0) into.resize(static_cast<std::size_t>(taken));
  return taken;
}

class Tls : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  Authority authority_{folder_.path(), "authority"};
  TlsIdentity zero_ = load(authority_.sign("zero")), one_ = load(authority_.sign("one"));
};

TEST_F(Tls, CarriesBytesBothWays) {
  Ends ends(one_, zero_);
  ASSERT_EQ(ends.shake_hands(), std::pair(Handshake::done, Handshake::done));
  std::string got(100, ' ');
  ASSERT_EQ(send(ends.dialled, ends.one, "to the one that was dialled"), 27);
  ASSERT_EQ(receive(ends.accepted, ends.other, got), 27);
  EXPECT_EQ(got, "to the one that was dialled");
  got.resize(100);
  ASSERT_EQ(send(ends.accepted, ends.other, "and back"), 8);
  ASSERT_EQ(receive(ends.dialled, ends.one, got), 8);
  EXPECT_EQ(got, "and back");
}

TEST_F(Tls, HidesWhatItCarries) {
  Ends ends(one_, zero_);
  ASSERT_EQ(ends.shake_hands(), std::pair(Handshake::done, Handshake::done));
  const std::string text(64, 'h');
  ASSERT_EQ(send(ends.dialled, ends.one, text), 64);
  std::array<char, 1024> seen{};
  const ssize_t bytes = ::recv(ends.other.get(), seen.data(), seen.size(), 0);
  ASSERT_GT(bytes, 64);
  EXPECT_EQ(std::string_view(seen.data(), static_cast<std::size_t>(bytes)).find("hhhh"), std::string_view::npos);
}

// More than sockets and records hold, from and into pieces that do not fit each other.
TEST_F(Tls, CarriesMuchThroughLittleRoom) {
  Ends ends(one_, zero_);
  ASSERT_EQ(ends.shake_hands(), std::pair(Handshake::done, Handshake::done));
  std::string text(3'000'001, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 + i / 251);
  std::string got(text.size(), ' ');
  std::size_t sent = 0, taken = 0;
  bool held = false;
  while (taken < text.size()) {
    const std::size_t third = (text.size() - sent) / 3;
    const std::array pieces{iovec{text.data() + sent, third},
                            iovec{text.data() + sent + third, text.size() - sent - third}};
    if (sent < text.size()) {
      const ssize_t more = ends.dialled.send(ends.one.get(), pieces);
      ASSERT_TRUE(more > 0 || errno == EAGAIN);
      if (more > 0) sent += static_cast<std::size_t>(more);
    } else {
      ASSERT_EQ(ends.dialled.flush(ends.one.get()), 0);
    }
    held = held || ends.dialled.flushing();
    const std::size_t left = std::min<std::size_t>(text.size() - taken, 70'000);
    const std::array rooms{iovec{got.data() + taken, left / 7}, iovec{got.data() + taken + left / 7, left - left / 7}};
    const ssize_t came = ends.accepted.receive(ends.other.get(), rooms);
    ASSERT_TRUE(came > 0 || errno == EAGAIN);
    if (came > 0) taken += static_cast<std::size_t>(came);
  }
  EXPECT_TRUE(got == text);
  EXPECT_TRUE(held) << "the sockets took all at once, so that nothing was tried";
}

TEST_F(Tls, TellsOfBytesThatNoPollTellsOf) {
  Ends ends(one_, zero_);
  ASSERT_EQ(ends.shake_hands(), std::pair(Handshake::done, Handshake::done));
  ASSERT_EQ(send(ends.dialled, ends.one, "first"), 5);
  ASSERT_EQ(send(ends.dialled, ends.one, "second"), 6);
  std::string got(5, ' ');
  ASSERT_EQ(receive(ends.accepted, ends.other, got), 5);
  pollfd entry{ends.other.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&entry, 1, 0), 0) << "the kernel has given all";
  EXPECT_TRUE(ends.accepted.pending());
  got.assign(100, ' ');
  ASSERT_EQ(receive(ends.accepted, ends.other, got), 6);
  EXPECT_FALSE(ends.accepted.pending());
  EXPECT_EQ(receive(ends.accepted, ends.other, got), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Tls, TellsOfTheEnd) {
  Ends ends(one_, zero_);
  ASSERT_EQ(ends.shake_hands(), std::pair(Handshake::done, Handshake::done));
  ASSERT_EQ(send(ends.dialled, ends.one, "last"), 4);
  ends.one.reset();
  std::string got(100, ' ');
  ASSERT_EQ(receive(ends.accepted, ends.other, got), 4);
  got.assign(100, ' ');
  EXPECT_EQ(receive(ends.accepted, ends.other, got), 0);
}

TEST_F(Tls, RefusesWhomAnotherAuthoritySigned) {
  const Authority foreign(folder_.path(), "foreign");
  CertificateFiles files = foreign.sign("stranger");
  files.authority = authority_.file();
  const TlsIdentity stranger = load(files);
  for (const bool stranger_dials : {true, false}) {
    Ends ends(stranger_dials ? stranger : one_, stranger_dials ? zero_ : stranger);
    const auto ended = ends.shake_hands();
    const bool refused = (stranger_dials ? ended.second : ended.first) == Handshake::failed;
    EXPECT_TRUE(refused);
    const std::string& problem = stranger_dials ? ends.accepted.problem() : ends.dialled.problem();
    EXPECT_NE(problem.find("its certificate was not accepted"), std::string::npos) << problem;
  }
}

TEST_F(Tls, RefusesACertificateWhoseTimeIsOver) {
  const TlsIdentity late = load(authority_.sign("late", -3600));
  Ends ends(late, zero_);
  EXPECT_EQ(ends.shake_hands().second, Handshake::failed);
  EXPECT_NE(ends.accepted.problem().find("expired"), std::string::npos) << ends.accepted.problem();
}

// The other side hears that it was refused, when it says the first word.
TEST_F(Tls, TellsTheOneThatIsRefused) {
  const Authority foreign(folder_.path(), "foreign");
  CertificateFiles files = foreign.sign("stranger");
  files.authority = authority_.file();
  Ends ends(load(files), zero_);
  EXPECT_EQ(ends.shake_hands().second, Handshake::failed);
  std::string got(10, ' ');
  EXPECT_EQ(receive(ends.dialled, ends.one, got), -1);
  EXPECT_EQ(errno, EPROTO);
  EXPECT_NE(ends.dialled.problem().find("unknown ca"), std::string::npos) << ends.dialled.problem();
}

TEST_F(Tls, RefusesAClientThatSpeaksPlainly) {
  Ends ends(one_, zero_);
  ASSERT_EQ(::send(ends.one.get(), "hocket? hello, here is rank 1", 29, 0), 29);
  EXPECT_EQ(ends.accepted.shake_hands(ends.other.get()), Handshake::failed);
  EXPECT_NE(ends.accepted.problem(), "");
}

TEST_F(Tls, RefusesBytesThatWereChangedOnTheWay) {
  Ends ends(one_, zero_);
  ASSERT_EQ(ends.shake_hands(), std::pair(Handshake::done, Handshake::done));
  Ends spare(one_, zero_);  // sockets between which the bytes are changed
  ASSERT_EQ(send(ends.dialled, ends.one, "true"), 4);
  std::array<char, 256> record{};
  const ssize_t bytes = ::recv(ends.other.get(), record.data(), record.size(), 0);
  ASSERT_GT(bytes, 10);
  record[static_cast<std::size_t>(bytes) - 1] ^= 1;
  ASSERT_EQ(::send(spare.one.get(), record.data(), static_cast<std::size_t>(bytes), 0), bytes);
  std::string got(10, ' ');
  EXPECT_EQ(receive(ends.accepted, spare.other, got), -1);
  EXPECT_EQ(errno, EPROTO);
}

TEST_F(Tls, LacksNoFile) {
  const CertificateFiles files = authority_.sign("rank");
  const auto message = [](const CertificateFiles& given) {
    const auto identity = TlsIdentity::load(given.certificate, given.key, given.authority);
    EXPECT_EQ(identity.status().code(), Code::invalid_environment);
    return identity.status().message();
  };
  EXPECT_NE(message({"/nowhere.pem", files.key, files.authority}).find("HOCKET_TLS_CERT"), std::string::npos);
  EXPECT_NE(message({files.certificate, files.certificate, files.authority}).find("HOCKET_TLS_KEY"), std::string::npos);
  EXPECT_NE(message({files.certificate, files.key, files.key}).find("HOCKET_TLS_CA"), std::string::npos);
  const CertificateFiles other = authority_.sign("another");
  EXPECT_NE(message({files.certificate, other.key, files.authority}).find("HOCKET_TLS_KEY"), std::string::npos);
}

TEST_F(Tls, TakesItsFilesFromTheEnvironment) {
  const CertificateFiles files = authority_.sign("rank");
  EXPECT_FALSE(TlsIdentity::from_environment()->has_value());
  setenv("HOCKET_TLS_CERT", files.certificate.c_str(), 1);
  const auto half = TlsIdentity::from_environment();
  EXPECT_EQ(half.status().code(), Code::invalid_environment);
  EXPECT_NE(half.status().message().find("HOCKET_TLS_KEY"), std::string::npos);
  setenv("HOCKET_TLS_KEY", files.key.c_str(), 1);
  setenv("HOCKET_TLS_CA", files.authority.c_str(), 1);
  EXPECT_TRUE(TlsIdentity::from_environment()->has_value());
  for (const char* name : {"HOCKET_TLS_CERT", "HOCKET_TLS_KEY", "HOCKET_TLS_CA"}) unsetenv(name);
}

}  // namespace
}  // namespace hocket
