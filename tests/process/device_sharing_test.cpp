// Memory of GPUs that ranks can share with each other or not, and what is left of it. The GPUs are doubles in host
// memory.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <vector>

#include "src/base/foreign_descriptor.hpp"
#include "tests/process/support/device_rank.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/forbid.hpp"
#include "tests/process/support/last_call.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

constexpr const char* device_sharing_direct_gpu = "direct GPU";

// Each turn has new memory, most of it where that of the turn before was.
TEST(SharedDeviceMemory, MemoryThatIsFreedAndTakenAgainIsNotMistaken) {
  run_ranks(3, [](Child&) {
    DeviceRank rank;
    ASSERT_TRUE(rank);
    for (std::size_t turn = 0; turn < 100; ++turn) {
      const DeviceCase what{.dtype = DataType::int32, .count = 1000 + turn % 3 * 5000};
      ASSERT_EQ(expect_same_as_on_host(rank, what), device_sharing_direct_gpu) << turn;
    }
  });
}

// Rank 1 frees memory and gets other memory at its address, while rank 0, which has the old one open, still has work to
// do: it opens the new one only when that is done and the old one closed.
TEST(SharedDeviceMemory, IsNotOpenedWhileOtherMemoryThatWasThereIsOpen) {
  ProcessGroup group(2, [](Child& child) {
    std::atomic<int> looks{-1};  // until rank 0 has looked again whether its work is done; negative: it does not count
    DeviceRank rank({.fault = [&](std::string_view function) {
      if (function == "reached" && looks > 0 && --looks == 0) child.say("looks");
      return Status();
    }});
    ASSERT_TRUE(rank);
    const hocket_call_options options = rank.options();
    const auto sum = [&](std::byte* at) {
      return hocket_allreduce(at, at, 1000, HOCKET_INT32, HOCKET_SUM, rank.comm(), &options, nullptr);
    };
    alignas(4096) std::byte words[4096] = {};
    GpuWord& gate = *reinterpret_cast<GpuWord*>(words);
    ASSERT_TRUE(rank.gpu().use_words(words, sizeof words).ok());
    {
      const DeviceBuffer other(rank, Bytes(4000));
      std::byte* memory = *rank.gpu().allocate(4000);
      rank.write(memory, Bytes(4000));
      ASSERT_EQ(sum(memory), HOCKET_OK) << hocket_last_error();
      rank.finish();
      if (child.index == 1) {
        ASSERT_TRUE(rank.gpu().wait_until(rank.stream(), gate, 1).ok());
      }
      ASSERT_EQ(sum(other.at()), HOCKET_OK) << hocket_last_error();  // its work waits for the gate
      if (child.index == 1) {
        const std::byte* const before = memory;
        ASSERT_TRUE(rank.gpu().free(memory).ok());
        memory = *rank.gpu().allocate(4000);
        ASSERT_EQ(memory, before) << "this test needs an address that comes again";
      } else {
        looks = 3;
      }
      hocket_work* work = nullptr;
      ASSERT_EQ(hocket_allreduce(memory, memory, 1000, HOCKET_INT32, HOCKET_SUM, rank.comm(), &options, &work),
                HOCKET_OK)
          << hocket_last_error();
      if (child.index == 1) {
        EXPECT_EQ(child.hear(), "open the gate");
        gate = 1;
      }
      EXPECT_EQ(hocket_work_wait(work, 0), HOCKET_OK) << hocket_last_error();
      EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
      rank.finish();
      EXPECT_TRUE(rank.gpu().free(memory).ok());
    }
    EXPECT_TRUE(rank.gpu().forget_words(words).ok());
  });
  EXPECT_EQ(group.hear(0), "looks");
  group.tell(1, "open the gate");
  group.expect_success();
}

// Memory that one rank cannot share, or that is not aligned: all bring their data to the host.
TEST(SharedDeviceMemory, WhereOneRankCannotShareItsMemoryAllGoOverTheHost) {
  run_ranks(3, [](Child& child) {
    bool refuses = false;
    DeviceRank rank({.delay = std::chrono::microseconds(200), .fault = [&](std::string_view function) {
                       return refuses && function == "export_memory" ? Status(Code::unsupported, "no") : Status();
                     }});
    ASSERT_TRUE(rank);
    const DeviceCase what{.collective = Collective::allgather, .count = 9000};
    EXPECT_EQ(expect_same_as_on_host(rank, what), device_sharing_direct_gpu);
    refuses = child.index == 1;
    EXPECT_EQ(expect_same_as_on_host(rank, what), "direct staged");
    refuses = false;
    EXPECT_EQ(expect_same_as_on_host(rank, what), device_sharing_direct_gpu);
  });
}

// Memory that its owner has mapped itself is opened by descriptors, which all must be able to fetch.
TEST(SharedDeviceMemory, MappedMemoryIsSharedByDescriptors) {
  if (!may_fetch_descriptors()) GTEST_SKIP() << "this sandbox does not allow it";
  for (const bool all_fetch : {true, false}) {
    run_ranks(3, [&](Child& child) {
      if (!all_fetch && child.index == 1) change_system_call(SYS_pidfd_getfd, SECCOMP_RET_ERRNO | EPERM);
      DeviceRank rank({.delay = std::chrono::microseconds(100)});
      ASSERT_TRUE(rank);
      constexpr std::size_t count = 9000;
      const hocket_call_options options = rank.options();
      for (int turn = 0; turn < 3; ++turn) {
        Bytes expected = some_elements(DataType::int32, count, static_cast<std::uint64_t>(turn * 3 + child.index));
        std::byte* const memory = *rank.gpu().allocate_mapped(count * 4);
        rank.write(memory, expected);
        ASSERT_EQ(hocket_allreduce(expected.data(), expected.data(), count, HOCKET_INT32, HOCKET_SUM, rank.comm(),
                                   nullptr, nullptr),
                  HOCKET_OK);
        ASSERT_EQ(hocket_allreduce(memory, memory, count, HOCKET_INT32, HOCKET_SUM, rank.comm(), &options, nullptr),
                  HOCKET_OK)
            << hocket_last_error();
        EXPECT_EQ(algorithm_of_last_call(), all_fetch ? device_sharing_direct_gpu : "direct staged");
        EXPECT_EQ(rank.read(memory, count * 4), expected);
        EXPECT_TRUE(rank.gpu().free(memory).ok());
      }
    });
  }
}

// A message takes the pinned memory of a call that is over, and nothing more, though the call's operation is kept.
TEST(SharedDeviceMemory, WhatACallOverTheHostTookServesTheNext) {
  run_ranks(2, [](Child& child) {
    DeviceRank rank({.fault = [](std::string_view function) {
      return function == "export_memory" ? Status(Code::unsupported, "no") : Status();
    }});
    ASSERT_TRUE(rank);
    const hocket_call_options options = rank.options();
    const DeviceBuffer values(rank, Bytes(40'000));
    ASSERT_EQ(
        hocket_allreduce(values.at(), values.at(), 10'000, HOCKET_INT32, HOCKET_SUM, rank.comm(), &options, nullptr),
        HOCKET_OK)
        << hocket_last_error();
    rank.finish();
    const std::size_t held = rank.gpu().held();
    ASSERT_EQ(child.index == 0 ? hocket_send(values.at(), 100, HOCKET_INT32, 1, rank.comm(), &options, nullptr)
                               : hocket_recv(values.at(), 100, HOCKET_INT32, 0, rank.comm(), &options, nullptr),
              HOCKET_OK)
        << hocket_last_error();
    EXPECT_EQ(rank.gpu().held(), held);
  });
}

// One of three does not reach another, which reaches it: all bring their data to the host.
TEST(SharedDeviceMemory, WhereOneGpuDoesNotReachAnotherAllGoOverTheHost) {
  run_ranks(3, [](Child& child) {
    const std::vector<int> reaches[] = {{1, 2}, {0}, {0, 1}};
    DeviceRank rank({.number = child.index, .reaches = reaches[child.index]});
    ASSERT_TRUE(rank);
    const DeviceCase what{.collective = Collective::allgather, .count = 9000};
    EXPECT_EQ(expect_same_as_on_host(rank, what), "direct staged");
    EXPECT_EQ(expect_same_as_on_host(rank, {.dtype = DataType::int32, .count = 40'000}), "direct staged");
  });
}

}  // namespace
}  // namespace hocket::process_testing
