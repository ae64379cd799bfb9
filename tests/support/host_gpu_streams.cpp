// The double of a GPU: its streams, and what is put into them.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "src/cuda/reduce_arguments.hpp"
#include "tests/support/host_gpu.hpp"
#include "tests/support/host_kernels.hpp"
#include "tests/support/host_stream.hpp"

namespace hocket::testing_support {
namespace {

constexpr auto poll_pause = std::chrono::microseconds(50);

// How often the event was recorded, and which of these has been reached. Streams may still use it when its event is
// destroyed.
struct Turns {
  std::atomic<std::uint64_t> recorded{0}, reached{0};
};

struct HostEvent final : GpuEvent {
  std::shared_ptr<Turns> turns = std::make_shared<Turns>();
};

Turns& turns_of(GpuEvent& event) {
  return *static_cast<HostEvent&>(event).turns;
}
HostStream& stream_of(GpuStream stream) {
  return *static_cast<HostStream*>(stream);
}

// Waits inside a stream.
template <class Done>
void wait_for(const Done& done, const HostStream::Stopped& stopped) {
  while (!done() && !stopped()) std::this_thread::sleep_for(poll_pause);
}

}  // namespace

// ---- streams and events ---------------------------------------------------------------------------------------------

Result<GpuStream> HostGpu::make_stream() {
  if (Status status = fault("make_stream"); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  return *streams_.insert(new HostStream(options_.delay)).first;
}

Status HostGpu::destroy_stream(GpuStream stream) {
  {
    const std::lock_guard lock(mutex_);
    if (streams_.erase(stream) == 0) return {Code::invalid_argument, "destroying a stream: it is none"};
  }
  delete &stream_of(stream);
  return {};
}

GpuStream HostGpu::stream(GpuStream given) {
  if (given != nullptr) return given;
  const std::lock_guard lock(mutex_);
  if (default_stream_ == nullptr) default_stream_ = new HostStream(options_.delay);
  return default_stream_;
}

Status HostGpu::check_stream(GpuStream) {
  return fault("check_stream");
}

Result<std::unique_ptr<GpuEvent>> HostGpu::make_event() {
  if (Status status = fault("make_event"); !status.ok()) return status;
  return std::unique_ptr<GpuEvent>(std::make_unique<HostEvent>());
}

Status HostGpu::record(GpuStream given, GpuEvent& event) {
  if (Status status = fault("record"); !status.ok()) return status;
  const auto turns = static_cast<HostEvent&>(event).turns;
  const std::uint64_t turn = ++turns->recorded;
  stream_of(stream(given)).put([turns, turn](const HostStream::Stopped&) { turns->reached.store(turn); });
  return {};
}

Status HostGpu::wait(GpuStream given, GpuEvent& event) {
  if (Status status = fault("wait"); !status.ok()) return status;
  const auto turns = static_cast<HostEvent&>(event).turns;
  const std::uint64_t turn = turns->recorded;
  stream_of(stream(given)).put([turns, turn](const HostStream::Stopped& stopped) {
    wait_for([&] { return turns->reached >= turn; }, stopped);
  });
  return {};
}

Result<bool> HostGpu::reached(GpuEvent& event) {
  if (Status status = fault("reached"); !status.ok()) return status;
  const Turns& turns = turns_of(event);
  return turns.reached == turns.recorded;
}

Status HostGpu::use_words(void* memory, std::size_t bytes) {
  if (Status status = fault("use_words"); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (reinterpret_cast<std::uintptr_t>(memory) % 4096 != 0 || !words_.emplace(memory, bytes).second) {
    return {Code::invalid_argument, name() + ": sharing words with streams: not aligned, or done already"};
  }
  return {};
}

Status HostGpu::forget_words(void* memory) {
  if (Status status = fault("forget_words"); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (words_.erase(memory) == 0) return {Code::invalid_argument, name() + ": these words were not shared"};
  return {};
}

bool HostGpu::uses_word(const GpuWord& word) {
  const std::lock_guard lock(mutex_);
  const auto* const at = reinterpret_cast<const std::byte*>(&word);
  return std::ranges::any_of(words_, [&](const auto& shared) {
    const auto* const begin = static_cast<const std::byte*>(shared.first);
    return at >= begin && at + sizeof word <= begin + shared.second;
  });
}

Status HostGpu::write(GpuStream given, GpuWord& word, std::uint64_t value) {
  if (Status status = fault("write"); !status.ok()) return status;
  if (!uses_word(word)) return {Code::invalid_argument, name() + ": writing a word that it was not told of"};
  stream_of(stream(given)).put([&word, value](const HostStream::Stopped&) { word.store(value); });
  return {};
}

Status HostGpu::wait_until(GpuStream given, const GpuWord& word, std::uint64_t value) {
  if (Status status = fault("wait_until"); !status.ok()) return status;
  if (!uses_word(word)) return {Code::invalid_argument, name() + ": waiting for a word that it was not told of"};
  stream_of(stream(given)).put([&word, value](const HostStream::Stopped& stopped) {
    wait_for([&] { return word >= value; }, stopped);
  });
  return {};
}

// ---- work -----------------------------------------------------------------------------------------------------------

void HostGpu::put(GpuStream given, std::function<void()> work) {
  stream_of(stream(given)).put([work = std::move(work)](const HostStream::Stopped&) { work(); });
}

Status HostGpu::copy(GpuStream given, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (Status status = fault("copy"); !status.ok()) return status;
  stream_of(stream(given))
      .put([=, this, to_touch = touched(to), from_touch = touched(from)](const HostStream::Stopped&) {
        if (options_.before_copy) options_.before_copy(to, from, bytes);
        std::memcpy(to_touch, from_touch, bytes);
      });
  return {};
}

Status HostGpu::reduce(GpuStream given, const GpuReduction& call) {
  if (Status status = fault("reduce"); !status.ok()) return status;
  std::vector<const std::byte*> inputs;
  std::vector<std::byte*> outputs;
  for (const std::byte* input : call.inputs) inputs.push_back(touched(input));
  for (std::byte* output : call.outputs) outputs.push_back(touched(output));
  GpuReduction there = call;
  there.inputs = inputs;
  there.outputs = outputs;
  auto arguments = cuda::reduce_arguments(there);
  if (!arguments.ok()) return arguments.status();
  const HostKernel kernel = host_kernel(call.dtype, call.op);
  stream_of(stream(given)).put([kernel, to_do = *arguments](const HostStream::Stopped&) { kernel(to_do, 0, 1); });
  return {};
}

Status HostGpu::finish(GpuStream given, Deadline deadline) {
  if (Status status = fault("finish"); !status.ok()) return status;
  if (stream_of(stream(given)).finish(deadline)) return {};
  return {Code::timeout, name() + ": a stream is not done at the deadline"};
}

}  // namespace hocket::testing_support
