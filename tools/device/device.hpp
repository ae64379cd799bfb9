// A GPU as programs use it that are no part of the library: memory and streams as src/spi/gpu.hpp has them, kernels of
// the program's own, and how long work took. The driver is loaded at run time, so one program runs with a GPU and
// without. All of it throws hocket::Error: HOCKET_OUT_OF_RESOURCES where memory has run out, HOCKET_UNSUPPORTED where
// there is no GPU that can be used; the message says what to do. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hocket/hocket.hpp"
#include "src/spi/gpu.hpp"

namespace hocket::device {

// See kernel.hpp.
struct Kernel {
  const unsigned char* image = nullptr;  // as cmake/cuda.cmake compiles it; null in builds without CUDA
  const char* name = "";                 // of the kernel in it
  unsigned pointers = 0;                 // how many addresses its arguments begin with
  void (*on_host)(const void* arguments, std::uint64_t thread, std::uint64_t threads) = nullptr;
};
template <class Arguments, void (*share)(const Arguments&, std::uint64_t, std::uint64_t)>
Kernel make_kernel(const unsigned char* image, const char* name) {
  const auto on_host = [](const void* arguments, std::uint64_t thread, std::uint64_t threads) {
    share(*static_cast<const Arguments*>(arguments), thread, threads);
  };
  return {image, name, Arguments::pointers, on_host};
}

// A point in a stream that has a time.
class Instant {
 public:
  virtual ~Instant() = default;
};

class Device {
 public:
  virtual ~Device() = default;

  virtual Gpu& gpu() = 0;
  // Runs the kernel in about `threads` threads, or fewer, of which each does more. The arguments are copied.
  virtual void launch(GpuStream stream, const Kernel& kernel, std::span<const std::byte> arguments,
                      std::uint64_t threads) = 0;
  virtual std::unique_ptr<Instant> make_instant() = 0;
  // The instant is when all is done that has been put into the stream by now.
  virtual void record(GpuStream stream, Instant& instant) = 0;
  // Both must have come.
  virtual double microseconds_between(Instant& from, Instant& to) = 0;
};

// GPU `index` of those that this process sees.
std::unique_ptr<Device> open_device(int index);

// A stream of a device, which must outlive it. Ends when its work is done.
class Stream {
 public:
  explicit Stream(Device& device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Device& device() const { return device_; }
  GpuStream handle() const { return stream_; }
  void copy(void* to, const void* from, std::size_t bytes);
  template <class Arguments>
  void launch(const Kernel& kernel, const Arguments& arguments, std::uint64_t threads) {
    device_.launch(stream_, kernel, std::as_bytes(std::span(&arguments, 1)), threads);
  }
  // Waits until all is done; HOCKET_TIMEOUT after five minutes.
  void finish();
  // The same without a moment's sleep, for what takes times.
  void finish_at_once();

 private:
  Device& device_;
  GpuStream stream_ = nullptr;
};

// Memory of a device, which must outlive it. Whoever lets it go has seen the end of the work that uses it.
class Bytes {
 public:
  Bytes(Device& device, std::size_t bytes);  // 0 bytes have an address, too
  ~Bytes();
  Bytes(Bytes&& other) noexcept;
  Bytes& operator=(Bytes&&) = delete;

  std::byte* data() const { return memory_; }
  std::size_t size() const { return bytes_; }

 private:
  Gpu* gpu_;
  std::size_t bytes_;
  std::byte* memory_;
};

// How long each of the things took that were put into a stream one after the other.
class Laps {
 public:
  explicit Laps(Stream& stream) : stream_(stream) {}

  void start();
  // Ends a lap, and begins the next one.
  void end();
  // Waits for the stream. The laps since start(), in microseconds.
  std::vector<double> take();

 private:
  void read();

  Stream& stream_;
  std::vector<std::unique_ptr<Instant>> instants_;  // used again by and by
  std::size_t recorded_ = 0;
  std::vector<double> laps_;
};

}  // namespace hocket::device
