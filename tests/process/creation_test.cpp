// Groups as large as one machine bears, and what their ranks hold open.
#include <sys/socket.h>
#include <unistd.h>
#include <fstream>

#include <cstdlib>
#include <string>
#include <utility>

#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// TCP connections of this process to others.
int connected_sockets() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    sockaddr_storage peer{};
    socklen_t bytes = sizeof peer;
    const int fd = std::stoi(entry.path().filename());
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) != 0) continue;
    if (peer.ss_family == AF_INET || peer.ss_family == AF_INET6) ++count;
  }
  return count;
}

TEST(LargeGroup, Of64RanksFormsAndWorks) {
  for (const char* transport : {"tcp", "auto"}) {
    SCOPED_TRACE(transport);
    run_ranks(64, [&](Child& child) {
      ::setenv("HOCKET_TRANSPORT", transport, 1);
      const Comm comm;
      ASSERT_TRUE(comm);
      for (const std::size_t count : {1, 5000}) {
        Call({.count = count}, child.index, child.size).run(comm.get());
      }
      Call({.collective = Collective::broadcast, .count = 100, .root = 5}, child.index, child.size).run(comm.get());
    });
  }
}

// Everybody dials the root at once.
TEST(LargeGroup, MeetsAtOneRank) {
  run_ranks(100, [&](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    ::setenv("HOCKET_ALGORITHM", "linear", 1);
    const Comm comm;
    ASSERT_TRUE(comm);
    Call({.collective = Collective::gather, .count = 10}, child.index, child.size).run(comm.get());
  });
}

TEST(Connections, AreAsManyAsATuningFileSays) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("table")) << "tcp_streams=3\n";
  run_ranks(2, [&](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    ::setenv("HOCKET_TUNING", folder.file("table").c_str(), 1);
    const Comm comm;
    ASSERT_TRUE(comm);
    Call({.count = 100'000}, child.index, 2).run(comm.get());  // a large message goes over all
    EXPECT_GE(connected_sockets(), 3);
    ASSERT_EQ(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);  // nobody leaves before the other has counted
  });
}

// Connections are made when a plan first names a peer; the ring of creation is all that a ring needs.
TEST(Connections, OfARingAreTwoForEachRank) {
  for (const int size : {2, 3, 8}) {
    SCOPED_TRACE(size);
    const TemporaryFolder folder;  // a store without connections
    ProcessGroup group(size, [&](Child& child) {
      ::setenv("HOCKET_TRANSPORT", "tcp", 1);
      ::setenv("HOCKET_ALGORITHM", "ring", 1);
      ::setenv("HOCKET_STORE", ("file://" + folder.file("store")).c_str(), 1);
      // Nobody runs ahead while another one counts.
      const auto expect_connections = [&](int count) {
        child.say("done");
        EXPECT_EQ(child.hear(), "count");
        EXPECT_EQ(connected_sockets(), count);
        child.say("counted");
        EXPECT_EQ(child.hear(), "go on");
      };
      const Comm comm;
      ASSERT_TRUE(comm);
      const int neighbours = size == 2 ? 1 : 2;
      expect_connections(neighbours);
      Call({.count = 10'000}, child.index, size).run(comm.get());
      expect_connections(neighbours);
      Call({.collective = Collective::alltoall, .count = 10'000}, child.index, size).run(comm.get());
      expect_connections(size - 1);
    });
    for (int phase = 0; phase < 3; ++phase) {
      for (const auto& [said, answer] : {std::pair{"done", "count"}, std::pair{"counted", "go on"}}) {
        group.hear_from_all(said);
        for (int index = 0; index < size; ++index) group.tell(index, answer);
      }
    }
    group.expect_success();
  }
}

}  // namespace
}  // namespace hocket::process_testing
