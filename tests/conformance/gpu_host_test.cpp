// The double of a GPU passes the suite that a GPU does; then what only the double can do: failures and late work.
#include <csignal>

#include "tests/conformance/gpu_suite.hpp"
#include "tests/support/host_gpu.hpp"

namespace hocket::testing {
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
  const MemoryExport exported = *gpu.export_memory(memory);
  ASSERT_TRUE(gpu.free(memory).ok());
  std::byte* const other = *gpu.allocate(1);  // has the descriptor now
  const pid_t child = ::fork();
  if (child == 0) ::_exit(HostGpu().import_memory(exported).status().code() == Code::invalid_argument ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(gpu.free(other).ok());
}

TEST(HostGpu, AStreamThatWaitsForAProcessThatHasEndedCanBeDestroyed) {
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const UniqueFd in(pipe[0]), out(pipe[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    HostGpu gpu({.delay = std::chrono::seconds(60)});  // it dies before its event is reached
    const auto event = std::move(*gpu.make_event());
    (void)gpu.record(*gpu.make_stream(), *event);
    const GpuHandle handle = *gpu.export_event(*event);
    (void)!::write(out.get(), &handle, sizeof handle);
    ::pause();
  }
  GpuHandle handle;
  ASSERT_EQ(::read(in.get(), &handle, sizeof handle), static_cast<ssize_t>(sizeof handle));
  HostGpu gpu;
  const auto event = std::move(*gpu.import_event(handle));
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(gpu.import_event(handle).ok());
  const GpuStream stream = *gpu.make_stream();
  ASSERT_TRUE(gpu.wait(stream, *event).ok());
  EXPECT_EQ(gpu.finish(stream, Deadline::after(std::chrono::milliseconds(50))).code(), Code::timeout);
  EXPECT_TRUE(gpu.destroy_stream(stream).ok());
}

TEST(HostGpu, AFaultIsWhatTheFunctionReturns) {
  HostGpu gpu({.fault = [](std::string_view function) {
    return function == "make_event" ? Status(Code::out_of_resources, "no events") : Status();
  }});
  EXPECT_EQ(gpu.make_event().status().code(), Code::out_of_resources);
  EXPECT_TRUE(gpu.make_stream().ok());
}

}  // namespace
}  // namespace hocket::testing
