#include "src/cuda/cuda_gpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "src/base/arithmetic.hpp"
#include "src/cuda/kernel_image.hpp"
#include "src/cuda/open_gpu.hpp"
#include "src/cuda/reduce_arguments.hpp"

namespace hocket::cuda {
namespace {

constexpr unsigned threads_per_block = 256;
constexpr unsigned blocks_per_processor = 8;  // all the threads that one can hold
constexpr auto query_pause = std::chrono::microseconds(20);

CUstream stream_of(GpuStream stream) {
  return static_cast<CUstream>(stream);
}

struct CudaEvent final : GpuEvent {
  CudaEvent(const Driver& with, CUcontext in, CUevent handle) : driver(with), context(in), event(handle) {}
  ~CudaEvent() override {
    (void)driver.cuCtxPushCurrent_(context);
    (void)driver.cuEventDestroy_(event);
    (void)driver.cuCtxPopCurrent_(nullptr);
  }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  const Driver& driver;
  const CUcontext context;
  const CUevent event;
};
CUevent event_of(GpuEvent& event) {
  return static_cast<CudaEvent&>(event).event;
}

}  // namespace

Result<std::unique_ptr<Gpu>> open_gpu(int index) {
  auto loaded = driver();
  if (!loaded.ok()) return loaded.status();
  return CudaGpu::open(**loaded, index);
}

Result<std::unique_ptr<Gpu>> CudaGpu::open(const Driver& driver, int index) {
  int count = 0;
  if (Status status = driver.check(driver.cuDeviceGetCount_(&count), "counting GPUs"); !status.ok()) return status;
  if (index < 0 || index >= count) {
    return Status(Code::unsupported, fmt::format("there is no GPU {}: this process sees {}", index, count));
  }
  std::unique_ptr<CudaGpu> made(new CudaGpu(driver, index));
  if (Status status = made->start(); !status.ok()) return status;
  return std::unique_ptr<Gpu>(std::move(made));
}

Status CudaGpu::start() {
  context_.name = fmt::format("GPU {}", index_);
  char model[128] = {};
  CUuuid uuid{};
  const auto ok = [&](CUresult result, const char* what) {
    return driver_.check(result, fmt::format("{}: {}", context_.name, what));
  };
  Status status = ok(driver_.cuDeviceGet_(&context_.device, index_), "finding it");
  if (status.ok()) status = ok(driver_.cuDeviceGetName_(model, sizeof model - 1, context_.device), "its name");
  if (status.ok()) status = ok(driver_.cuDeviceGetUuid_(&uuid, context_.device), "its identity");
  constexpr auto processors = CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
  if (status.ok()) status = ok(driver_.cuDeviceGetAttribute_(&processors_, processors, context_.device), "its size");
  if (!status.ok()) return status;
  context_.name = fmt::format("GPU {} ({})", index_, model);
  identity_.assign(uuid.bytes, sizeof uuid.bytes);
  return ok(driver_.cuDevicePrimaryCtxRetain_(&context_.context, context_.device), "making its context");
}

CudaGpu::~CudaGpu() {
  if (context_.context == nullptr) return;
  if (module_ != nullptr) (void)within("unloading kernels", [&] { return driver_.cuModuleUnload_(module_); });
}

Result<std::byte*> CudaGpu::allocate(std::size_t bytes) {
  CUdeviceptr memory = 0;
  const Status status = within("allocating memory", [&] { return driver_.cuMemAlloc_(&memory, bytes); });
  if (!status.ok()) return status;
  return memory_at(memory);
}

Status CudaGpu::free(std::byte* memory) {
  return within("freeing memory", [&] { return driver_.cuMemFree_(address_of(memory)); });
}

Result<std::byte*> CudaGpu::allocate_host(std::size_t bytes) {
  void* memory = nullptr;
  const Status status = within("allocating pinned memory",
                               [&] { return driver_.cuMemHostAlloc_(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE); });
  if (!status.ok()) return status;
  return static_cast<std::byte*>(memory);
}

Status CudaGpu::free_host(std::byte* memory) {
  return within("freeing pinned memory", [&] { return driver_.cuMemFreeHost_(memory); });
}

Result<GpuStream> CudaGpu::make_stream() {
  CUstream stream = nullptr;
  const Status status =
      within("making a stream", [&] { return driver_.cuStreamCreate_(&stream, CU_STREAM_NON_BLOCKING); });
  if (!status.ok()) return status;
  return static_cast<GpuStream>(stream);
}

Status CudaGpu::destroy_stream(GpuStream stream) {
  return within("destroying a stream", [&] { return driver_.cuStreamDestroy_(stream_of(stream)); });
}

Status CudaGpu::check_stream(GpuStream stream) {
  auto capture = CU_STREAM_CAPTURE_STATUS_NONE;
  const Status status =
      within("looking at a stream", [&] { return driver_.cuStreamIsCapturing_(stream_of(stream), &capture); });
  if (!status.ok() || capture == CU_STREAM_CAPTURE_STATUS_NONE) return status;
  return {Code::unsupported, context_.name +
                                 ": the stream is being captured into a graph, which calls that wait for other "
                                 "ranks cannot be part of; make them outside the capture"};
}

Result<std::unique_ptr<GpuEvent>> CudaGpu::make_event() {
  CUevent event = nullptr;
  const Status status =
      within("making an event", [&] { return driver_.cuEventCreate_(&event, CU_EVENT_DISABLE_TIMING); });
  if (!status.ok()) return status;
  return std::unique_ptr<GpuEvent>(std::make_unique<CudaEvent>(driver_, context_.context, event));
}

Status CudaGpu::record(GpuStream stream, GpuEvent& event) {
  return within("recording an event", [&] { return driver_.cuEventRecord_(event_of(event), stream_of(stream)); });
}

Status CudaGpu::wait(GpuStream stream, GpuEvent& event) {
  return within("waiting for an event",
                [&] { return driver_.cuStreamWaitEvent_(stream_of(stream), event_of(event), 0); });
}

Result<bool> CudaGpu::reached(GpuEvent& event) {
  CUresult result = CUDA_SUCCESS;
  const Status status = within("looking at an event", [&] {
    result = driver_.cuEventQuery_(event_of(event));
    return result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result;
  });
  if (!status.ok()) return status;
  return result == CUDA_SUCCESS;
}

Status CudaGpu::use_words(void* memory, std::size_t bytes) {
  return within("sharing words with streams", [&] {
    int able = 0;
    driver_.cuDeviceGetAttribute_(&able, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, context_.device);
    if (able == 0) return CUDA_ERROR_NOT_SUPPORTED;
    return driver_.cuMemHostRegister_(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  });
}

Status CudaGpu::forget_words(void* memory) {
  return within("forgetting words", [&] { return driver_.cuMemHostUnregister_(memory); });
}

template <class Function>
Status CudaGpu::with_word(std::string_view what, const GpuWord& word, const Function& function) const {
  return within(what, [&] {
    CUdeviceptr at = 0;
    const CUresult found = driver_.cuMemHostGetDevicePointer_(&at, const_cast<GpuWord*>(&word), 0);
    return found == CUDA_SUCCESS ? function(at) : found;
  });
}

Status CudaGpu::write(GpuStream stream, GpuWord& word, std::uint64_t value) {
  return with_word("writing a word", word, [&](CUdeviceptr at) {
    return driver_.cuStreamWriteValue64_(stream_of(stream), at, value, CU_STREAM_WRITE_VALUE_DEFAULT);
  });
}

Status CudaGpu::wait_until(GpuStream stream, const GpuWord& word, std::uint64_t value) {
  return with_word("waiting for a word", word, [&](CUdeviceptr at) {
    return driver_.cuStreamWaitValue64_(stream_of(stream), at, value, CU_STREAM_WAIT_VALUE_GEQ);
  });
}

Status CudaGpu::copy(GpuStream stream, std::byte* to, const std::byte* from, std::size_t bytes) {
  return within("copying",
                [&] { return driver_.cuMemcpyAsync_(address_of(to), address_of(from), bytes, stream_of(stream)); });
}

// Loaded when the first is asked for.
Result<CUfunction> CudaGpu::kernel(DataType dtype, ReduceOp op) {
  const std::lock_guard lock(mutex_);
  CUfunction& found = kernels_[static_cast<std::size_t>(dtype)][static_cast<std::size_t>(op)];
  if (found != nullptr) return found;
  const Status status = within("loading kernels", [&] {
    if (module_ == nullptr) {
      const CUresult result = driver_.cuModuleLoadData_(&module_, hocket_cuda_kernels);
      if (result != CUDA_SUCCESS) return result;
    }
    return driver_.cuModuleGetFunction_(&found, module_, kernel_name(dtype, op).c_str());
  });
  if (!status.ok()) return status;
  return found;
}

Status CudaGpu::reduce(GpuStream stream, const GpuReduction& call) {
  auto arguments = reduce_arguments(call);
  if (!arguments.ok()) return arguments.status();
  auto function = kernel(call.dtype, call.op);
  if (!function.ok()) return function.status();
  if (call.count == 0) return {};
  const std::size_t vectors = divide_up(call.count * size_of(call.dtype), vector_bytes);
  const std::size_t blocks = std::min<std::size_t>(divide_up(vectors, std::size_t{threads_per_block}),
                                                   static_cast<std::size_t>(processors_) * blocks_per_processor);
  return within("launching a reduction", [&] {
    void* parameters[] = {&*arguments};
    return driver_.cuLaunchKernel_(*function, static_cast<unsigned>(blocks), 1, 1, threads_per_block, 1, 1, 0,
                                   stream_of(stream), parameters, nullptr);
  });
}

Status CudaGpu::finish(GpuStream stream, Deadline deadline) {
  for (;;) {
    CUresult result = CUDA_SUCCESS;
    const Status status = within("waiting for a stream", [&] {
      result = driver_.cuStreamQuery_(stream_of(stream));
      return result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result;
    });
    if (!status.ok() || result == CUDA_SUCCESS) return status;
    if (deadline.passed())
      return {Code::timeout, fmt::format("{}: a stream is not done at the deadline", context_.name)};
    std::this_thread::sleep_for(query_pause);
  }
}

}  // namespace hocket::cuda
