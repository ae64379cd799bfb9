#include "src/exec/gpu/gpu_window.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "src/base/foreign_descriptor.hpp"
#include "src/base/hash.hpp"
#include "src/base/log.hpp"
#include "src/exec/direct/control_lines.hpp"

namespace hocket {
namespace {

constexpr std::chrono::seconds window_patience{1};
constexpr std::size_t words_per_control_line = sizeof(ControlLine) / sizeof(std::uint64_t);
constexpr std::size_t reach_words = direct::reach_lines * words_per_control_line;

std::uint64_t identity_hash(const std::string& text) {
  Hash hash;
  for (const char byte : text) hash.add(static_cast<unsigned char>(byte));
  return hash.value();
}

}  // namespace

Result<bool> GpuWindow::open(Window& window, Gpu& gpu) {
  if (!unusable_.ok()) return unusable_;
  if (stream_ != nullptr) return gpu_ == &gpu;
  window_ = &window;
  gpu_ = &gpu;
  identity_ = identity_hash(gpu.identity());
  if (unusable_ = share_words(); !unusable_.ok()) {
    forget_words(gpu);
    return unusable_;
  }
  if (Status status = tell_reach(); !status.ok()) return status;
  fetches_ = window.reads_plain_memory() && may_fetch_descriptors();
  auto latest = gpu.make_event();
  if (!latest.ok()) return latest.status();
  latest_ = std::move(*latest);
  auto stream = gpu.make_stream();
  if (!stream.ok()) return stream.status();
  imports_ = std::make_unique<GpuImports>(gpu);
  stream_ = *stream;
  is_open_ = true;
  return true;
}

GpuWord& GpuWindow::word(std::uint32_t member, std::size_t number) const {
  return window_->control_lines(member)[direct::word_line].words[number];
}

// In own lines, before the first announcement of memory on this GPU. Where there is no room for all, the others count
// as out of reach.
Status GpuWindow::tell_reach() {
  auto reached = gpu_->reaches();
  if (!reached.ok()) return reached.status();
  reached->insert(reached->begin(), gpu_->identity());
  ControlLine* const lines = &window_->control_lines(window_->self())[direct::reach_line];
  for (std::size_t i = 0; i < std::min(reached->size(), reach_words); ++i) {
    lines[i / words_per_control_line].words[i % words_per_control_line].store(identity_hash((*reached)[i]),
                                                                              std::memory_order_relaxed);
  }
  return {};
}

bool GpuWindow::reaches(std::uint32_t member, std::uint64_t identity) const {
  const ControlLine* const lines = &window_->control_lines(member)[direct::reach_line];
  for (std::size_t i = 0; i < reach_words; ++i) {
    if (lines[i / words_per_control_line].words[i % words_per_control_line].load(std::memory_order_relaxed) == identity)
      return true;
  }
  return false;
}

Status GpuWindow::share_words() {
  constexpr std::size_t bytes = Window::lines_per_member * sizeof(ControlLine);
  for (; shared_words_ < window_->size(); ++shared_words_) {
    if (Status status = gpu_->use_words(window_->control_lines(shared_words_), bytes); !status.ok()) return status;
  }
  return {};
}

void GpuWindow::forget_words(Gpu& gpu) {
  while (shared_words_ > 0) (void)gpu.forget_words(window_->control_lines(--shared_words_));
}

Status GpuWindow::tidy() {
  const auto reached = gpu_->reached(*latest_);
  if (!reached.ok()) return reached.status();
  return *reached ? imports_->close_unused() : Status();
}

Status GpuWindow::release(const GpuCall& call) {
  if (Status status = gpu_->record(stream_, *latest_); !status.ok()) return status;
  return call.go_on_after(*latest_);
}

void GpuWindow::let_go() {
  if (stream_ != nullptr) write_all_words();
}

// Devices compare the difference with 0, as a number with a sign.
void GpuWindow::write_all_words() {
  constexpr std::uint64_t after_all = INT64_MAX;
  for (std::uint32_t member = 0; member < window_->size(); ++member) {
    ready(member).store(after_all);
    done(member).store(after_all);
  }
}

void GpuWindow::close() {
  if (gpu_ == nullptr) return;
  is_open_ = false;
  Gpu& gpu = *std::exchange(gpu_, nullptr);
  if (stream_ != nullptr) {
    const GpuStream stream = std::exchange(stream_, nullptr);
    Status done = gpu.finish(stream, Deadline(Deadline::Clock::now()));
    if (!done.ok()) {
      write_all_words();
      done = gpu.finish(stream, Deadline::after(window_patience));
    }
    if (!done.ok()) {
      log::warn("work on " + gpu.name() + " is not done at the end of its communicator: " + done.message());
      (void)imports_.release();
      return;
    }
    imports_.reset();
    (void)gpu.destroy_stream(stream);
  }
  forget_words(gpu);
}

}  // namespace hocket
