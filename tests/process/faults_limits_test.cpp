// Processes that may do less than others: fewer descriptors, less memory, no shared memory at all. Each call says what
// is missing, or goes on by other means and says so; nothing hangs, and no signal kills anybody.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "src/base/fd.hpp"
#include "tests/process/support/address_space.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/forbid.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

using testing::HasSubstr;

void limit(__rlimit_resource resource, rlim_t value) {
  rlimit both{};
  ASSERT_EQ(::getrlimit(resource, &both), 0);
  both.rlim_cur = std::min(value, both.rlim_max);
  ASSERT_EQ(::setrlimit(resource, &both), 0);
}

// Rank 1 says which resource has run out; the others name rank 1, or what they have heard from it.
void expect_explained(const Child& child, hocket_result result) {
  const std::string said = hocket_last_error();
  if (child.index == 1) {
    // A peer that could not be dialled for want of a descriptor counts as lost, too.
    EXPECT_THAT(result, testing::AnyOf(HOCKET_OUT_OF_RESOURCES, HOCKET_PEER_LOST))
        << hocket_result_name(result) << ": " << said;
    EXPECT_THAT(said, testing::ContainsRegex("descriptor|memory|thread|ulimit"));
  } else {
    EXPECT_THAT(result, testing::AnyOf(HOCKET_OUT_OF_RESOURCES, HOCKET_PEER_LOST, HOCKET_TIMEOUT, HOCKET_ABORTED))
        << hocket_result_name(result) << ": " << said;
    EXPECT_THAT(said, testing::ContainsRegex("rank 1|descriptor|memory|thread|ulimit"));
  }
}

// Works or fails in good order, on all ranks alike.
void create_and_run(Child& child) {
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.timeout_ms = 5'000;
  hocket_comm* comm = nullptr;
  hocket_result result = hocket_comm_create(&comm, &options);
  if (result == HOCKET_OK) {
    Call call({.count = 100'000}, child.index, child.size);
    result = call.issue(comm);
    if (result == HOCKET_OK) call.expect_correct();
  }
  if (result != HOCKET_OK) expect_explained(child, result);
  child.say(hocket_result_name(result));
  hocket_comm_destroy(comm);
}

void expect_order(int size, const std::function<void()>& confine_rank_1) {
  ProcessGroup group(size, [&](Child& child) {
    if (child.index == 1) confine_rank_1();
    child.say("here");
    child.hear();
    create_and_run(child);
  });
  group.hear_from_all("here");  // else the others may have failed, and gone, before one begins
  for (int index = 0; index < size; ++index) group.tell(index, "go on");
  std::vector<bool> worked;
  for (int index = 0; index < size; ++index) worked.push_back(group.hear(index) == "HOCKET_OK");
  EXPECT_THAT(worked, testing::Each(worked.front())) << "all or none";
  group.expect_success();
}

TEST(Limits, FewDescriptors) {
  for (const rlim_t left : {0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 30}) {
    SCOPED_TRACE(std::to_string(left) + " descriptors are left");
    expect_order(3, [&] { limit(RLIMIT_NOFILE, static_cast<rlim_t>(open_descriptors()) + left); });
    if (HasFailure()) return;
  }
}

// Not with sanitizers: their own memory runs into the limit first, which ends the process.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Limits, LittleAddressSpace) {
  for (const rlim_t megabytes : {1, 4, 8, 16, 32, 64, 160}) {
    SCOPED_TRACE(std::to_string(megabytes) + " MiB are left");
    expect_order(3, [&] { limit(RLIMIT_AS, address_space_in_use() + (megabytes << 20)); });
    if (HasFailure()) return;
  }
}
#endif

TEST(Limits, SmallFiles) {
  for (const rlim_t kilobytes : {0, 4, 300, 4000, 8000}) {
    SCOPED_TRACE("files of " + std::to_string(kilobytes) + " KiB");
    expect_order(3, [&] {
      const int nowhere =
          ::open("/dev/null", O_WRONLY | O_CLOEXEC);  // where this is a file, messages are too long for it
      ::dup2(nowhere, STDOUT_FILENO);
      ::dup2(nowhere, STDERR_FILENO);
      limit(RLIMIT_FSIZE, kilobytes << 10);
    });
    if (HasFailure()) return;
  }
}

TEST(Limits, OfFilesAreNamedByMemoryThatIsTooLarge) {
  run_ranks(1, [](Child&) {
    limit(RLIMIT_FSIZE, 1 << 20);
    void* memory = nullptr;
    expect_result(hocket_mem_alloc(&memory, 2 << 20), HOCKET_OUT_OF_RESOURCES);
    expect_message_names("ulimit -f");
    expect_result(hocket_mem_alloc(&memory, 1 << 20), HOCKET_OK);
    hocket_mem_free(memory);
  });
}

// Rank 1 cannot share memory: all go on over TCP.
void expect_tcp_instead(const std::function<bool()>& confine_rank_1, const std::vector<int>& who_warn,
                        const std::string& warning) {
  run_ranks(3, [&](Child& child) {
    if (child.index == 1 && !confine_rank_1()) return std::exit(0);
    testing::internal::CaptureStderr();
    {
      const Comm comm;
      ASSERT_TRUE(comm);
      Call({.count = 100'000}, child.index, child.size).run(comm.get());
    }
    const std::string said = testing::internal::GetCapturedStderr();
    const auto first = said.find(warning);
    if (std::find(who_warn.begin(), who_warn.end(), child.index) == who_warn.end()) return;
    EXPECT_NE(first, std::string::npos) << said;
    EXPECT_EQ(said.find(warning, first + 1), std::string::npos) << "once: " << said;
  });
}

TEST(NoSharedMemory, WhereMemfdsAreForbidden) {
  expect_tcp_instead(
      [] {
        change_system_call(SYS_memfd_create, SECCOMP_RET_ERRNO | EPERM);
        return true;
      },
      {1}, "without transport shm");
}

TEST(NoSharedMemory, BetweenContainers) {
  const bool allowed = [] {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(::unshare(CLONE_NEWUSER) == 0 ? 0 : 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    return status == 0;
  }();
  if (!allowed) GTEST_SKIP() << "no namespaces here";
  expect_tcp_instead([] { return ::unshare(CLONE_NEWUSER) == 0; }, {0, 1, 2}, "another container");
}

// ---- registered memory that goes away

class Registered {
 public:
  Registered(std::size_t bytes, unsigned flags) : fd_(::memfd_create("test", MFD_CLOEXEC | flags)), bytes_(bytes) {
    EXPECT_EQ(::ftruncate(fd_.get(), static_cast<off_t>(bytes)), 0);
    at_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
    EXPECT_EQ(hocket_register(fd_.get(), at_, bytes), HOCKET_OK) << hocket_last_error();
  }
  ~Registered() {
    hocket_unregister(at_);
    ::munmap(at_, bytes_);
  }
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  float* data() const { return static_cast<float*>(at_); }
  bool shrink() const { return ::ftruncate(fd_.get(), 4096) == 0; }

 private:
  UniqueFd fd_;
  std::size_t bytes_;
  void* at_;
};

TEST(RegisteredMemory, CannotShrinkUnderAPeer) {
  run_ranks(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    constexpr std::size_t count = 500'000;
    const Registered memory(count * sizeof(float), MFD_ALLOW_SEALING);
    std::fill_n(memory.data(), count, 1.0F);
    const auto sum = [&] {
      return hocket_allreduce(memory.data(), memory.data(), count, HOCKET_FLOAT32, HOCKET_SUM, comm.get(), nullptr,
                              nullptr);
    };
    expect_result(sum(), HOCKET_OK);
    if (child.index == 0) {
      EXPECT_FALSE(memory.shrink());
    }
    expect_result(sum(), HOCKET_OK);
    EXPECT_EQ(memory.data()[count - 1], 4.0F);
  });
}

// Nobody else touches it, so only its owner suffers when it shrinks.
TEST(RegisteredMemory, ThatCouldShrinkIsUsedAsPlainMemory) {
  run_ranks(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    constexpr std::size_t count = 500'000;
    testing::internal::CaptureStderr();
    const Registered memory(count * sizeof(float), 0);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("MFD_ALLOW_SEALING"));
    std::fill_n(memory.data(), count, 1.0F);
    for (int round = 0; round < 2; ++round) {
      expect_result(hocket_allreduce(memory.data(), memory.data(), count, HOCKET_FLOAT32, HOCKET_SUM, comm.get(),
                                     nullptr, nullptr),
                    HOCKET_OK);
    }
    EXPECT_EQ(memory.data()[count - 1], 4.0F);
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
    if (child.index == 0) {
      EXPECT_TRUE(memory.shrink());
    }
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
  });
}

// A rank frees its buffer when its own part of a call is over, while others may still be at theirs.
TEST(RegisteredMemory, MayBeFreedAsSoonAsTheOwnersCallIsOver) {
  run_ranks(3, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (int round = 0; round < 100; ++round) {
      constexpr std::size_t count = 50'000;
      void* memory = nullptr;
      ASSERT_EQ(hocket_mem_alloc(&memory, count * sizeof(float)), HOCKET_OK) << hocket_last_error();
      auto* const values = static_cast<float*>(memory);
      std::fill_n(values, count, static_cast<float>(child.index + round));
      expect_result(hocket_allreduce(values, values, count, HOCKET_FLOAT32, HOCKET_SUM, comm.get(), nullptr, nullptr),
                    HOCKET_OK);
      EXPECT_EQ(values[count - 1], static_cast<float>(3 + 3 * round));
      hocket_mem_free(memory);
    }
  });
}

}  // namespace
}  // namespace hocket::process_testing
