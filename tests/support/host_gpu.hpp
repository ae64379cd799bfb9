// A double of a GPU in host memory, under which what runs over the seam (src/spi/gpu.hpp) is tested without one. Its
// memory is memfds, which other processes open while their owner lives and has not freed them; a host that touches it
// by its addresses ends with a signal, as it would with a GPU's. Its streams are threads; its events are counters.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/gpu.hpp"

namespace hocket::testing_support {

struct HostGpuOptions {
  std::size_t memory_bytes = std::size_t{1} << 30;
  int number = 0;                 // of those that the process sees
  std::vector<int> reaches = {};  // numbers of others whose memory it can open
  // Before each piece of work of every stream: shows work that does not wait for what it needs.
  std::chrono::microseconds delay{0};
  // Asked with the name of each function of the seam that is called; what is not ok is what that returns.
  std::function<Status(std::string_view)> fault = {};
  // Called in the stream before each copy, with the addresses that copy() was given; it may hold the copy back.
  std::function<void(const std::byte* to, const std::byte* from, std::size_t bytes)> before_copy = {};
};

class HostGpu : public Gpu {
 public:
  explicit HostGpu(HostGpuOptions options = {}) : options_(std::move(options)) {}
  ~HostGpu() override;
  HostGpu(const HostGpu&) = delete;
  HostGpu& operator=(const HostGpu&) = delete;

  std::string name() const override { return "GPU " + std::to_string(options_.number) + " (host memory)"; }
  std::string identity() const override { return identity_of(options_.number); }
  Result<std::vector<std::string>> reaches() override;
  Result<std::byte*> allocate(std::size_t bytes) override;
  Status free(std::byte* memory) override;
  Result<std::byte*> allocate_host(std::size_t bytes) override;
  Status free_host(std::byte* memory) override;
  Result<MemoryExport> export_memory(const std::byte* data, std::size_t bytes) override;
  Result<std::byte*> import_memory(const MemoryExport& memory) override;
  Status close_import(std::byte* allocation) override;
  Result<GpuStream> make_stream() override;
  Status destroy_stream(GpuStream stream) override;
  Status check_stream(GpuStream stream) override;
  Result<std::unique_ptr<GpuEvent>> make_event() override;
  Status record(GpuStream stream, GpuEvent& event) override;
  Status wait(GpuStream stream, GpuEvent& event) override;
  Result<bool> reached(GpuEvent& event) override;
  Status use_words(void* memory, std::size_t bytes) override;
  Status forget_words(void* memory) override;
  Status write(GpuStream stream, GpuWord& word, std::uint64_t value) override;
  Status wait_until(GpuStream stream, const GpuWord& word, std::uint64_t value) override;
  Status copy(GpuStream stream, std::byte* to, const std::byte* from, std::size_t bytes) override;
  Status reduce(GpuStream stream, const GpuReduction& call) override;
  Status finish(GpuStream stream, Deadline deadline) override;

  // Memory of another kind, which is shared by a descriptor.
  Result<std::byte*> allocate_mapped(std::size_t bytes);

  // Whether `data` points into its memory; imported memory counts, too.
  bool has(const void* data);
  // What it has been asked for and not been told to give back: allocations, pinned memory, imports, streams, words.
  std::size_t held();
  // Work of a program's own. What a thread of a stream touches: addresses of memory that is not the device's are left
  // as they are.
  void put(GpuStream stream, std::function<void()> work);
  std::byte* touched(const void* data);

 private:
  // Memory that has an address for the device, where the host cannot touch it, and one for the threads of streams.
  struct Memory {
    UniqueFd file;  // of an allocation
    std::uint64_t number = 0;
    std::size_t bytes = 0;
    std::byte* touched = nullptr;
    bool by_descriptor = false;  // how others open it
    // Of an import: whose it is, and where it lies there.
    int owner = 0;
    std::uint64_t owner_at = 0;
  };
  using Memories = std::map<std::byte*, Memory>;  // by the device's addresses

  Result<std::byte*> allocate(std::size_t bytes, bool by_descriptor);
  static std::string identity_of(int number) { return "host memory " + std::to_string(number); }
  static Result<Memories::value_type> map(UniqueFd file, std::uint64_t number, std::size_t bytes);
  static void unmap(const Memories::value_type& memory);
  const Memories::value_type* memory_at(const void* data) const;
  bool has_older_import(int owner, const MemoryExport& memory) const;
  GpuStream stream(GpuStream given);
  bool uses_word(const GpuWord& word);
  Status fault(std::string_view function) const { return options_.fault ? options_.fault(function) : Status(); }

  const HostGpuOptions options_;
  std::mutex mutex_;  // for all that follows
  Memories allocations_, imports_;
  std::map<std::byte*, std::size_t> pinned_;
  std::map<void*, std::size_t> words_;
  std::set<GpuStream> streams_;
  GpuStream default_stream_ = nullptr;  // made when it is used first
  std::size_t allocated_bytes_ = 0;
};

// The doubles of a process.
class HostGpus final : public Gpus {
 public:
  explicit HostGpus(std::vector<HostGpu*> gpus) : gpus_(std::move(gpus)) { seen_ = true; }
  Result<Gpu*> gpu_at(const void* data) override {
    for (HostGpu* const gpu : gpus_) {
      if (gpu->has(data)) return gpu;
    }
    return static_cast<Gpu*>(nullptr);
  }

 private:
  const std::vector<HostGpu*> gpus_;
};

}  // namespace hocket::testing_support
