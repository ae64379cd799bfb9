#include "bench/gpu_handover.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "tools/device/device.hpp"
#include "tools/device/require.hpp"

namespace hocket::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto patience = std::chrono::minutes(1);

// Memory of both processes.
struct Shared {
  // That the streams write and wait for, by which one has handed over; the driver is told of whole pages.
  alignas(4096) GpuWord first{0};
  alignas(64) GpuWord second{0};
  // How many hand-overs have been put into streams. No stream waits for a word that none has been told to write, so the
  // hosts take turns.
  alignas(4096) std::atomic<std::uint64_t> turns{0};
};

void await(const std::atomic<std::uint64_t>& turns, std::uint64_t number) {
  const auto end = Clock::now() + patience;
  while (turns.load(std::memory_order_acquire) < number) {
    if (Clock::now() > end) throw Error(HOCKET_TIMEOUT, "the other process takes no turn");
  }
}

// Waits until the other process has come as far.
void meet(int socket) {
  char byte = 0;
  const bool met = ::send(socket, &byte, 1, MSG_NOSIGNAL) == 1 && ::recv(socket, &byte, 1, 0) == 1;
  if (!met) throw Error(HOCKET_PEER_LOST, "the other process has ended");
}

// `first`: hands over first. The microseconds from the first hand-over to the end of all.
double take_turns(int index, int socket, Shared& shared, std::uint64_t count, bool first) {
  const auto device = device::open_device(index);
  Gpu& gpu = device->gpu();
  device::Stream stream(*device);
  device::require(gpu.use_words(&shared, sizeof(Shared)));
  GpuWord &own = first ? shared.first : shared.second, &other = first ? shared.second : shared.first;
  meet(socket);
  const auto began = Clock::now();
  for (std::uint64_t turn = 1; turn <= count; ++turn) {
    const std::uint64_t before = 2 * (turn - 1);
    if (first) {
      device::require(gpu.write(stream.handle(), own, turn));
      shared.turns.store(before + 1, std::memory_order_release);
      await(shared.turns, before + 2);
      device::require(gpu.wait_until(stream.handle(), other, turn));
    } else {
      await(shared.turns, before + 1);
      device::require(gpu.wait_until(stream.handle(), other, turn));
      device::require(gpu.write(stream.handle(), own, turn));
      shared.turns.store(before + 2, std::memory_order_release);
    }
  }
  stream.finish();
  const double spent_us = std::chrono::duration<double, std::micro>(Clock::now() - began).count();
  meet(socket);  // the other one's stream may still look at the own word
  device::require(gpu.forget_words(&shared));
  return spent_us;
}

}  // namespace

double handover_us(int device, int turns) {
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::array<int, 2> sockets{};
  if (memory == MAP_FAILED || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    throw Error(HOCKET_OUT_OF_RESOURCES, "there is no memory or socket for two processes");
  }
  auto& shared = *new (memory) Shared;
  const auto count = static_cast<std::uint64_t>(turns);
  const pid_t child = ::fork();
  if (child < 0) throw Error(HOCKET_OUT_OF_RESOURCES, "no process can be started");
  if (child == 0) {
    ::close(sockets[0]);
    try {
      take_turns(device, sockets[1], shared, count, false);
    } catch (const Error&) {  // the other process says what is wrong
      std::_Exit(1);
    }
    std::_Exit(0);
  }
  ::close(sockets[1]);
  const double spent_us = take_turns(device, sockets[0], shared, count, true);
  ::close(sockets[0]);
  (void)::waitpid(child, nullptr, 0);
  ::munmap(memory, sizeof(Shared));
  return spent_us / (2.0 * turns);
}

}  // namespace hocket::bench
