// On which TCP ports a rank listens once its communicator stands.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "src/base/fd.hpp"
#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/children.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// With a store that is no rank's.
void run_with_file_store(const Ranks& ranks, const ProcessGroup::Body& body) {
  const TemporaryFolder folder;
  run_ranks(ranks, [&](Child& child) {
    ::setenv("HOCKET_STORE", ("file://" + folder.file("store")).c_str(), 1);
    body(child);
  });
}

std::size_t doors() {
  return listening_ports(::getpid()).size();
}

// 0, or an errno.
int answer_at(const char* address, int port) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, address, &to.sin_addr);
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : errno;
}

TEST(Doors, ThereAreNoneWhereSharedMemoryReachesAll) {
  run_with_file_store(3, [](Child&) {
    const Comm comm;
    ASSERT_TRUE(comm);
    EXPECT_EQ(doors(), 0u);
    const Comm child(duplicate(comm));
    EXPECT_EQ(doors(), 0u);
    use(child);
    use(comm);
  });
}

TEST(Doors, AreForRanksThatOnlyTcpReaches) {
  run_with_file_store("0011", [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    EXPECT_EQ(doors(), 2u) << "its own, and that of its standby; lower ranks see there whether it lives";
    use(comm);
    const Comm of_host(split(comm, child.index / 2, 0));
    EXPECT_EQ(doors(), 2u) << "its ranks share memory";
    use(of_host);
  });
}

TEST(Doors, AreAtTheAddressesThatAreAdvertised) {
  run_with_file_store("01", [](Child&) {
    ::setenv("HOCKET_SOCKET_IFNAME", "=lo", 1);
    ::setenv("HOCKET_SOCKET_FAMILY", "ipv4", 1);
    const Comm comm;
    ASSERT_TRUE(comm);
    const std::vector<int> ports = listening_ports(::getpid());
    EXPECT_EQ(ports.size(), 2u);
    for (const int port : ports) EXPECT_EQ(answer_at("127.0.0.2", port), ECONNREFUSED) << "127.0.0.1 alone";
    use(comm);
  });
}

}  // namespace
}  // namespace hocket::process_testing
