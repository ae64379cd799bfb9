#include "tests/doubled/torch/device.hpp"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

namespace hocket::testing_support {
namespace {

constexpr c10::StreamId streams_in_pool = 8;
constexpr std::chrono::seconds patience{20};

thread_local c10::StreamId current = 0;

void check(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.message());
}

template <class T>
T checked(Result<T> result) {
  check(result.status());
  return std::move(result).value();
}

struct Block {
  c10::StreamId made_on = 0;
  std::set<c10::StreamId> told_of;
};

struct State {
  std::mutex mutex;  // for all
  std::map<c10::StreamId, GpuStream> streams;
  c10::StreamId next_of_pool = 1;
  GpuStream collector = nullptr;  // frees memory
  std::map<const void*, Block> blocks;
};

// Never destroyed: streams may still be at work.
State& state() {
  static auto& one = *new State;
  return one;
}

void wait_for(GpuStream waiting, GpuStream other) {
  const auto event = checked(hocket_double_gpu().make_event());
  check(hocket_double_gpu().record(other, *event));
  check(hocket_double_gpu().wait(waiting, *event));
}

void give_back(void* memory) {
  State& own = state();
  Block block;
  {
    const std::lock_guard lock(own.mutex);
    block = own.blocks.extract(memory).mapped();
    if (own.collector == nullptr) own.collector = checked(hocket_double_gpu().make_stream());
  }
  block.told_of.insert(block.made_on);
  for (const c10::StreamId stream : block.told_of) wait_for(own.collector, handle_of(stream));
  hocket_double_put(own.collector, [memory] { (void)hocket_double_gpu().free(static_cast<std::byte*>(memory)); });
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return the_device.type(); }
  c10::Device exchangeDevice(c10::Device) const override { return the_device; }
  c10::Device getDevice() const override { return the_device; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  c10::Stream getStream(c10::Device) const noexcept override { return stream_of(current); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream_of(0); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override {
    const std::lock_guard lock(state().mutex);
    const c10::StreamId next = state().next_of_pool;
    state().next_of_pool = next % streams_in_pool + 1;
    return stream_of(next);
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    return stream_of(exchange_current_stream(stream.id()));
  }
  bool queryStream(const c10::Stream& stream) const override { return is_idle(stream.id()); }
  void synchronizeStream(const c10::Stream& stream) const override { finish(stream.id()); }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (*event == nullptr) *event = checked(hocket_double_gpu().make_event()).release();
    check(hocket_double_gpu().record(handle_of(stream.id()), *static_cast<GpuEvent*>(*event)));
  }
  void block(void* event, const c10::Stream& stream) const override {
    check(hocket_double_gpu().wait(handle_of(stream.id()), *static_cast<GpuEvent*>(event)));
  }
  bool queryEvent(void* event) const override {
    return event == nullptr || checked(hocket_double_gpu().reached(*static_cast<GpuEvent*>(event)));
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<GpuEvent*>(event);
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
    const std::lock_guard lock(state().mutex);
    const auto found = state().blocks.find(data.get());
    if (found != state().blocks.end()) found->second.told_of.insert(stream.id());
  }

 private:
  static c10::Stream stream_of(c10::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, the_device, id); }
};

const c10::impl::DeviceGuardImplRegistrar registrar(c10::DeviceType::CUDA, new Guard);

}  // namespace

GpuStream handle_of(c10::StreamId stream) {
  const std::lock_guard lock(state().mutex);
  auto& handle = state().streams[stream];
  if (handle == nullptr) handle = checked(hocket_double_gpu().make_stream());
  return handle;
}

c10::StreamId current_stream() {
  return current;
}

c10::StreamId exchange_current_stream(c10::StreamId stream) {
  return std::exchange(current, stream);
}

bool is_idle(c10::StreamId stream) {
  return hocket_double_gpu().finish(handle_of(stream), Deadline::after(std::chrono::milliseconds(0))).ok();
}

void finish(c10::StreamId stream) {
  check(hocket_double_gpu().finish(handle_of(stream), Deadline::after(patience)));
}

at::Tensor make_tensor(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType type) {
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    elements = sizes[i] == 0 || elements == 0 ? 0 : elements + (sizes[i] - 1) * strides[i];
  }
  const auto bytes = std::max<std::size_t>(static_cast<std::size_t>(elements) * c10::elementSize(type), 1);
  std::byte* const memory = checked(hocket_double_gpu().allocate(bytes));
  {
    const std::lock_guard lock(state().mutex);
    state().blocks[memory] = Block{current, {}};
  }
  const auto options = at::TensorOptions().dtype(type).device(the_device);
  return at::from_blob(memory, sizes, strides, &give_back, options, the_device);
}

std::size_t tensors_alive() {
  const std::lock_guard lock(state().mutex);
  return state().blocks.size();
}

std::vector<c10::StreamId> streams_told_of(const at::Tensor& tensor) {
  const std::lock_guard lock(state().mutex);
  const auto& told_of = state().blocks.at(tensor.storage().data_ptr().get()).told_of;
  return {told_of.begin(), told_of.end()};
}

void put(std::function<void()> work) {
  hocket_double_put(handle_of(current), std::move(work));
}

at::Tensor as_touched(const at::Tensor& tensor) {
  return at::from_blob(hocket_double_touched(tensor.data_ptr()), tensor.sizes(), tensor.strides(),
                       tensor.options().device(at::kCPU));
}

}  // namespace hocket::testing_support
