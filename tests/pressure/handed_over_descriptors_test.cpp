// Memory runs out while descriptors are handed over: none stays open.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdint>
#include <new>
#include <utility>

#include "src/base/region_table.hpp"
#include "tests/pressure/failing_memory.hpp"
#include "tests/process/support/process_group.hpp"
#include "transports/shm/channel.hpp"
#include "transports/shm/shared_memory.hpp"

namespace hocket::pressure_testing {
namespace {

using process_testing::open_descriptors;

// Has each allocation of `hand_over` fail in turn.
template <class HandOver>
void expect_none_left(HandOver hand_over) {
  const int before = open_descriptors();
  for (std::int64_t number = 1;; ++number) {
    bool failed = false;
    fail_allocation(number, Shortage::of_one);
    try {
      hand_over();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    const bool ran_out = stop_failing();
    EXPECT_EQ(open_descriptors(), before) << "allocation " << number;
    if (!ran_out) break;
    EXPECT_TRUE(failed) << "allocation " << number;
  }
}

class Sockets {
 public:
  Sockets() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) throw std::bad_alloc();
    UniqueFd one(ends[0]), other(ends[1]);
    from = shm::Channel(std::move(one));
    to = shm::Channel(std::move(other));
  }

  shm::Channel from, to;
};

TEST(HandedOverDescriptors, ComeInAPacket) {
  const UniqueFd given(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const shm::Packet sent{.kind = shm::PacketKind::ring};
  const int fds[] = {given.get(), given.get()};
  (void)Sockets();  // what a process keeps for good is there
  expect_none_left([&] {
    Sockets sockets;
    sockets.from.send(sent, fds);
    shm::Packet packet;
    (void)sockets.to.receive(packet);
  });
}

TEST(HandedOverDescriptors, WaitForAFullSocket) {
  const UniqueFd given(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const shm::Packet sent{.kind = shm::PacketKind::ring};
  const int fds[] = {given.get(), given.get()};
  expect_none_left([&] {
    Sockets sockets;
    while (sockets.from.try_send(sent)) {
    }
    sockets.from.send(sent, fds);
  });
}

TEST(HandedOverDescriptors, BelongToARegion) {
  constexpr std::size_t bytes = 1 << 16;
  const auto memory = shm::create_memory("a test", bytes, shm::Commit::now);
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  const auto mapped = shm::map_memory(memory->get(), 0, bytes);
  ASSERT_TRUE(mapped.ok()) << mapped.status().message();
  expect_none_left([&] {
    RegionTable table;
    (void)table.add(memory->get(), mapped->data(), bytes);
  });
}

}  // namespace
}  // namespace hocket::pressure_testing
