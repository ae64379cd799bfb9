#include "src/exec/direct/gpu_exports.hpp"

#include <cstring>

namespace hocket {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::uint64_t by_descriptor_bit = std::uint64_t{1} << 63;  // beside an allocation's bytes
constexpr std::size_t words_per_line = sizeof(ControlLine) / sizeof(std::uint64_t);

void write_line(ControlLine& line, const GpuHandle& handle) {
  std::uint64_t words[words_per_line];
  static_assert(sizeof words == sizeof handle);
  std::memcpy(words, handle.data(), sizeof words);
  for (std::size_t i = 0; i < words_per_line; ++i) line.words[i].store(words[i], relaxed);
}

GpuHandle read_line(const ControlLine& line) {
  std::uint64_t words[words_per_line];
  for (std::size_t i = 0; i < words_per_line; ++i) words[i] = line.words[i].load(relaxed);
  GpuHandle handle;
  std::memcpy(handle.data(), words, sizeof words);
  return handle;
}

ControlLine* export_lines(const DirectRun& run, std::uint32_t member) {
  return &run.window().control_lines(member)[direct::lines_of_exports(run.turn)];
}

}  // namespace

void write_export(const DirectRun& run, bool output, const MemoryExport& memory) {
  ControlLine* const lines = export_lines(run, run.self);
  write_line(lines[output ? 1 : 0], memory.handle);
  std::atomic<std::uint64_t>* const words = lines[2].words + (output ? 4 : 0);
  words[0].store(memory.allocation, relaxed);
  words[1].store(memory.allocation_at, relaxed);
  words[2].store(memory.allocation_bytes | (memory.by_descriptor ? by_descriptor_bit : 0), relaxed);
  words[3].store(memory.offset, relaxed);
}

MemoryExport read_export(const DirectRun& run, std::uint32_t member, bool output) {
  const ControlLine* const lines = export_lines(run, member);
  const std::atomic<std::uint64_t>* const words = lines[2].words + (output ? 4 : 0);
  const std::uint64_t bytes = words[2].load(relaxed);
  return {.handle = read_line(lines[output ? 1 : 0]),
          .allocation = words[0].load(relaxed),
          .allocation_at = words[1].load(relaxed),
          .allocation_bytes = bytes & ~by_descriptor_bit,
          .offset = words[3].load(relaxed),
          .by_descriptor = (bytes & by_descriptor_bit) != 0};
}

}  // namespace hocket
