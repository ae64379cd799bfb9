// GpuWindow: this member's GPU, as the members of a window use theirs together: a stream of this member's own, the
// words by which the members' streams wait for each other, and the others' memory.
//
// Every member has two words among its control lines. Its stream writes the number of the operation into `ready` when
// its data is there, and into `done` when it has done everyone's work. They are written in this order only, so a stream
// waits until they have come as far. A host that breaks writes the largest number into all of them: no stream goes on
// waiting for a process that has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "src/exec/gpu/gpu_call.hpp"
#include "src/exec/gpu/gpu_imports.hpp"
#include "src/spi/window.hpp"

namespace hocket {

// Thread rule: the thread that progresses, and creation and destruction by one.
class GpuWindow {
 public:
  GpuWindow() = default;
  ~GpuWindow() { close(); }
  GpuWindow(const GpuWindow&) = delete;
  GpuWindow& operator=(const GpuWindow&) = delete;

  // Before anything else, for each operation; the first decides for which GPU it is. False: for another one. Errors are
  // the GPU's; Code::unsupported where its streams cannot use words, and then it stays so.
  Result<bool> open(Window& window, Gpu& gpu);
  // This member's GPU, as the others see it.
  std::uint64_t identity() const { return identity_; }
  // Whether what runs on that of a member, which has announced it, reaches the memory of the GPU with this identity.
  bool reaches(std::uint32_t member, std::uint64_t identity) const;
  // Whether this member can fetch descriptors of all others.
  bool fetches() const { return fetches_; }

  // What follows requires that it is open.
  Gpu& gpu() const { return *gpu_; }
  GpuStream stream() const { return stream_; }
  GpuImports& imports() { return *imports_; }
  GpuWord& ready(std::uint32_t member) const { return word(member, 0); }
  GpuWord& done(std::uint32_t member) const { return word(member, 1); }
  // Closes what is not needed any more, if nothing that was put into the stream before still runs.
  Status tidy();
  // Orders the caller's stream after all that was put into this member's.
  Status release(const GpuCall& call);

  // Any thread: whether it was opened.
  bool is_open() const { return is_open_.load(); }
  // Waits for what is in this member's stream; Code::timeout.
  Status finish(Deadline deadline) { return gpu_->finish(stream_, deadline); }
  // Nobody waits any more: everything is broken.
  void let_go();
  // The same as destruction. What is in the stream by then should be done: otherwise all streams are let go, and what
  // the device may still use is left behind. The window must still be there.
  void close();

 private:
  GpuWord& word(std::uint32_t member, std::size_t number) const;
  Status tell_reach();
  Status share_words();
  void forget_words(Gpu& gpu);
  void write_all_words();

  Window* window_ = nullptr;
  Gpu* gpu_ = nullptr;
  std::uint64_t identity_ = 0;
  GpuStream stream_ = nullptr;
  std::unique_ptr<GpuEvent> latest_;  // the latest that callers' streams wait for
  std::unique_ptr<GpuImports> imports_;
  std::uint32_t shared_words_ = 0;  // of so many members
  bool fetches_ = false;
  Status unusable_;
  std::atomic<bool> is_open_{false};
};

}  // namespace hocket
