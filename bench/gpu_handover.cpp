#include "bench/gpu_handover.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include "src/cuda/driver.hpp"
#include "tools/device/device.hpp"
#include "tools/device/require.hpp"

namespace hocket::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto patience = std::chrono::minutes(1);

// In memory of both processes: how many hand-overs have been put into streams. No stream waits for an event before it
// was recorded, so the hosts take turns.
using Turns = std::atomic<std::uint64_t>;

void ask(const cuda::Driver& driver, CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) device::require(driver.check(result, what));
}

template <class Function>
Function find(const char* name) {
  void* const found = ::dlsym(::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), name);
  if (found == nullptr) throw Error(HOCKET_UNSUPPORTED, std::string("the CUDA driver has no ") + name);
  return reinterpret_cast<Function>(found);
}

// The stream of this process, an event of its own, and that of the other one.
class Side {
 public:
  Side(int index, int socket)
      : device_(device::open_device(index)), stream_(*device_), driver_(*device::require(cuda::driver())) {
    CUdevice device = 0;
    CUcontext context = nullptr;
    ask(driver_, driver_.cuDeviceGet_(&device, index), "finding the GPU");
    ask(driver_, driver_.cuDevicePrimaryCtxRetain_(&context, device), "making its context");  // until the process ends
    ask(driver_, driver_.cuCtxPushCurrent_(context), "using its context");
    ask(driver_, driver_.cuEventCreate_(&own_, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS), "making an event");
    CUipcEventHandle mine{}, theirs{};
    const auto share = find<CUresult (*)(CUipcEventHandle*, CUevent)>("cuIpcGetEventHandle");
    const auto open = find<CUresult (*)(CUevent*, CUipcEventHandle)>("cuIpcOpenEventHandle");
    ask(driver_, share(&mine, own_), "sharing an event");
    const bool exchanged = ::write(socket, &mine, sizeof mine) == static_cast<ssize_t>(sizeof mine) &&
                           ::read(socket, &theirs, sizeof theirs) == static_cast<ssize_t>(sizeof theirs);
    if (!exchanged) throw Error(HOCKET_PEER_LOST, "the other process has ended");
    ask(driver_, open(&other_, theirs), "opening an event of another process");
  }

  void hand_over() { ask(driver_, driver_.cuEventRecord_(own_, stream()), "recording an event"); }
  void take_over() { ask(driver_, driver_.cuStreamWaitEvent_(stream(), other_, 0), "waiting for an event"); }
  void finish() { stream_.finish(); }

 private:
  CUstream stream() const { return static_cast<CUstream>(stream_.handle()); }

  const std::unique_ptr<device::Device> device_;
  device::Stream stream_;
  const cuda::Driver& driver_;
  CUevent own_ = nullptr, other_ = nullptr;
};

void await(const Turns& turns, std::uint64_t number) {
  const auto end = Clock::now() + patience;
  while (turns.load(std::memory_order_acquire) < number) {
    if (Clock::now() > end) throw Error(HOCKET_TIMEOUT, "the other process takes no turn");
  }
}

// `first`: hands over first. The microseconds from the first hand-over to the end of all.
double take_turns(int index, int socket, Turns& turns, std::uint64_t count, bool first) {
  Side side(index, socket);
  const auto began = Clock::now();
  for (std::uint64_t turn = 0; turn < count; ++turn) {
    const std::uint64_t there = 2 * turn + 1;
    if (first) {
      side.hand_over();
      turns.store(there, std::memory_order_release);
      await(turns, there + 1);
      side.take_over();
    } else {
      await(turns, there);
      side.take_over();
      side.hand_over();
      turns.store(there + 1, std::memory_order_release);
    }
  }
  side.finish();
  return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
}

}  // namespace

double handover_us(int device, int turns) {
  void* const shared = ::mmap(nullptr, sizeof(Turns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::array<int, 2> sockets{};
  if (shared == MAP_FAILED || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0) {
    throw Error(HOCKET_OUT_OF_RESOURCES, "there is no memory or socket for two processes");
  }
  auto& number = *new (shared) Turns(0);
  const auto count = static_cast<std::uint64_t>(turns);
  const pid_t child = ::fork();
  if (child < 0) throw Error(HOCKET_OUT_OF_RESOURCES, "no process can be started");
  if (child == 0) {
    ::close(sockets[0]);
    try {
      (void)take_turns(device, sockets[1], number, count, false);
      char end = 0;
      (void)!::read(sockets[1], &end, 1);  // the other process still uses this one's event until it closes the socket
    } catch (const Error&) {               // the other process says what is wrong
      std::_Exit(1);
    }
    std::_Exit(0);
  }
  ::close(sockets[1]);
  const double spent_us = take_turns(device, sockets[0], number, count, true);
  ::close(sockets[0]);
  (void)::waitpid(child, nullptr, 0);
  ::munmap(shared, sizeof(Turns));
  return spent_us / (2.0 * turns);
}

}  // namespace hocket::bench
