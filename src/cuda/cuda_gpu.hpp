// A GPU by the CUDA driver, in the primary context of its device.
#pragma once

#include <array>
#include <mutex>
#include <string>

#include "src/cuda/cuda_context.hpp"
#include "src/cuda/memory_sharing.hpp"
#include "src/spi/gpu.hpp"

namespace hocket::cuda {

class CudaGpu final : public Gpu {
 public:
  static Result<std::unique_ptr<Gpu>> open(const Driver& driver, int index);
  ~CudaGpu() override;
  CudaGpu(const CudaGpu&) = delete;
  CudaGpu& operator=(const CudaGpu&) = delete;

  std::string name() const override { return context_.name; }
  std::string identity() const override { return identity_; }
  Result<std::vector<std::string>> reaches() override { return sharing_.reaches(); }
  Result<std::byte*> allocate(std::size_t bytes) override;
  Status free(std::byte* memory) override;
  Result<std::byte*> allocate_host(std::size_t bytes) override;
  Status free_host(std::byte* memory) override;
  Result<MemoryExport> export_memory(const std::byte* data, std::size_t bytes) override {
    return sharing_.export_memory(data, bytes);
  }
  Result<std::byte*> import_memory(const MemoryExport& memory) override { return sharing_.import_memory(memory); }
  Status close_import(std::byte* allocation) override { return sharing_.close_import(allocation); }
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

 private:
  CudaGpu(const Driver& driver, int index) : driver_(driver), index_(index), context_(driver) {}
  Status start();
  template <class Function>
  Status within(std::string_view what, const Function& function) const {
    return context_.within(what, function);
  }
  // The same with where the device sees the word.
  template <class Function>
  Status with_word(std::string_view what, const GpuWord& word, const Function& function) const;
  Result<CUfunction> kernel(DataType dtype, ReduceOp op);

  const Driver& driver_;
  const int index_;
  CudaContext context_;
  MemorySharing sharing_{context_};
  std::string identity_;
  int processors_ = 1;

  std::mutex mutex_;  // for what follows
  CUmodule module_ = nullptr;
  std::array<std::array<CUfunction, reduce_ops>, data_types> kernels_{};
};

}  // namespace hocket::cuda
