// Strangers who say what a newcomer would, but one byte at a time: at every door of ranks that work, make communicators
// meanwhile, and in the end shrink. They are shown out, and take no more than their share.
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/store/wire.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/connections.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/over_transports.hpp"
#include "transports/tcp/wire.hpp"

namespace hocket::process_testing {
namespace {

constexpr int asked_size = 4;
constexpr int for_each_door = 100;  // more than a door keeps
constexpr int kept_at_a_door = 64 + asked_size;

std::string words_of_a_rank() {
  const auto frame =
      tcp::encode(tcp::Hello{.kind = tcp::HelloKind::hello, .group = 12345, .from = asked_size - 1, .to = 0});
  return {reinterpret_cast<const char*>(frame.data()), frame.size()};
}

// Somebody who has connected, and has more words than he says.
class SlowStranger {
 public:
  explicit SlowStranger(int port, std::string words)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), words_(std::move(words)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0) << port;
  }
  // At a Unix socket of this name (abstract), whose packets have one byte each.
  explicit SlowStranger(const std::string& name)
      : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)), words_(1000, 'h') {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path + 1, name.data(), name.size());
    const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), bytes), 0) << name;
  }

  // All but the last byte, by and by.
  void say_a_byte() {
    if (said_ + 1 < words_.size()) (void)::send(socket_.get(), &words_[said_++], 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  // Whether the other side has ended the connection.
  bool is_out() {
    char heard[256];
    while (!out_) {
      const ssize_t got = ::recv(socket_.get(), heard, sizeof heard, MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) return false;
      out_ = got <= 0;
    }
    return true;
  }

 private:
  UniqueFd socket_;
  std::string words_;
  std::size_t said_ = 0;
  bool out_ = false;
};

int descriptors_of(pid_t process) {
  const std::filesystem::directory_iterator all("/proc/" + std::to_string(process) + "/fd");
  return static_cast<int>(std::distance(begin(all), end(all)));
}

void allow_descriptors(rlim_t most) {
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  limit.rlim_cur = std::min(most, limit.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
}

// Ranks meet anew again and again, through doors of their own.
void work_until_told(Child& child, const Comm& comm) {
  for (std::int32_t stop = 0; stop == 0 && !testing::Test::HasFailure();) {
    use(comm);
    const Comm made(duplicate(comm));
    use(made);
    stop = child.index == 0 && child.parent.has_news() ? 1 : 0;
    ASSERT_EQ(hocket_allreduce(&stop, &stop, 1, HOCKET_INT32, HOCKET_MAX, comm.get(), nullptr, nullptr), HOCKET_OK)
        << hocket_last_error();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // leaves the cores to others
  }
}

void go_on_without_the_last(Child& child, const Comm& comm) {
  if (child.index == asked_size - 1) ::_exit(0);
  expect_result(allreduce_until_failure(comm.get(), 1, [] {}), HOCKET_PEER_LOST);
  hocket_comm* handle = nullptr;
  expect_result(hocket_comm_shrink(comm.get(), &handle, nullptr), HOCKET_OK);
  const Comm shrunk(handle);
  ASSERT_TRUE(shrunk);
  EXPECT_EQ(size_of(shrunk), asked_size - 1);
  use(shrunk);
}

class SlowStrangers : public OverTransport {};

TEST_P(SlowStrangers, AreShownOutWhileRanksWorkAndMeet) {
  allow_descriptors(4096);
  ProcessGroup group(asked_size, [](Child& child) {
    if (child.index == 0) allow_descriptors(300);
    const Comm comm;
    ASSERT_TRUE(comm);
    child.say(std::getenv("MASTER_PORT"));
    EXPECT_EQ(child.hear(), "go on");
    work_until_told(child, comm);
    go_on_without_the_last(child, comm);
  });
  int store = 0;
  for (int rank = 0; rank < asked_size; ++rank) store = std::stoi("0" + group.hear(rank));
  std::vector<SlowStranger> strangers;
  std::vector<int> descriptors;
  for (int rank = 0; rank < asked_size; ++rank) {
    descriptors.push_back(descriptors_of(group.process(rank)));
    for (const int port : listening_ports(group.process(rank))) {
      const std::string words =
          port == store ? store::wire::encode_greeting(store::wire::client_magic, {}) : words_of_a_rank();
      for (int i = 0; i < for_each_door; ++i) strangers.emplace_back(port, words);
    }
    for (const std::string& name : unix_doors(group.process(rank))) {
      for (int i = 0; i < for_each_door; ++i) strangers.emplace_back(name);
    }
  }
  for (int rank = 0; rank < asked_size; ++rank) group.tell(rank, "go on");
  // The doors of standbys are attended to when there is something to do. The last rank has one where connections may be
  // ended by others.
  const int standbys = GetParam() == "tcp" ? asked_size : asked_size - 1;
  const auto to_be_out = static_cast<std::ptrdiff_t>(strangers.size()) - standbys * for_each_door;
  ASSERT_GE(to_be_out, for_each_door * asked_size) << "those of ranks, and the store's";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::ptrdiff_t out = 0;
  while (out < to_be_out && std::chrono::steady_clock::now() < deadline) {
    for (SlowStranger& stranger : strangers) stranger.say_a_byte();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    out = std::ranges::count_if(strangers, [](SlowStranger& stranger) { return stranger.is_out(); });
    for (int rank = 1; rank < asked_size; ++rank) {
      constexpr int for_its_own_work = 64;
      EXPECT_LE(descriptors_of(group.process(rank)),
                descriptors[static_cast<std::size_t>(rank)] + kept_at_a_door + for_its_own_work);
    }
  }
  EXPECT_EQ(out, to_be_out);
  group.tell(0, "stop");
  group.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Over, SlowStrangers, testing::Values("tcp", "shm"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace hocket::process_testing
