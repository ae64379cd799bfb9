#include "src/exec/direct/gpu_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>

#include "src/exec/direct/gpu_exports.hpp"
#include "src/exec/gpu/device_data.hpp"
#include "src/exec/gpu/gpu_window.hpp"

namespace hocket {
namespace {

constexpr std::size_t gpu_alignment_max = 8;  // that the GPU needs

bool is_aligned_for_gpu(const std::byte* data, std::size_t element_bytes) {
  return reinterpret_cast<std::uintptr_t>(data) % std::min(element_bytes, gpu_alignment_max) == 0;
}

bool is_first_on_its_gpu(const DirectRun& run, std::uint32_t member) {
  const auto begin = run.announcements.begin(), its = begin + member;
  return std::none_of(begin, its, [&](const Announcement& before) { return before.gpu == its->gpu; });
}

// What the device itself refuses to share; other ways are open then.
bool cannot_be_shared(const Status& status) {
  return status.code() == Code::unsupported || status.code() == Code::invalid_argument;
}

}  // namespace

bool GpuPath::takes(const Signature& call, std::uint32_t root, const WindowUse& use) {
  const std::uint32_t members = use.window->size();
  if (use.gpu == nullptr || members > gpu_reduction_buffers_max) return false;
  const Exchange exchange(call, root, members, first_grain_bytes);
  if (exchange.combines()) {
    const ReduceOpInfo& op = info_of(call.op);
    if (op.takes != Takes::nothing || !is_defined(call.dtype, call.op)) return false;
  }
  return exchange.rounds() != 0 && !use.rule_of(exchange).one_way;
}

Status GpuPath::offer(DirectRun& run, Announcement& own) {
  const DeviceData& data = *run.binding.device;
  GpuWindow& window = *run.use.gpu;
  const auto is_its = window.open(run.window(), data.call.gpu());
  if (!is_its.ok()) return cannot_be_shared(is_its.status()) ? Status() : is_its.status();
  if (!*is_its) return {};
  Gpu& gpu = window.gpu();
  const std::size_t element_bytes = size_of(run.binding.signature);
  std::uint32_t flags = Announcement::device;
  if (window.fetches()) flags |= Announcement::fetches;
  for (const bool output : {false, true}) {
    const std::byte* const at = output ? data.output : data.input;
    const std::size_t bytes = output ? run.exchange.output_bytes(run.self) : run.exchange.input_bytes(run.self);
    if (bytes == 0) continue;
    if (!is_aligned_for_gpu(at, element_bytes)) return {};
    const auto memory = gpu.export_memory(at, bytes);
    if (!memory.ok()) return cannot_be_shared(memory.status()) ? Status() : memory.status();
    write_export(run, output, *memory);
    if (memory->by_descriptor) flags |= Announcement::by_descriptor;
  }
  if (Status status = data.call.let_wait(window.stream()); !status.ok()) return status;
  if (Status status = gpu.write(window.stream(), window.ready(run.self), run.turn); !status.ok()) return status;
  own.flags |= flags;
  own.gpu = window.identity();
  return {};
}

bool GpuPath::are_joined(const DirectRun& run) {
  std::uint32_t any = 0, all = ~std::uint32_t{0};
  for (const Announcement& announcement : run.announcements) {
    any |= announcement.flags;
    all &= announcement.flags;
  }
  if ((any & Announcement::by_descriptor) != 0 && (all & Announcement::fetches) == 0) return false;
  for (std::uint32_t one = 0; one < run.members; ++one) {
    if (!is_first_on_its_gpu(run, one)) continue;
    for (const Announcement& other : run.announcements) {
      if (!run.use.gpu->reaches(one, other.gpu)) return false;
    }
  }
  return true;
}

GpuPath::GpuPath(DirectRun& run, const Announcer& announcer) : run_(run), announcer_(announcer), stage_counts_(run) {
  for (std::uint32_t member = 0; member < run.members; ++member) {
    if (is_first_on_its_gpu(run, member)) executors_.add(member);
  }
}

// What was put into the stream by then may still be done, so the caller's comes after it.
bool GpuPath::fail(const Status& status) {
  (void)release();
  run_.fail(status);
  return true;
}

bool GpuPath::advance(Counters& counters) {
  bool happened = false;
  if (executors_.has(run_.self) && !has_worked_) {
    if (announcer_.someone_has_withdrawn()) return false;
    const auto opened = open_buffers();
    if (!opened.ok()) return fail(opened.status());
    if (!*opened) return false;
    if (Status status = work_for_all(counters); !status.ok()) return fail(status);
    if (executors_.size() > 1) {  // where another one fails, the caller might free what is still worked on
      if (Status status = release(); !status.ok()) return fail(status);
    }
    has_worked_ = happened = true;
    stage_counts_.publish(Stage::parts_done, 1);
    run_.window().wake_others();
  }
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (!has_done_its_part(member)) return happened;
  }
  if (Status status = wait_for_executors(); !status.ok()) return fail(status);
  if (Status status = release(); !status.ok()) run_.fail(status);
  return done_ = true;
}

Status GpuPath::release() {
  return run_.use.gpu->release(run_.binding.device->call);
}

Status GpuPath::wait_for_executors() {
  GpuWindow& window = *run_.use.gpu;
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (member == run_.self || !executors_.has(member)) continue;
    Status status = window.gpu().wait_until(window.stream(), window.done(member), run_.turn);
    if (!status.ok()) return status;
  }
  return {};
}

// ---- an executor's share --------------------------------------------------------------------------------------------

// All memory is opened before anything is put into the stream, as that is what may fail. False: first, something must
// be closed that work before this may still use.
Result<bool> GpuPath::open_buffers() {
  if (!failure_.ok()) return gives_up_.passed() ? Result<bool>(failure_) : Result<bool>(false);
  GpuWindow& window = *run_.use.gpu;
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (member != run_.self) meet_buffers_of(member);
  }
  if (Status status = window.tidy(); !status.ok()) return status;
  waits_for_work_ = window.imports().must_close();
  if (waits_for_work_) return false;
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    Status status = find_buffers_of(member);
    if (status.ok()) continue;
    const Rank rank = run_.window().rank_of(member);
    failure_ =
        Status(Cause{.code = status.code(),
                     .message = fmt::format("device memory of rank {} cannot be opened: {}", rank, status.message()),
                     .peer = rank});
    if (may_be_lost(status)) return false;
    return failure_;
  }
  return true;
}

// Memory that is no more is mostly that of a process that has ended, which its links tell soon, with the right cause.
bool GpuPath::may_be_lost(const Status& status) {
  constexpr std::chrono::milliseconds grace{500};
  if (status.code() != Code::invalid_argument) return false;
  gives_up_ = Deadline::after(grace);
  return waits_for_work_ = true;
}

void GpuPath::meet_buffers_of(std::uint32_t member) {
  for (const bool output : {false, true}) {
    if (bytes_of(member, output) != 0) run_.use.gpu->imports().meet(member, read_export(run_, member, output));
  }
}

Status GpuPath::find_buffers_of(std::uint32_t member) {
  if (member == run_.self) {
    run_.inputs[member] = run_.binding.device->input;
    run_.outputs[member] = run_.binding.device->output;
    return {};
  }
  run_.inputs[member] = run_.outputs[member] = nullptr;
  for (const bool output : {false, true}) {
    if (bytes_of(member, output) == 0) continue;
    const auto found = run_.use.gpu->imports().find(member, read_export(run_, member, output));
    if (!found.ok()) return found.status();
    if (output) {
      run_.outputs[member] = *found;
    } else {
      run_.inputs[member] = *found;
    }
  }
  return {};
}

// A vector is shared out among the GPUs; other parts are done where they come from, or else where they go.
Status GpuPath::work_for_all(Counters& counters) {
  GpuWindow& window = *run_.use.gpu;
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (member == run_.self) continue;
    Status status = window.gpu().wait_until(window.stream(), window.ready(member), run_.turn);
    if (!status.ok()) return status;
  }
  if (run_.exchange.collective().is_vector()) {
    const Part share = run_.exchange.share(executors_.place_of(run_.self), executors_.size());
    if (Status status = move(share, counters); !status.ok()) return status;
  } else {
    for (std::size_t number = 0; number < run_.parts(); ++number) {
      const Part part = run_.part(number);
      const std::uint32_t whose = part.source != everyone ? part.source : part.target;
      if (run_.announcements[whose].gpu != window.identity()) continue;
      if (Status status = move(part, counters); !status.ok()) return status;
    }
  }
  return window.gpu().write(window.stream(), window.done(run_.self), run_.turn);
}

Status GpuPath::move(const Part& part, Counters& counters) {
  if (part.bytes == 0) return {};
  run_.sources.clear();
  run_.targets.clear();
  for (std::uint32_t member = 0; member < run_.members; ++member) {
    if (part.comes_from(member)) run_.sources.push_back(run_.inputs[member] + part.source_offset);
  }
  for (std::uint32_t i = 0; i < run_.members; ++i) {
    const std::uint32_t member = (run_.self + i) % run_.members;  // the own target is the first
    if (!part.goes_to(member)) continue;
    run_.targets.push_back(run_.outputs[member] + part.target_offset);
    if (member != run_.self) counters.bytes_sent += part.bytes;
  }
  counters.steps += 1;
  return run_.exchange.combines() ? combine(part.bytes) : copy(part.bytes);
}

Status GpuPath::combine(std::size_t bytes) {
  const Signature& call = run_.binding.signature;
  const Reduction& reduction = run_.binding.reduction;
  return run_.use.gpu->gpu().reduce(run_.use.gpu->stream(),
                                    {.dtype = call.dtype,
                                     .op = info_of(call.op).combines_as,
                                     .count = bytes / size_of(call),
                                     .divisor = reduction.divide != nullptr ? reduction.divisor : 1,
                                     .round_each = reduction.all == nullptr,
                                     .inputs = run_.sources,
                                     .outputs = run_.targets});
}

// Once to the first target, which may be on another GPU than the source, and from there to the others.
Status GpuPath::copy(std::size_t bytes) {
  const std::byte* const source = run_.sources.front();
  const std::byte* from = source;
  for (std::byte* const target : run_.targets) {
    if (target == source) continue;
    Status status = run_.use.gpu->gpu().copy(run_.use.gpu->stream(), target, from, bytes);
    if (!status.ok()) return status;
    from = run_.targets.front();
  }
  return {};
}

}  // namespace hocket
