// The seam over a GPU: all that the library asks of CUDA. src/cuda implements it over the driver; the tests have a
// double of it in host memory.
//
// Thread rule: any thread may call any function of a GPU. Work that is put into one stream is done in its order;
// nothing orders work of two streams but events, and words that processes share. No function waits for the device,
// except finish() and those that allocate, free, import or close memory, for which drivers may.
//
// Errors are Code::out_of_resources where memory has run out, Code::invalid_argument where what was handed over is not
// what it should be, Code::unsupported where the device or driver cannot do it, else Code::internal with the driver's
// words.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "src/spi/elements.hpp"
#include "src/spi/status.hpp"
#include "src/spi/types.hpp"

namespace hocket {

// As the device's own library has it, for instance a CUstream. Null: the default stream.
using GpuStream = void*;

// What names memory of one process in another one; it means nothing once its owner has freed it or ended.
using GpuHandle = std::array<std::byte, 64>;

// In host memory that processes share: streams write it and wait for it, and so may the host, which can thus let go
// streams that wait for a process that has ended.
using GpuWord = std::atomic<std::uint64_t>;

// Memory as another process can open it. A handle names a whole allocation; or a descriptor of the process that owns
// the allocation, which whoever opens it must be able to fetch (src/base/foreign_descriptor.hpp).
struct MemoryExport {
  GpuHandle handle = {};
  std::uint64_t allocation = 0;     // its number in the process that owns it; no two allocations ever have the same
  std::uint64_t allocation_at = 0;  // where it begins in that process
  std::uint64_t allocation_bytes = 0;
  std::uint64_t offset = 0;  // of the memory that was exported
  bool by_descriptor = false;

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
  // Identities of other GPUs whose memory this one's work may use where it is imported: peer access.
  virtual Result<std::vector<std::string>> reaches() = 0;

  virtual Result<std::byte*> allocate(std::size_t bytes) = 0;  // aligned to 256 bytes; `bytes` is at least 1
  virtual Status free(std::byte* memory) = 0;                  // what allocate() returned
  // Host memory that the device copies to and from by itself, aligned to 64 bytes at least.
  virtual Result<std::byte*> allocate_host(std::size_t bytes) = 0;
  virtual Status free_host(std::byte* memory) = 0;

  // `data` may lie anywhere in an allocation, also in one that somebody else made by the device's own library. What is
  // shared by a descriptor stays allocated when its owner frees it, until something else is shared or the GPU ends.
  virtual Result<MemoryExport> export_memory(const std::byte* data, std::size_t bytes) = 0;
  // Where the allocation of another process begins in this one; it may lie on a GPU that this one reaches. Open an
  // allocation once only, and close it before the GPU object ends. Once its owner has freed it, what it holds is
  // undefined, but close_import() is still due.
  virtual Result<std::byte*> import_memory(const MemoryExport& memory) = 0;
  virtual Status close_import(std::byte* allocation) = 0;

  virtual Result<GpuStream> make_stream() = 0;
  // Work that is still in it is done, unless it waits for a word that nobody writes.
  virtual Status destroy_stream(GpuStream stream) = 0;
  // Code::unsupported where nothing may be put into it that the host waits for: a graph is being captured.
  virtual Status check_stream(GpuStream stream) = 0;

  // Events order the streams of one process, and tell its host how far a stream has come.
  virtual Result<std::unique_ptr<GpuEvent>> make_event() = 0;
  // The event is the point that the stream has reached by now, instead of what it was before.
  virtual Status record(GpuStream stream, GpuEvent& event) = 0;
  // What is put into the stream from now on waits for the latest record(). An event that was never recorded is waited
  // for by nobody.
  virtual Status wait(GpuStream stream, GpuEvent& event) = 0;
  // Whether all is done that was in the stream at the latest record(); so also where there was none. What failed
  // before is told here.
  virtual Result<bool> reached(GpuEvent& event) = 0;

  // Lets streams use words in this memory, which other processes may have mapped as well, until forget_words() of the
  // same memory; no stream may use it then. It is aligned to 4096 bytes, and stays mapped.
  virtual Status use_words(void* memory, std::size_t bytes) = 0;
  virtual Status forget_words(void* memory) = 0;
  // After all that was put into the stream before, and what that has written can be seen by whoever sees the word.
  virtual Status write(GpuStream stream, GpuWord& word, std::uint64_t value) = 0;
  // What is put into the stream from now on waits until the word is at least `value`. Call this only where what writes
  // that has been put into its stream already, in whichever process: devices do not know of this order.
  virtual Status wait_until(GpuStream stream, const GpuWord& word, std::uint64_t value) = 0;

  // Between device memory, imported memory and host memory. Both must last until it is done. Host memory that is not
  // pinned may be waited for.
  virtual Status copy(GpuStream stream, std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual Status reduce(GpuStream stream, const GpuReduction& call) = 0;

  // Waits until all is done that was put into the stream. Code::timeout at the deadline; what failed before is told
  // here.
  virtual Status finish(GpuStream stream, Deadline deadline) = 0;
};

// The GPUs of this process, and what memory is theirs. Any thread.
class Gpus {
 public:
  virtual ~Gpus() = default;

  // Whether this process may have had memory of a GPU when gpu_at() was called last. Once true, always true.
  bool seen() const { return seen_.load(std::memory_order_relaxed); }
  // The same for whoever asks again and again.
  const std::atomic<bool>& seen_flag() const { return seen_; }
  // The GPU in whose memory `data` lies. Null: memory that the host reads and writes; that is also pinned and managed
  // memory. Code::unsupported where it is memory of a GPU that cannot be used; the message begins with what it is:
  // "device memory of GPU 3". Cheap as long as there is no GPU in this process.
  virtual Result<Gpu*> gpu_at(const void* data) = 0;

 protected:
  std::atomic<bool> seen_{false};
};

}  // namespace hocket
