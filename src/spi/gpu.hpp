// The seam over a GPU: all that the library asks of CUDA. src/cuda implements it over the driver; the tests have a
// double of it in host memory.
//
// Thread rule: any thread may call any function of a GPU. Work that is put into one stream is done in its order;
// nothing orders work of two streams but events. No function waits for the device, except finish() and those that
// allocate, free, import or close memory, for which drivers may.
//
// Errors are Code::out_of_resources where memory has run out, Code::invalid_argument where what was handed over is not
// what it should be, Code::unsupported where the device or driver cannot do it, else Code::internal with the driver's
// words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "src/spi/elements.hpp"
#include "src/spi/status.hpp"
#include "src/spi/types.hpp"

namespace hocket {

// As the device's own library has it, for instance a CUstream. Null: the default stream.
using GpuStream = void*;

// What names something of one process in another one; it means nothing once its owner has freed it or ended.
using GpuHandle = std::array<std::byte, 64>;

// Memory as another process can open it. A handle names a whole allocation.
struct MemoryExport {
  GpuHandle handle = {};
  std::uint64_t allocation = 0;  // its number in the process that owns it; no two allocations ever have the same
  std::uint64_t allocation_bytes = 0;
  std::uint64_t offset = 0;  // of the memory that was exported

  friend bool operator==(const MemoryExport&, const MemoryExport&) = default;
};

// outputs[j][i] = inputs[0][i] ∘ inputs[1][i] ∘ …, divided by `divisor` unless that is 1. An output may be an input; no
// others overlap. The buffers are aligned to 8 bytes, or to the size of an element if that is less.
struct GpuReduction {
  DataType dtype{};
  ReduceOp op{};  // one that combines operands as they are
  std::size_t count = 0;
  std::uint32_t divisor = 1;
  bool round_each = false;  // narrow floats with each operand, as in deterministic mode; else once
  std::span<const std::byte* const> inputs;
  std::span<std::byte* const> outputs;
};
inline constexpr std::size_t gpu_reduction_buffers_max = 64;  // of inputs, and of outputs

// A point in a stream. Destroy it before its GPU; destroying it does not wait for the work before it.
class GpuEvent {
 public:
  virtual ~GpuEvent() = default;
};

class Gpu {
 public:
  virtual ~Gpu() = default;

  // For messages: "GPU 0 (NVIDIA H100)".
  virtual std::string name() const = 0;
  // Equal in all processes of the host that use this GPU, and only there.
  virtual std::string identity() const = 0;

  virtual Result<std::byte*> allocate(std::size_t bytes) = 0;  // aligned to 256 bytes; `bytes` is at least 1
  virtual Status free(std::byte* memory) = 0;                  // what allocate() returned

  // `data` may lie anywhere in an allocation, also in one that somebody else made by the device's own library.
  virtual Result<MemoryExport> export_memory(const std::byte* data) = 0;
  // Where the allocation of another process begins in this one. Open an allocation once only, and close it before the
  // GPU object ends. Once its owner has freed it, what it holds is undefined, but close_import() is still due.
  virtual Result<std::byte*> import_memory(const MemoryExport& memory) = 0;
  virtual Status close_import(std::byte* allocation) = 0;

  virtual Result<GpuStream> make_stream() = 0;
  // Work that is still in it is done, unless it waits for an event of a process that has ended.
  virtual Status destroy_stream(GpuStream stream) = 0;

  virtual Result<std::unique_ptr<GpuEvent>> make_event() = 0;
  virtual Result<GpuHandle> export_event(GpuEvent& event) = 0;
  virtual Result<std::unique_ptr<GpuEvent>> import_event(const GpuHandle& handle) = 0;
  // The event is the point that the stream has reached by now, instead of what it was before.
  virtual Status record(GpuStream stream, GpuEvent& event) = 0;
  // What is put into the stream from now on waits for the latest record() that was called, in whichever process. So
  // let that process say that it has recorded before you call this. An event that was never recorded is waited for by
  // nobody.
  virtual Status wait(GpuStream stream, GpuEvent& event) = 0;

  // Between device memory, imported memory and host memory. Both must last until it is done. Host memory that is not
  // pinned may be waited for.
  virtual Status copy(GpuStream stream, std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual Status reduce(GpuStream stream, const GpuReduction& call) = 0;

  // Waits until all is done that was put into the stream. Code::timeout at the deadline; what failed before is told
  // here.
  virtual Status finish(GpuStream stream, Deadline deadline) = 0;
};

}  // namespace hocket
