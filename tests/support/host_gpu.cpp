#include "tests/support/host_gpu.hpp"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "src/cuda/reduce_arguments.hpp"
#include "tests/support/host_kernels.hpp"
#include "tests/support/host_stream.hpp"
#include "tests/support/shared_file.hpp"

namespace hocket::testing {
namespace {

constexpr auto poll_pause = std::chrono::microseconds(50);

// How often the event was recorded, and which of these has been reached.
struct EventWords {
  std::atomic<std::uint64_t> recorded, reached;
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Streams may still use it when its event is destroyed.
struct MappedWords {
  explicit MappedWords(std::byte* memory) : words(reinterpret_cast<EventWords*>(memory)) {}
  ~MappedWords() { ::munmap(words, sizeof(EventWords)); }
  MappedWords(const MappedWords&) = delete;
  MappedWords& operator=(const MappedWords&) = delete;

  EventWords* const words;
};

struct HostEvent final : GpuEvent {
  UniqueFd file;
  std::uint64_t number = 0;  // 0: of another process
  std::shared_ptr<MappedWords> mapped;
};

Result<std::unique_ptr<GpuEvent>> event_of(UniqueFd file, std::uint64_t number) {
  auto memory = map_shared_file(file, sizeof(EventWords));
  if (!memory.ok()) return memory.status();
  auto event = std::make_unique<HostEvent>();
  event->file = std::move(file);
  event->number = number;
  event->mapped = std::make_shared<MappedWords>(*memory);
  return std::unique_ptr<GpuEvent>(std::move(event));
}

HostStream& stream_of(GpuStream stream) {
  return *static_cast<HostStream*>(stream);
}

}  // namespace

HostGpu::~HostGpu() {
  for (GpuStream stream : streams_) delete &stream_of(stream);
  for (const auto& [at, held] : imports_) ::munmap(at, held.second);
  for (const auto& [at, held] : allocations_) ::munmap(at, held.bytes);
}

Result<std::byte*> HostGpu::allocate(std::size_t bytes) {
  if (Status status = fault("allocate"); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (bytes > options_.memory_bytes - allocated_bytes_) {
    return Status(Code::out_of_resources, name() + ": allocating memory: out of memory");
  }
  const std::uint64_t number = next_shared_number();
  auto file = make_shared_file(number, bytes);
  if (!file.ok()) return file.status();
  auto memory = map_shared_file(*file, bytes);
  if (!memory.ok()) return memory.status();
  allocations_[*memory] = {std::move(*file), number, bytes};
  allocated_bytes_ += bytes;
  return *memory;
}

Status HostGpu::free(std::byte* memory) {
  if (Status status = fault("free"); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(memory);
  if (found == allocations_.end()) return {Code::invalid_argument, name() + ": freeing memory: not an allocation"};
  ::munmap(memory, found->second.bytes);
  allocated_bytes_ -= found->second.bytes;
  allocations_.erase(found);
  return {};
}

Result<MemoryExport> HostGpu::export_memory(const std::byte* data) {
  if (Status status = fault("export_memory"); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  for (const auto& [at, held] : allocations_) {
    if (data < at || data >= at + held.bytes) continue;
    return MemoryExport{.handle = handle_of(held.file, held.number),
                        .allocation = held.number,
                        .allocation_bytes = held.bytes,
                        .offset = static_cast<std::uint64_t>(data - at)};
  }
  return Status(Code::invalid_argument, name() + ": sharing memory with other processes: not its memory");
}

Result<std::byte*> HostGpu::import_memory(const MemoryExport& memory) {
  if (Status status = fault("import_memory"); !status.ok()) return status;
  SharedFileHandle names;
  std::memcpy(&names, memory.handle.data(), sizeof names);
  if (names.process == ::getpid()) return Status(Code::invalid_argument, "a process cannot open its own memory");
  auto file = open_shared_file(memory.handle);
  if (!file.ok()) return file.status();
  auto mapped = map_shared_file(*file, memory.allocation_bytes);
  if (!mapped.ok()) return mapped.status();
  const std::lock_guard lock(mutex_);
  imports_[*mapped] = {memory.allocation, memory.allocation_bytes};
  return *mapped;
}

Status HostGpu::close_import(std::byte* allocation) {
  if (Status status = fault("close_import"); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  const auto found = imports_.find(allocation);
  if (found == imports_.end()) return {Code::invalid_argument, "closing memory of another process: it is not open"};
  ::munmap(allocation, found->second.second);
  imports_.erase(found);
  return {};
}

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

Result<std::unique_ptr<GpuEvent>> HostGpu::make_event() {
  if (Status status = fault("make_event"); !status.ok()) return status;
  const std::uint64_t number = next_shared_number();
  auto file = make_shared_file(number, sizeof(EventWords));
  if (!file.ok()) return file.status();
  return event_of(std::move(*file), number);
}

Result<GpuHandle> HostGpu::export_event(GpuEvent& event) {
  if (Status status = fault("export_event"); !status.ok()) return status;
  const auto& own = static_cast<HostEvent&>(event);
  if (own.number == 0) return Status(Code::invalid_argument, "sharing an event: it is another process's");
  return handle_of(own.file, own.number);
}

Result<std::unique_ptr<GpuEvent>> HostGpu::import_event(const GpuHandle& handle) {
  if (Status status = fault("import_event"); !status.ok()) return status;
  auto file = open_shared_file(handle);
  if (!file.ok()) return file.status();
  return event_of(std::move(*file), 0);
}

Status HostGpu::record(GpuStream stream, GpuEvent& event) {
  if (Status status = fault("record"); !status.ok()) return status;
  const auto mapped = static_cast<HostEvent&>(event).mapped;
  const std::uint64_t turn = mapped->words->recorded.fetch_add(1) + 1;
  stream_of(stream).put([mapped, turn](const HostStream::Stopped&) { mapped->words->reached.store(turn); });
  return {};
}

Status HostGpu::wait(GpuStream stream, GpuEvent& event) {
  if (Status status = fault("wait"); !status.ok()) return status;
  const auto mapped = static_cast<HostEvent&>(event).mapped;
  const std::uint64_t turn = mapped->words->recorded.load();
  stream_of(stream).put([mapped, turn](const HostStream::Stopped& stopped) {
    while (mapped->words->reached.load() < turn && !stopped()) std::this_thread::sleep_for(poll_pause);
  });
  return {};
}

Status HostGpu::copy(GpuStream stream, std::byte* to, const std::byte* from, std::size_t bytes) {
  if (Status status = fault("copy"); !status.ok()) return status;
  stream_of(stream).put([=](const HostStream::Stopped&) { std::memcpy(to, from, bytes); });
  return {};
}

Status HostGpu::reduce(GpuStream stream, const GpuReduction& call) {
  if (Status status = fault("reduce"); !status.ok()) return status;
  auto arguments = cuda::reduce_arguments(call);
  if (!arguments.ok()) return arguments.status();
  const HostKernel kernel = host_kernel(call.dtype, call.op);
  stream_of(stream).put([kernel, to_do = *arguments](const HostStream::Stopped&) { kernel(to_do, 0, 1); });
  return {};
}

Status HostGpu::finish(GpuStream stream, Deadline deadline) {
  if (Status status = fault("finish"); !status.ok()) return status;
  if (stream_of(stream).finish(deadline)) return {};
  return {Code::timeout, name() + ": a stream is not done at the deadline"};
}

}  // namespace hocket::testing
