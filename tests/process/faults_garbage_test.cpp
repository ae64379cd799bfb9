// Strangers that connect: bytes that are not Hocket's, sent to every port on which a rank listens while the ranks work.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// Connects, sends, and gives the socket to the caller, who closes it when he likes. Sending may stop early where the
// other side has hung up, which is its good right.
UniqueFd send_to_port(int port, const std::string& bytes) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << port;
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const auto n = ::send(socket.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n <= 0) break;
    sent += static_cast<std::size_t>(n);
  }
  return socket;
}

enum class Noise : std::uint8_t { taken, cut, left };  // left: nobody reads it, and the kernel takes no more

// Sends all of it, unless it is cut; what becomes of it.
Noise send_noise_to_port(int port, const std::string& bytes) {
  const UniqueFd socket = send_to_port(port, "");
  const timeval patience{2, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const auto n = ::send(socket.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN ? Noise::left : Noise::cut;
    sent += static_cast<std::size_t>(n);
  }
  return Noise::taken;
}

std::string noise(std::mt19937& random, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (char& byte : text) byte = static_cast<char>(random());
  return text;
}

// Allreduces with checked results until the parent has said so and every rank has heard it.
void allreduce_until_told(Child& child, hocket_comm* comm) {
  for (std::uint64_t round = 0;; ++round) {
    Call({.count = 20'000, .salt = round}, child.index, child.size).run(comm);
    if (testing::Test::HasFailure()) return;
    std::int32_t stop = child.index == 0 && child.parent.has_news() ? 1 : 0;
    ASSERT_EQ(hocket_allreduce(&stop, &stop, 1, HOCKET_INT32, HOCKET_MAX, comm, nullptr, nullptr), HOCKET_OK)
        << hocket_last_error();
    if (round == 3) child.say("looping");
    if (stop == 1 && round > 3) return;
  }
}

TEST(Garbage, SentToEveryPortDoesNoHarm) {
  ProcessGroup group(3, [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);  // whose door stays open
    const Comm comm;
    ASSERT_TRUE(comm);
    allreduce_until_told(child, comm.get());
  });
  group.hear_from_all("looping");
  std::mt19937 random(7);
  std::vector<UniqueFd> left_open;
  std::vector<Noise> became;  // of 10 MB at each port
  for (int index = 0; index < group.size(); ++index) {
    for (const int port : listening_ports(group.process(index))) {
      for (const std::size_t bytes : {0, 1, 7, 32, 1000, 100'000}) {
        send_to_port(port, noise(random, bytes));
        left_open.push_back(send_to_port(port, noise(random, bytes)));
      }
      became.push_back(send_noise_to_port(port, noise(random, std::size_t{10} << 20)));
      send_to_port(port, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
      send_to_port(port, std::string(5000, '\0'));
      send_to_port(port, std::string(5000, '\xFF'));
    }
  }
  // All ranks and the store; and all standbys, to which nobody attends yet.
  EXPECT_EQ(became.size(), 7u);
  EXPECT_EQ(std::ranges::count(became, Noise::cut), 4) << "nobody takes in 10 MB of noise";
  EXPECT_EQ(std::ranges::count(became, Noise::left), 3);
  group.tell(0, "stop");
  group.expect_success();
}

// Half-open connections to every port of ranks that do nothing meanwhile: shown out by whoever watches, and the
// communicator works afterwards.
TEST(Garbage, ThatNeverComesIsNotAwaited) {
  ProcessGroup group(2, [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);  // whose door stays open
    const Comm comm;
    ASSERT_TRUE(comm);
    child.say("idle");
    EXPECT_EQ(child.hear(), "go on");
    Call({.count = 20'000}, child.index, child.size).run(comm.get());
  });
  group.hear_from_all("idle");
  std::vector<UniqueFd> silent;
  for (int index = 0; index < group.size(); ++index) {
    for (const int port : listening_ports(group.process(index))) {
      silent.push_back(send_to_port(port, ""));
      silent.push_back(send_to_port(port, "HC"));  // as a hello begins
    }
  }
  // At two of the doors, those of standbys, nobody attends: there the kernel keeps the two that came.
  ASSERT_GT(silent.size(), 4U);
  const std::size_t to_be_dropped = silent.size() - 4;
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::size_t dropped = 0;
  while (dropped < to_be_dropped && std::chrono::steady_clock::now() < patience) {
    dropped = 0;
    for (const UniqueFd& one : silent) {
      pollfd ended{one.get(), POLLIN, 0};
      dropped += ::poll(&ended, 1, 10) > 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(dropped, to_be_dropped) << "a stranger who says nothing is kept";
  for (int index = 0; index < group.size(); ++index) group.tell(index, "go on");
  group.expect_success();
}

// Strangers who come while the group is still meeting, and stay.
TEST(Garbage, SentWhileRanksJoinDoesNoHarm) {
  ProcessGroup group(3, [](Child& child) {
    if (child.index == 2) {
      EXPECT_EQ(child.hear(), "come");
    }
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);  // whose door stays open
    const Comm comm;
    ASSERT_TRUE(comm);
    Call({.count = 20'000}, child.index, child.size).run(comm.get());
  });
  std::mt19937 random(8);
  std::vector<UniqueFd> left_open;
  for (int attempt = 0; attempt < 200 && left_open.size() < 30; ++attempt) {
    for (int index = 0; index < 2; ++index) {
      for (const int port : listening_ports(group.process(index))) {
        left_open.push_back(send_to_port(port, noise(random, 1 + random() % 5000)));
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GT(left_open.size(), 0U);
  group.tell(2, "come");
  group.expect_success();
}

}  // namespace
}  // namespace hocket::process_testing
