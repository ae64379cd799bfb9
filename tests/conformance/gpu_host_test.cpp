// The double of a GPU passes the suite that a GPU does; then what only the double can do: failures and late work.
#include <csignal>

#include "tests/conformance/gpu_suite.hpp"
#include "tests/support/host_gpu.hpp"

namespace hocket::testing_support {
namespace {

struct HostMaker {
  static Result<std::unique_ptr<Gpu>> make() { return std::unique_ptr<Gpu>(std::make_unique<HostGpu>()); }
};
struct SlowHostMaker {
  static Result<std::unique_ptr<Gpu>> make() {
    return std::unique_ptr<Gpu>(std::make_unique<HostGpu>(HostGpuOptions{.delay = std::chrono::milliseconds(5)}));
  }
};

INSTANTIATE_TYPED_TEST_SUITE_P(Host, GpuSuite, HostMaker);
INSTANTIATE_TYPED_TEST_SUITE_P(SlowHost, GpuSuite, SlowHostMaker);

TEST(HostGpu, MemoryThatWasFreedIsNotFoundByLateImporters) {
  HostGpu gpu;
  std::byte* const memory = *gpu.allocate(1);
  const MemoryExport exported = *gpu.export_memory(memory, 1);
  ASSERT_TRUE(gpu.free(memory).ok());
  std::byte* const other = *gpu.allocate(1);  // has the descriptor now
  const pid_t child = ::fork();
  if (child == 0) ::_exit(HostGpu().import_memory(exported).status().code() == Code::invalid_argument ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(gpu.free(other).ok());
}

TEST(HostGpu, AStreamThatWaitsForAWordThatNobodyWritesCanBeDestroyed) {
  const GpuTestWords words;
  HostGpu gpu;
  ASSERT_TRUE(gpu.use_words(words.memory(), words.bytes).ok());
  const GpuStream stream = *gpu.make_stream();
  ASSERT_TRUE(gpu.wait_until(stream, words.word(0), 1).ok());
  EXPECT_EQ(gpu.finish(stream, Deadline::after(std::chrono::milliseconds(50))).code(), Code::timeout);
  EXPECT_TRUE(gpu.destroy_stream(stream).ok());
}

TEST(HostGpu, AHostThatTouchesDeviceMemoryEnds) {
  const pid_t child = ::fork();
  if (child == 0) {
    HostGpu gpu;
    **gpu.allocate(1) = std::byte{1};
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_NE(status, 0);
}

TEST(HostGpu, AllDoublesOfAProcessKnowTheirMemory) {
  HostGpu first, second({.number = 1});
  HostGpus gpus({&first, &second});
  std::byte* const memory = *second.allocate(100);
  EXPECT_EQ(*gpus.gpu_at(memory + 99), &second);
  EXPECT_EQ(*gpus.gpu_at(&gpus), nullptr);
  EXPECT_EQ(second.held(), 1U);
  EXPECT_TRUE(second.free(memory).ok());
  EXPECT_EQ(second.held(), 0U);
}

TEST(HostGpu, OpensMemoryOfGpusThatItReaches) {
  HostGpu gpu({.number = 1});
  std::byte* const memory = *gpu.allocate(1);
  const MemoryExport exported = *gpu.export_memory(memory, 1);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool same = HostGpu({.number = 1}).import_memory(exported).ok();
    const bool reached = HostGpu({.reaches = {1}}).import_memory(exported).ok();
    ::_exit(same && reached && !HostGpu({.reaches = {2}}).import_memory(exported).ok() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(gpu.free(memory).ok());
}

TEST(HostGpu, MappedMemoryIsOpenedByADescriptor) {
  HostGpu gpu;
  std::byte* const memory = *gpu.allocate_mapped(100);
  const auto exported = gpu.export_memory(memory + 10, 90);
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  EXPECT_TRUE(exported->by_descriptor);
  EXPECT_FALSE(gpu.export_memory(memory + 10, 91).ok()) << "it ends outside";
  EXPECT_TRUE(gpu.free(memory).ok());
}

TEST(HostGpu, AFaultIsWhatTheFunctionReturns) {
  HostGpu gpu({.fault = [](std::string_view function) {
    return function == "make_event" ? Status(Code::out_of_resources, "no events") : Status();
  }});
  EXPECT_EQ(gpu.make_event().status().code(), Code::out_of_resources);
  EXPECT_TRUE(gpu.make_stream().ok());
}

}  // namespace
}  // namespace hocket::testing_support
