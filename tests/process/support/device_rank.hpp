// A rank with the double of a GPU: its communicator takes the double's memory for a device's.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "src/capi/handles.hpp"
#include "src/comm/options.hpp"
#include "tests/process/support/call.hpp"
#include "tests/support/host_gpu.hpp"

namespace hocket::process_testing {

using Bytes = std::vector<std::byte>;

// A child of a ProcessGroup makes one; hosts and transports follow its environment.
class DeviceRank {
 public:
  static constexpr auto patience = std::chrono::seconds(30);

  explicit DeviceRank(const testing_support::HostGpuOptions& options = {}, bool deterministic = true)
      : gpu_(options), gpus_({&gpu_}), stream_(*gpu_.make_stream()) {
    hocket_comm_options given = HOCKET_COMM_OPTIONS_INIT;
    auto resolved = comm::resolve_options(&given);
    EXPECT_TRUE(resolved.ok()) << resolved.status().message();
    resolved->gpus = &gpus_;
    resolved->deterministic = deterministic;
    auto made = comm::Communicator::create(*resolved, capi::registered_memory());
    EXPECT_TRUE(made.ok()) << made.status().message();
    if (made.ok()) comm_ = std::make_unique<Comm>(new hocket_comm{std::move(*made)});
  }
  // The library has given back all that it took of the GPU.
  ~DeviceRank() {
    comm_.reset();
    EXPECT_TRUE(gpu_.finish(stream_, Deadline::after(patience)).ok()) << "no stream waits for ever";
    EXPECT_EQ(gpu_.held(), 1U) << "more than the stream of this rank's own";
  }
  DeviceRank(const DeviceRank&) = delete;
  DeviceRank& operator=(const DeviceRank&) = delete;

  explicit operator bool() const { return comm_ != nullptr; }
  hocket_comm* comm() const { return comm_->get(); }
  Rank rank() const { return comm()->communicator->rank(); }
  Rank size() const { return comm()->communicator->size(); }
  void destroy_comm() { comm_.reset(); }
  testing_support::HostGpu& gpu() { return gpu_; }
  GpuStream stream() const { return stream_; }
  hocket_call_options options() const {
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.stream = stream_;
    return options;
  }
  // Until all is done that was put into the stream.
  void finish() { EXPECT_TRUE(gpu_.finish(stream_, Deadline::after(patience)).ok()); }
  // Puts a copy into the stream and returns; the bytes are kept until this rank ends.
  void write(std::byte* to, Bytes bytes) {
    if (bytes.empty()) return;
    kept_.push_back(std::move(bytes));
    EXPECT_TRUE(gpu_.copy(stream_, to, kept_.back().data(), kept_.back().size()).ok());
  }
  Bytes read(const std::byte* from, std::size_t bytes) {
    Bytes found(bytes);
    if (bytes != 0) {
      EXPECT_TRUE(gpu_.copy(stream_, found.data(), from, bytes).ok());
    }
    finish();
    return found;
  }

 private:
  testing_support::HostGpu gpu_;
  testing_support::HostGpus gpus_;
  const GpuStream stream_;
  std::deque<Bytes> kept_;
  std::unique_ptr<Comm> comm_;
};

// Device memory, which goes with this.
class DeviceBuffer {
 public:
  DeviceBuffer(DeviceRank& rank, const Bytes& contents) : DeviceBuffer(rank, contents.size()) {
    rank.write(memory_, contents);
  }
  DeviceBuffer(DeviceRank& rank, std::size_t bytes)
      : rank_(rank), bytes_(bytes), memory_(*rank.gpu().allocate(bytes + 1)) {}
  ~DeviceBuffer() {
    rank_.finish();
    EXPECT_TRUE(rank_.gpu().free(memory_).ok());
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  std::byte* at() const { return memory_; }
  Bytes read() const { return rank_.read(memory_, bytes_); }

 private:
  DeviceRank& rank_;
  const std::size_t bytes_;
  std::byte* const memory_;
};

// Elements that every rank can make for any: finite, and such that another order of additions makes other bits.
inline Bytes some_elements(DataType dtype, std::size_t count, std::uint64_t salt) {
  Bytes bytes(count * size_of(dtype));
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t number = (i + 1) * 2654435761U + salt * 40503U;
    const float value = static_cast<float>(static_cast<int>(number >> 7 & 0x3ff) - 511) / 37.0F;
    std::byte* const to = bytes.data() + i * size_of(dtype);
    if (dtype == DataType::float32) {
      std::memcpy(to, &value, sizeof value);
    } else if (dtype == DataType::float64) {
      const double wide = static_cast<double>(value) / 3;
      std::memcpy(to, &wide, sizeof wide);
    } else if (dtype == DataType::bfloat16) {
      std::memcpy(to, reinterpret_cast<const std::byte*>(&value) + 2, 2);
    } else {
      std::memcpy(to, &number, size_of(dtype));
    }
  }
  return bytes;
}

// A collective with equal blocks, as hocket_call() takes it.
struct DeviceCase {
  Collective collective = Collective::allreduce;
  DataType dtype = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  std::size_t count = 1;
  Rank root = 0;
  bool in_place = false;
  // Ranks may differ in these.
  bool send_on_device = true, recv_on_device = true;
};

// Runs it on host memory, then where the case says; the results have the same bits. The name of the algorithm that ran
// on device memory.
std::string expect_same_as_on_host(DeviceRank& rank, const DeviceCase& what);

// Bytes of the buffers of such a call on this rank; 0: it has none.
struct DeviceCallBytes {
  std::size_t send, recv, in_place_at;
};
DeviceCallBytes bytes_of(const DeviceCase& what, Rank rank, Rank size);

}  // namespace hocket::process_testing
