#include "src/exec/direct/gpu_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/exec/gpu/device_data.hpp"
#include "src/exec/gpu/gpu_window.hpp"

namespace hocket {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr std::size_t alignment_max = 8;  // that the GPU needs
constexpr std::size_t words_per_line = sizeof(ControlLine) / sizeof(std::uint64_t);

// ---- where data lies, in control lines: a line for each handle, and one for all numbers -----------------------------

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

void write_export(ControlLine* lines, bool output, const MemoryExport& memory) {
  write_line(lines[output ? 1 : 0], memory.handle);
  std::atomic<std::uint64_t>* const words = lines[2].words + (output ? 4 : 0);
  words[0].store(memory.allocation, relaxed);
  words[1].store(memory.allocation_at, relaxed);
  words[2].store(memory.allocation_bytes, relaxed);
  words[3].store(memory.offset, relaxed);
}

MemoryExport read_export(const ControlLine* lines, bool output) {
  const std::atomic<std::uint64_t>* const words = lines[2].words + (output ? 4 : 0);
  return {.handle = read_line(lines[output ? 1 : 0]),
          .allocation = words[0].load(relaxed),
          .allocation_at = words[1].load(relaxed),
          .allocation_bytes = words[2].load(relaxed),
          .offset = words[3].load(relaxed)};
}

ControlLine* export_lines(const DirectRun& run, std::uint32_t member) {
  return &run.window().control_lines(member)[direct::lines_of_exports(run.turn)];
}

bool is_aligned(const std::byte* data, std::size_t element_bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % std::min(element_bytes, alignment_max) == 0;
}

// What the device itself refuses to share; other ways are open then.
bool cannot_be_shared(const Status& status) {
  return status.code() == Code::unsupported || status.code() == Code::invalid_argument;
}

}  // namespace

bool GpuPath::takes(const Signature& call, std::uint32_t root, const WindowUse& use) {
  const std::uint32_t members = use.window->size();
  if (members > gpu_reduction_buffers_max) return false;
  const Exchange exchange(call, root, members, first_grain_bytes);
  if (exchange.combines()) {
    const ReduceOpInfo& op = info_of(call.op);
    if (op.takes != Takes::nothing || !is_defined(call.dtype, call.op)) return false;
  }
  DirectSetting setting = use.setting;
  setting.staging_bytes = use.window->staging_bytes();
  return exchange.rounds() != 0 && !direct_rule(exchange, setting, use.window->reads_plain_memory()).one_way;
}

Status GpuPath::offer(DirectRun& run, Announcement& own) {
  const DeviceData& data = *run.binding.device;
  GpuWindow& window = *run.use.gpu;
  const auto is_its = window.open(run.window(), data.call.gpu());
  if (!is_its.ok()) return cannot_be_shared(is_its.status()) ? Status() : is_its.status();
  if (!*is_its) return {};
  Gpu& gpu = window.gpu();
  const std::size_t element_bytes = size_of(run.binding.signature);
  for (const bool output : {false, true}) {
    const std::byte* const at = output ? data.output : data.input;
    if ((output ? run.exchange.output_bytes(run.self) : run.exchange.input_bytes(run.self)) == 0) continue;
    if (!is_aligned(at, element_bytes)) return {};
    const auto memory = gpu.export_memory(at);
    if (!memory.ok()) return cannot_be_shared(memory.status()) ? Status() : memory.status();
    write_export(export_lines(run, run.self), output, *memory);
  }
  if (Status status = data.call.let_wait(window.stream()); !status.ok()) return status;
  if (Status status = gpu.write(window.stream(), window.ready(run.self), run.turn); !status.ok()) return status;
  own.flags |= Announcement::device;
  own.gpu = window.identity();
  return {};
}

bool GpuPath::advance(Counters& counters) {
  GpuWindow& window = *run_.use.gpu;
  if (run_.self == executor) {
    if (announcer_.someone_has_withdrawn()) return false;
    const auto worked = work_for_all(counters);
    if (!worked.ok()) {
      (void)window.release(run_.binding.device->call);  // a part of the work may have been put into the stream
      run_.fail(worked.status());
      return true;
    }
    if (!*worked) return false;
    stage_counts_.publish(Stage::parts_done, 1);
    run_.window().wake_others();
  } else {
    if (!stage_counts_.reached(executor, Stage::parts_done, 1)) return false;
    if (Status status = window.gpu().wait_until(window.stream(), window.done(executor), run_.turn); !status.ok()) {
      run_.fail(status);
      return true;
    }
  }
  if (Status status = window.release(run_.binding.device->call); !status.ok()) run_.fail(status);
  return done_ = true;
}

// All memory is opened before anything is put into the stream, as that is what may fail. False: first, something must
// be closed that work before this may still use.
Result<bool> GpuPath::work_for_all(Counters& counters) {
  GpuWindow& window = *run_.use.gpu;
  meet_buffers();
  if (Status status = window.tidy(); !status.ok()) return status;
  waits_for_work_ = window.imports().must_close();
  if (waits_for_work_) return false;
  if (Status status = find_buffers(); !status.ok()) return status;
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (member == run_.self) continue;
    Status status = window.gpu().wait_until(window.stream(), window.ready(member), run_.turn);
    if (!status.ok()) return status;
  }
  if (run_.exchange.collective().is_vector()) {
    if (Status status = move(run_.exchange.whole(), counters); !status.ok()) return status;
  } else {
    for (std::size_t number = 0; number < run_.parts(); ++number) {
      if (Status status = move(run_.part(number), counters); !status.ok()) return status;
    }
  }
  if (Status status = window.gpu().write(window.stream(), window.done(run_.self), run_.turn); !status.ok()) {
    return status;
  }
  return true;
}

void GpuPath::meet_buffers() {
  GpuImports& imports = run_.use.gpu->imports();
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (member == run_.self) continue;
    for (const bool output : {false, true}) {
      if (bytes_of(member, output) != 0) imports.meet(member, read_export(export_lines(run_, member), output));
    }
  }
}

Status GpuPath::find_buffers() {
  const DeviceData& data = *run_.binding.device;
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (member == run_.self) {
      run_.inputs[member] = data.input;
      run_.outputs[member] = data.output;
    } else if (Status status = find_buffers_of(member); !status.ok()) {
      const Rank rank = run_.window().rank_of(member);
      return Status(
          Cause{.code = status.code(),
                .message = fmt::format("device memory of rank {} cannot be opened: {}", rank, status.message()),
                .peer = rank});
    }
  }
  return {};
}

Status GpuPath::find_buffers_of(std::uint32_t member) {
  GpuImports& imports = run_.use.gpu->imports();
  for (const bool output : {false, true}) {
    std::byte* at = nullptr;
    if (bytes_of(member, output) != 0) {
      const auto found = imports.find(member, read_export(export_lines(run_, member), output));
      if (!found.ok()) return found.status();
      at = *found;
    }
    if (output) {
      run_.outputs[member] = at;
    } else {
      run_.inputs[member] = at;
    }
  }
  return {};
}

Status GpuPath::move(const Part& part, Counters& counters) {
  if (part.bytes == 0) return {};
  Gpu& gpu = run_.use.gpu->gpu();
  const GpuStream stream = run_.use.gpu->stream();
  run_.sources.clear();
  run_.targets.clear();
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (part.comes_from(member)) run_.sources.push_back(run_.inputs[member] + part.source_offset);
    if (!part.goes_to(member)) continue;
    run_.targets.push_back(run_.outputs[member] + part.target_offset);
    if (member != run_.self) counters.bytes_sent += part.bytes;
  }
  counters.steps += 1;
  if (run_.exchange.combines()) {
    const Signature& call = run_.binding.signature;
    return gpu.reduce(stream, {.dtype = call.dtype,
                               .op = info_of(call.op).combines_as,
                               .count = part.bytes / size_of(call),
                               .divisor = run_.binding.reduction.divide != nullptr ? run_.binding.reduction.divisor : 1,
                               .round_each = run_.binding.reduction.all == nullptr,
                               .inputs = run_.sources,
                               .outputs = run_.targets});
  }
  for (std::byte* const target : run_.targets) {
    if (target == run_.sources.front()) continue;
    if (Status status = gpu.copy(stream, target, run_.sources.front(), part.bytes); !status.ok()) return status;
  }
  return {};
}

}  // namespace hocket
