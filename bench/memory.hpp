// Where buffers lie, and what it takes to fill and check them there: in host memory, or in that of a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "bench/data.hpp"
#include "tools/device/device.hpp"

namespace hocket::bench {

class Memory {
 public:
  virtual ~Memory() = default;

  // Aligned to 64 bytes. Throws std::bad_alloc, or hocket::Error.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  virtual void free(std::byte* memory) = 0;

  virtual void set(std::byte* to, std::byte value, std::size_t bytes) = 0;
  virtual std::uint64_t count_other(const std::byte* at, std::byte value, std::size_t bytes) = 0;
  // As Pattern has them. Elements further than `tolerance` from the pattern's are wrong; below 0: those that differ.
  virtual void fill(const Pattern& pattern, int source, std::size_t first, std::byte* to, std::size_t count) = 0;
  virtual std::uint64_t count_wrong(const Pattern& pattern, int source, std::size_t first, const std::byte* at,
                                    std::size_t count, double tolerance = -1) = 0;

  // Where in a page data is to begin; nothing: anywhere.
  virtual std::optional<std::size_t> offset() const { return {}; }

  // What orders calls on this memory, and tells how long they took; null: the host alone does.
  virtual device::Stream* stream() { return nullptr; }
};

std::unique_ptr<Memory> make_host_memory(bool registered, std::size_t offset = 0);
// On a GPU. Throws hocket::Error.
std::unique_ptr<Memory> make_device_memory(std::unique_ptr<device::Device> device);

// The kinds by name.
inline constexpr const char* plain_memory = "plain";
inline constexpr const char* registered_memory = "registered";
inline constexpr const char* cuda_memory = "cuda";

// In place of a GPU's number: each rank takes that of its place on its host.
inline constexpr const char* local_rank_device = "local-rank";
// The GPU that is meant by `named`, a number or local_rank_device. Throws hocket::Error where launchers do not say
// which place this rank has.
int device_index(const std::string& named);

// Memory of that kind; `device` is asked for on GPUs only, `offset` elsewhere.
std::unique_ptr<Memory> make_memory(const std::string& kind, const std::string& device, std::size_t offset);

}  // namespace hocket::bench
