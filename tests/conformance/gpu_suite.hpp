// What every implementation of the seam over a GPU (src/spi/gpu.hpp) must do. A Maker has
//   Result<std::unique_ptr<Gpu>> make();   // an unsupported one skips the tests
// Processes cannot go on with a real GPU after fork(), so peers are forked before a test opens one itself, and each
// test needs a process of its own, as ctest gives those of Cuda/.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/gpu.hpp"
#include "tests/conformance/gpu_test_parts.hpp"

namespace hocket::testing_support {

template <class Maker>
class GpuSuite : public ::testing::Test {
 protected:
  using Numbers = std::vector<float>;
  static constexpr std::size_t count = 100'003;
  static constexpr std::size_t bytes = count * sizeof(float);
  static constexpr auto patience = std::chrono::seconds(30);

  // A process with a GPU of its own that calls role(gpu, pipe); it ends when that returns. Call it before open().
  void start_peer(const std::function<void(Gpu&, GpuTestPipe&)>& role) {
    int down[2], up[2];
    ASSERT_EQ(::pipe(down), 0);
    ASSERT_EQ(::pipe(up), 0);
    child_ = ::fork();
    ASSERT_GE(child_, 0);
    if (child_ == 0) {
      ::close(down[1]);
      ::close(up[0]);
      GpuTestPipe pipe{UniqueFd(down[0]), UniqueFd(up[1])};
      auto gpu = Maker().make();
      if (gpu.ok()) role(**gpu, pipe);
      ::_exit(HasFailure() ? 1 : 0);
    }
    ::close(down[0]);
    ::close(up[1]);
    pipe_ = std::make_unique<GpuTestPipe>(UniqueFd(up[0]), UniqueFd(down[1]));
  }
  void expect_peer_is_well() {
    int status = 0;
    ASSERT_EQ(::waitpid(child_, &status, 0), child_);
    child_ = -1;
    EXPECT_EQ(status, 0);
  }
  // False where there is none; the test has been skipped then.
  bool open() {
    auto made = Maker().make();
    if (made.ok()) {
      gpu_ = std::move(*made);
      stream_ = *gpu_->make_stream();
      return true;
    }
    EXPECT_EQ(made.status().code(), Code::unsupported) << made.status().message();
    skip(made.status().message());
    return false;
  }
  void TearDown() override {
    if (stream_ != nullptr) expect_ok(gpu_->destroy_stream(stream_));
    pipe_.reset();
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
  }

  static Numbers numbers(float first) {
    Numbers made(count);
    std::iota(made.begin(), made.end(), first);
    return made;
  }
  static std::byte* of(Numbers& values) { return reinterpret_cast<std::byte*>(values.data()); }
  static void expect_ok(const Status& status) { ASSERT_TRUE(status.ok()) << status.message(); }
  static std::byte* allocate(Gpu& gpu) {
    auto memory = gpu.allocate(bytes);
    expect_ok(memory.status());
    return memory.ok() ? *memory : nullptr;
  }
  static void fill(Gpu& gpu, GpuStream stream, std::byte* to, Numbers& with) {
    expect_ok(gpu.copy(stream, to, of(with), bytes));
  }
  static Numbers read(Gpu& gpu, GpuStream stream, const std::byte* from) {
    Numbers values(count);
    expect_ok(gpu.copy(stream, of(values), from, bytes));
    expect_ok(gpu.finish(stream, Deadline::after(patience)));
    return values;
  }

  std::unique_ptr<Gpu> gpu_;
  GpuStream stream_ = nullptr;
  std::unique_ptr<GpuTestPipe> pipe_;

 private:
  static void skip(const std::string& why) { GTEST_SKIP() << why; }

  pid_t child_ = -1;
};

TYPED_TEST_SUITE_P(GpuSuite);

TYPED_TEST_P(GpuSuite, AStreamKeepsItsOrder) {
  if (!this->open()) return;
  auto first = this->numbers(1), second = this->numbers(2);
  std::byte* const memory = this->allocate(*this->gpu_);
  this->fill(*this->gpu_, this->stream_, memory, first);
  this->fill(*this->gpu_, this->stream_, memory, second);
  EXPECT_EQ(this->read(*this->gpu_, this->stream_, memory), second);
  this->expect_ok(this->gpu_->free(memory));
}

TYPED_TEST_P(GpuSuite, AnEventOrdersTwoStreams) {
  if (!this->open()) return;
  Gpu& gpu = *this->gpu_;
  const GpuStream other = *gpu.make_stream();
  auto event = gpu.make_event();
  this->expect_ok(event.status());
  auto values = this->numbers(5);
  std::byte* const memory = this->allocate(gpu);
  this->expect_ok(gpu.wait(other, **event));  // never recorded: nobody waits
  this->fill(gpu, this->stream_, memory, values);
  this->expect_ok(gpu.record(this->stream_, **event));
  this->expect_ok(gpu.wait(other, **event));
  EXPECT_EQ(this->read(gpu, other, memory), values);
  this->expect_ok(gpu.destroy_stream(other));
  this->expect_ok(gpu.free(memory));
}

TYPED_TEST_P(GpuSuite, OneReductionReadsAllInputsAndWritesAllOutputs) {
  if (!this->open()) return;
  Gpu& gpu = *this->gpu_;
  std::vector<std::byte*> memory;
  for (int i = 0; i < 4; ++i) {
    memory.push_back(this->allocate(gpu));
    auto values = this->numbers(static_cast<float>(i));
    this->fill(gpu, this->stream_, memory.back(), values);
    this->expect_ok(gpu.finish(this->stream_, Deadline::after(this->patience)));
  }
  const std::vector<const std::byte*> inputs(memory.begin(), memory.end());
  this->expect_ok(gpu.reduce(
      this->stream_,
      {.dtype = DataType::float32, .op = ReduceOp::max, .count = this->count, .inputs = inputs, .outputs = memory}));
  for (std::byte* const at : memory) EXPECT_EQ(this->read(gpu, this->stream_, at), this->numbers(3));
  for (std::byte* const at : memory) this->expect_ok(gpu.free(at));
}

TYPED_TEST_P(GpuSuite, WhatCannotBeReducedIsRefused) {
  if (!this->open()) return;
  std::byte* const memory = this->allocate(*this->gpu_);
  const std::vector<const std::byte*> inputs{memory, memory};
  const std::vector<std::byte*> outputs{memory};
  for (const ReduceOp op : {ReduceOp::band, ReduceOp::avg, ReduceOp::user, ReduceOp::minloc}) {
    const Status status = this->gpu_->reduce(
        this->stream_,
        {.dtype = DataType::float32, .op = op, .count = this->count, .inputs = inputs, .outputs = outputs});
    EXPECT_EQ(status.code(), Code::invalid_argument) << name_of(op);
  }
  this->expect_ok(this->gpu_->free(memory));
}

TYPED_TEST_P(GpuSuite, MoreMemoryThanThereIsIsRefused) {
  if (!this->open()) return;
  EXPECT_EQ(this->gpu_->allocate(std::size_t{1} << 46).status().code(), Code::out_of_resources);
  std::byte* const memory = this->allocate(*this->gpu_);
  this->expect_ok(this->gpu_->free(memory));
}

TYPED_TEST_P(GpuSuite, AnEventTellsTheHostHowFarAStreamHasCome) {
  if (!this->open()) return;
  Gpu& gpu = *this->gpu_;
  auto event = gpu.make_event();
  this->expect_ok(event.status());
  EXPECT_TRUE(*gpu.reached(**event)) << "nothing was ever recorded";
  const GpuTestWords words;
  this->expect_ok(gpu.use_words(words.memory(), words.bytes));
  this->expect_ok(gpu.wait_until(this->stream_, words.word(0), 1));
  this->expect_ok(gpu.record(this->stream_, **event));
  EXPECT_FALSE(*gpu.reached(**event)) << "the stream waits for a word that nobody has written";
  words.word(0) = 1;
  this->expect_ok(gpu.finish(this->stream_, Deadline::after(this->patience)));
  EXPECT_TRUE(*gpu.reached(**event));
  this->expect_ok(gpu.forget_words(words.memory()));
}

TYPED_TEST_P(GpuSuite, PinnedMemoryIsCopiedToAndFrom) {
  if (!this->open()) return;
  Gpu& gpu = *this->gpu_;
  auto pinned = gpu.allocate_host(this->bytes);
  this->expect_ok(pinned.status());
  auto values = this->numbers(3);
  std::memcpy(*pinned, values.data(), this->bytes);
  std::byte* const memory = this->allocate(gpu);
  this->expect_ok(gpu.check_stream(this->stream_));
  this->expect_ok(gpu.copy(this->stream_, memory, *pinned, this->bytes));
  EXPECT_EQ(this->read(gpu, this->stream_, memory), values);
  this->expect_ok(gpu.free_host(*pinned));
  this->expect_ok(gpu.free(memory));
}

TYPED_TEST_P(GpuSuite, MemoryAndWordsCrossProcesses) {
  // The peer writes into the test's memory, behind a word that the test's stream writes, and writes one of its own.
  const GpuTestWords words;
  GpuWord &ready = words.word(0), &done = words.word(1);
  this->start_peer([&](Gpu& gpu, GpuTestPipe& pipe) {
    const GpuStream stream = *gpu.make_stream();
    this->expect_ok(gpu.use_words(words.memory(), words.bytes));
    const auto memory = pipe.template take<MemoryExport>();
    const auto imported = gpu.import_memory(memory);
    this->expect_ok(imported.status());
    std::byte* const at = *imported + memory.offset;
    this->expect_ok(gpu.wait_until(stream, ready, 7));
    const std::vector<const std::byte*> inputs{at, at};
    const std::vector<std::byte*> outputs{at};
    this->expect_ok(gpu.reduce(
        stream,
        {.dtype = DataType::float32, .op = ReduceOp::sum, .count = this->count, .inputs = inputs, .outputs = outputs}));
    this->expect_ok(gpu.write(stream, done, 9));
    pipe.put(0);
    (void)pipe.template take<int>();
    this->expect_ok(gpu.finish(stream, Deadline::after(this->patience)));
    this->expect_ok(gpu.close_import(*imported));
    this->expect_ok(gpu.forget_words(words.memory()));
    this->expect_ok(gpu.destroy_stream(stream));
  });
  if (!this->open()) return;
  Gpu& gpu = *this->gpu_;
  this->expect_ok(gpu.use_words(words.memory(), words.bytes));
  constexpr std::size_t offset = 512;
  auto memory = gpu.allocate(this->bytes + offset);
  this->expect_ok(memory.status());
  auto values = this->numbers(1);
  this->fill(gpu, this->stream_, *memory + offset, values);
  this->expect_ok(gpu.write(this->stream_, ready, 7));
  const auto exported = gpu.export_memory(*memory + offset, this->bytes);
  this->expect_ok(exported.status());
  EXPECT_EQ(exported->offset, offset);
  EXPECT_EQ(exported->allocation_at, reinterpret_cast<std::uintptr_t>(*memory));
  this->pipe_->put(*exported);
  (void)this->pipe_->template take<int>();
  this->expect_ok(gpu.wait_until(this->stream_, done, 9));
  auto doubled = values;  // the copy may still read the values themselves
  for (float& value : doubled) value += value;
  EXPECT_EQ(this->read(gpu, this->stream_, *memory + offset), doubled);
  this->pipe_->put(0);
  this->expect_peer_is_well();
  this->expect_ok(gpu.forget_words(words.memory()));
  this->expect_ok(gpu.free(*memory));
}

TYPED_TEST_P(GpuSuite, AHostLetsGoAStreamThatWaitsForAProcessThatHasEnded) {
  const GpuTestWords words;
  this->start_peer([](Gpu&, GpuTestPipe&) {});  // which was to write the word
  if (!this->open()) return;
  this->expect_peer_is_well();
  this->expect_ok(this->gpu_->use_words(words.memory(), words.bytes));
  this->expect_ok(this->gpu_->wait_until(this->stream_, words.word(0), 1));
  EXPECT_EQ(this->gpu_->finish(this->stream_, Deadline::after(std::chrono::milliseconds(50))).code(), Code::timeout);
  words.word(0) = INT64_MAX;
  this->expect_ok(this->gpu_->finish(this->stream_, Deadline::after(this->patience)));
  this->expect_ok(this->gpu_->forget_words(words.memory()));
}

TYPED_TEST_P(GpuSuite, MemoryOfAProcessThatHasEndedIsRefused) {
  this->start_peer(
      [this](Gpu& gpu, GpuTestPipe& pipe) { pipe.put(*gpu.export_memory(this->allocate(gpu), this->bytes)); });
  if (!this->open()) return;
  const auto memory = this->pipe_->template take<MemoryExport>();
  this->expect_peer_is_well();
  EXPECT_FALSE(this->gpu_->import_memory(memory).ok());
}

TYPED_TEST_P(GpuSuite, AnAddressThatIsUsedAgainIsAnotherAllocation) {
  if (!this->open()) return;
  std::byte* memory = this->allocate(*this->gpu_);
  const auto before = this->gpu_->export_memory(memory, this->bytes);
  this->expect_ok(this->gpu_->free(memory));
  memory = this->allocate(*this->gpu_);
  const auto after = this->gpu_->export_memory(memory, this->bytes);
  EXPECT_NE(before->allocation, after->allocation);
  this->expect_ok(this->gpu_->free(memory));
}

REGISTER_TYPED_TEST_SUITE_P(GpuSuite, AStreamKeepsItsOrder, AnEventOrdersTwoStreams,
                            OneReductionReadsAllInputsAndWritesAllOutputs, WhatCannotBeReducedIsRefused,
                            MoreMemoryThanThereIsIsRefused, AnEventTellsTheHostHowFarAStreamHasCome,
                            PinnedMemoryIsCopiedToAndFrom, MemoryAndWordsCrossProcesses,
                            AHostLetsGoAStreamThatWaitsForAProcessThatHasEnded, MemoryOfAProcessThatHasEndedIsRefused,
                            AnAddressThatIsUsedAgainIsAnotherAllocation);

}  // namespace hocket::testing_support
