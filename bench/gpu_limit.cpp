// What the GPU itself takes, beside which tools/gpu-check shows collectives: how fast it copies, and how long a bare
// hand-over between streams of two processes takes. Prints JSON.
//
//     bench-gpu-limit [number of the GPU]
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/gpu_handover.hpp"
#include "tools/device/device.hpp"

namespace hocket::bench {
namespace {

// 1e9 bytes a second that a copy within the GPU reads and writes.
double copy_GBps(int index) {
  constexpr std::size_t bytes = std::size_t{1} << 30;
  constexpr int times = 20;
  const auto device = device::open_device(index);
  device::Stream stream(*device);
  const device::Bytes from(*device, bytes), to(*device, bytes);
  device::Laps laps(stream);
  for (int i = 0; i < 2; ++i) stream.copy(to.data(), from.data(), bytes);
  laps.start();
  for (int i = 0; i < times; ++i) {
    stream.copy(to.data(), from.data(), bytes);
    laps.end();
  }
  const auto found = laps.take();
  return 2.0 * static_cast<double>(bytes) / *std::ranges::min_element(found) / 1e3;
}

}  // namespace
}  // namespace hocket::bench

int main(int argc, char** argv) {
  const int index = argc > 1 ? std::atoi(argv[1]) : 0;
  constexpr int turns = 10'000;
  try {
    const double handover = hocket::bench::handover_us(index, turns);  // first: it makes a process
    const double copy = hocket::bench::copy_GBps(index);
    fmt::print("{{\"copy_GBps\": {:.1f}, \"handover_us\": {:.3f}}}\n", copy, handover);
    return 0;
  } catch (const hocket::Error& error) {
    fmt::print(stderr, "bench-gpu-limit: {}\n", error.what());
    return 1;
  }
}
