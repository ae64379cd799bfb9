// A genuine handshake between two ranks, recorded on the wire between them and played again: it opens no door, and
// harms nobody who is inside.
#include <poll.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/conformance/tcp_maker.hpp"
#include "tests/conformance/tcp_stranger.hpp"
#include "tests/conformance/transport_ranks.hpp"

namespace hocket::testing_support {
namespace {

struct SecretMaker : TcpMaker {
  using TcpMaker::TcpMaker;
  Result<std::unique_ptr<Transport>> make(TransportConfig config) {
    config.secret = "what the ranks of this job know";
    return TcpMaker::make(config);
  }
};

UniqueFd listen_locally() {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  EXPECT_EQ(::listen(listener.get(), 4), 0);
  return listener;
}

// A rank's address, but for the port, which is the listener's.
Address moved_to(const UniqueFd& listener, const Address& address) {
  sockaddr_in at{};
  socklen_t bytes = sizeof at;
  EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &bytes), 0);
  auto moved = tcp::parse_reachability(address).value();
  moved.port = ntohs(at.sin_port);
  return tcp::encode(moved);
}

// Takes the calls for a rank, passes on what both sides say, and keeps the beginning of it.
class Wiretap {
 public:
  explicit Wiretap(const Address& rank)
      : rank_(rank), listener_(listen_locally()), address_(moved_to(listener_, rank)), thread_([this] { listen(); }) {}
  ~Wiretap() {
    over_ = true;
    thread_.join();
  }
  Wiretap(const Wiretap&) = delete;
  Wiretap& operator=(const Wiretap&) = delete;

  const Address& address() const { return address_; }
  // What came from the side that dialled, or went to it.
  std::string heard(bool from_dialler) {
    const std::lock_guard lock(mutex_);
    return from_dialler ? said_[0] : said_[1];
  }

 private:
  void listen() {
    UniqueFd ends[2];
    while (!over_) {
      pollfd interests[] = {{ends[0] ? ends[0].get() : listener_.get(), POLLIN, 0}, {ends[1].get(), POLLIN, 0}};
      if (::poll(interests, ends[1] ? 2 : 1, 10) <= 0) continue;
      if (!ends[0]) {
        ends[0] = UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        ends[1] = Stranger(rank_).take();
        continue;
      }
      for (int from = 0; from < 2; ++from) {
        if (interests[from].revents != 0 && !pass_on(ends, from)) return;
      }
    }
  }
  bool pass_on(const UniqueFd (&ends)[2], int from) {
    char bytes[4096];
    const ssize_t got = ::recv(ends[from].get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got <= 0) return got < 0 && errno == EAGAIN;
    {
      const std::lock_guard lock(mutex_);
      said_[from].append(bytes, static_cast<std::size_t>(got));
    }
    return ::send(ends[1 - from].get(), bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
  }

  const Address rank_;
  const UniqueFd listener_;
  const Address address_;
  std::mutex mutex_;
  std::string said_[2];  // guarded by mutex_
  std::atomic<bool> over_{false};
  std::thread thread_;
};

// Ranks 0 and 1 are connected through the wiretap, and have passed a message each way.
class TcpReplay : public ::testing::Test {
 protected:
  TcpReplay() {
    down_ = *ranks_[1].connect(0, tap_.address(), soon());
    up_ = &ranks_.connect(0, 1);
    EXPECT_TRUE(ranks_.until([&] { return ranks_[0].connected(1) && ranks_[1].connected(0); }));
    use();
  }
  void use() {
    exchange(ranks_, *down_, *up_, ++messages_, 1000);
    exchange(ranks_, *up_, *down_, messages_, 1000);
  }
  // That it is shown out, and those inside go on.
  void expect_refusal(Ranks<SecretMaker>& ranks, Rank rank, const std::string& words) {
    Stranger replayer(ranks[rank].address());
    replayer.say(words);
    EXPECT_TRUE(replayer.shown_out(ranks));
    use();
    EXPECT_TRUE(ranks_.seen(0).failures.empty() && ranks_.seen(1).failures.empty());
  }

  Ranks<SecretMaker> ranks_{3};
  Wiretap tap_{ranks_[0].address()};
  Link *down_ = nullptr, *up_ = nullptr;
  std::uint32_t messages_ = 0;
};

TEST_F(TcpReplay, OpensNoDoorAgainToOneWhoIsInside) {
  expect_refusal(ranks_, 0, tap_.heard(true));
}

TEST_F(TcpReplay, OpensNoDoorOfAnotherRank) {
  expect_refusal(ranks_, 1, tap_.heard(true));
}

// Of the same group and ranks, with the same secret, and nobody inside yet.
TEST_F(TcpReplay, OpensNoDoorOfTheNextRun) {
  Ranks<SecretMaker> next(2);
  expect_refusal(next, 0, tap_.heard(true));
  expect_refusal(next, 0, tap_.heard(false));
  EXPECT_FALSE(next[0].connected(1));
  expect_unharmed(next);
}

// Who listens where rank 0 should be, and answers as rank 0 did before.
TEST_F(TcpReplay, OfTheAnswersDeceivesNobodyWhoDials) {
  Ranks<SecretMaker> next(2);
  const UniqueFd listener = listen_locally();
  ASSERT_TRUE(next[1].connect(0, moved_to(listener, next[0].address()), soon()).ok());
  std::optional<UniqueFd> caller;
  ASSERT_TRUE(next.until([&] {
    if (!caller && something_ready({{listener.get(), POLLIN, 0}})) {
      caller = UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      const std::string words = tap_.heard(false);
      EXPECT_EQ(::send(caller->get(), words.data(), words.size(), MSG_NOSIGNAL), static_cast<ssize_t>(words.size()));
    }
    return !next.seen(1).failures.empty();
  }));
  EXPECT_THAT(next.seen(1).failures.front().second.message(),
              ::testing::HasSubstr("does not know this process's secret"));
  EXPECT_FALSE(next[1].connected(0));
  use();
}

}  // namespace
}  // namespace hocket::testing_support
