// Calls on device memory follow the caller's stream, and what a GPU refuses is an error of the call. The GPU is a
// double in host memory.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "tests/process/support/device_rank.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/gate.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

TEST(DeviceStreams, WorksAndPersistentCallsFollowTheStream) {
  for (const char* transport : {"shm", "tcp"}) {
    run_ranks(2, [&](Child& child) {
      ::setenv("HOCKET_TRANSPORT", transport, 1);
      DeviceRank rank({.delay = std::chrono::milliseconds(2)});
      ASSERT_TRUE(rank);
      hocket_call_options options = rank.options();
      const std::size_t count = 6000;
      const DeviceBuffer values(rank, count * 4);
      options.persistent = 1;
      hocket_work* persistent = nullptr;
      ASSERT_EQ(hocket_allreduce(values.at(), values.at(), count, HOCKET_FLOAT32, HOCKET_SUM, rank.comm(), &options,
                                 &persistent),
                HOCKET_OK)
          << hocket_last_error();
      options.persistent = 0;
      for (std::uint64_t turn = 0; turn < 4; ++turn) {
        Bytes input = some_elements(DataType::float32, count, turn * 2 + static_cast<std::uint64_t>(child.index));
        rank.write(values.at(), input);  // not done yet when the call is made
        ASSERT_EQ(hocket_allreduce(input.data(), input.data(), count, HOCKET_FLOAT32, HOCKET_SUM, rank.comm(), nullptr,
                                   nullptr),
                  HOCKET_OK);
        if (turn % 2 == 0) {
          ASSERT_EQ(hocket_work_start(persistent), HOCKET_OK) << hocket_last_error();
          ASSERT_EQ(hocket_work_wait(persistent, 0), HOCKET_OK) << hocket_last_error();
        } else {
          hocket_work* work = nullptr;
          ASSERT_EQ(hocket_allreduce(values.at(), values.at(), count, HOCKET_FLOAT32, HOCKET_SUM, rank.comm(), &options,
                                     &work),
                    HOCKET_OK);
          ASSERT_EQ(hocket_work_wait(work, 0), HOCKET_OK) << hocket_last_error();
          EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
        }
        EXPECT_EQ(values.read(), input) << "turn " << turn;
      }
      EXPECT_EQ(hocket_work_release(persistent), HOCKET_OK);
    });
  }
}

TEST(DeviceStreams, SeveralWorksAreUnderWayAtOnce) {
  run_ranks(3, [](Child& child) {
    DeviceRank rank({.delay = std::chrono::microseconds(500)});
    ASSERT_TRUE(rank);
    const hocket_call_options options = rank.options();
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    std::vector<hocket_work*> works;
    const auto input = [&](std::uint64_t number, int of) {
      return some_elements(DataType::int32, 3000, number * 5 + static_cast<std::uint64_t>(of));
    };
    for (std::uint64_t number = 0; number < 12; ++number) {
      buffers.push_back(std::make_unique<DeviceBuffer>(rank, input(number, child.index)));
      hocket_work* work = nullptr;
      ASSERT_EQ(hocket_broadcast(buffers.back()->at(), buffers.back()->at(), 3000, HOCKET_INT32,
                                 static_cast<int>(number % 3), rank.comm(), &options, &work),
                HOCKET_OK)
          << hocket_last_error();
      works.push_back(work);
    }
    for (hocket_work* const work : works) {
      EXPECT_EQ(hocket_work_wait(work, 0), HOCKET_OK) << hocket_last_error();
      EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
    }
    for (std::uint64_t number = 0; number < 12; ++number) {
      EXPECT_EQ(buffers[number]->read(), input(number, static_cast<int>(number % 3))) << number;
    }
  });
}

// A run must not pack its data where the results of the run before are still copied from.
TEST(DeviceStreams, APackedCallMayStartAgainBeforeItsResultsHaveArrived) {
  run_ranks(2, [](Child& child) {
    DeviceRank rank({.delay = std::chrono::milliseconds(5)});
    ASSERT_TRUE(rank);
    hocket_call_options options = rank.options();
    options.persistent = 1;
    constexpr std::size_t count = 100, turns = 4;
    std::vector<std::int32_t> first(count), second(count);  // packed together; the results go to the device
    const DeviceBuffer sums(rank, 2 * count * 4), seen(rank, turns * count * 4);
    const hocket_tensor tensors[] = {{first.data(), sums.at(), count, HOCKET_INT32},
                                     {second.data(), sums.at() + count * 4, count, HOCKET_INT32}};
    hocket_work* work = nullptr;
    ASSERT_EQ(hocket_allreduce_list(tensors, 2, HOCKET_SUM, rank.comm(), &options, &work), HOCKET_OK)
        << hocket_last_error();
    Bytes expected;
    for (std::int32_t turn = 0; turn < static_cast<std::int32_t>(turns); ++turn) {
      std::ranges::fill(second, 10 * turn + child.index);
      ASSERT_EQ(hocket_work_run(work), HOCKET_OK) << hocket_last_error();
      ASSERT_TRUE(rank.gpu()
                      .copy(rank.stream(), seen.at() + static_cast<std::size_t>(turn) * count * 4,
                            sums.at() + count * 4, count * 4)
                      .ok());
      const std::vector<std::int32_t> sum(count, 20 * turn + 1);
      const auto* const bytes = reinterpret_cast<const std::byte*>(sum.data());
      expected.insert(expected.end(), bytes, bytes + count * 4);
    }
    EXPECT_EQ(seen.read(), expected);
    EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
  });
}

TEST(DeviceStreams, AStreamThatDoesNotComeSoFarEndsAtTheDeadlineAndTheOthersNameItsRank) {
  run_ranks(2, [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    DeviceRank rank;
    ASSERT_TRUE(rank);
    Gate gate(rank.gpu());
    hocket_call_options options = rank.options();
    options.timeout_ms = 500;
    const DeviceBuffer values(rank, Bytes(400));
    if (child.index == 1) gate.close_behind(rank.stream());
    expect_result(
        hocket_allreduce(values.at(), values.at(), 100, HOCKET_FLOAT32, HOCKET_SUM, rank.comm(), &options, nullptr),
        HOCKET_TIMEOUT);
    EXPECT_THAT(std::string(hocket_last_error()),
                ::testing::AnyOf(::testing::HasSubstr("rank 1"), ::testing::HasSubstr("this rank's own stream")));
    gate.open();
  });
}

// ---- what is refused ------------------------------------------------------------------------------------------------

TEST(DeviceStreams, WhatTheGpuRefusesIsAnErrorOfTheCallAndTheCommunicatorGoesOn) {
  run_ranks(2, [](Child&) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    std::string refused;
    Code code = Code::unsupported;
    DeviceRank rank({.fault = [&](std::string_view function) {
      return function == refused ? Status(code, "the double refuses " + refused) : Status();
    }});
    ASSERT_TRUE(rank);
    const hocket_call_options options = rank.options();
    const DeviceBuffer values(rank, Bytes(400));
    const auto call = [&] {
      return hocket_allreduce(values.at(), values.at(), 100, HOCKET_FLOAT32, HOCKET_SUM, rank.comm(), &options,
                              nullptr);
    };
    for (const auto& [function, result] :
         {std::pair{"check_stream", Code::unsupported}, std::pair{"make_event", Code::internal},
          std::pair{"make_stream", Code::internal}, std::pair{"allocate_host", Code::out_of_resources},
          std::pair{"record", Code::internal}}) {
      refused = function;
      code = result;
      expect_result(call(), static_cast<hocket_result>(result), function);
      EXPECT_THAT(std::string(hocket_last_error()), ::testing::HasSubstr("the double refuses " + refused));
    }
    refused.clear();
    expect_result(call(), HOCKET_OK);
  });
}

// A graph must not get anything of a call that could not run when the graph does.
TEST(DeviceStreams, WhileTheStreamIsCapturedEveryCallIsRefusedAndAsksNothingElseOfTheGpu) {
  for (const char* transport : {"shm", "tcp"}) {
    run_ranks(2, [&](Child& child) {
      ::setenv("HOCKET_TRANSPORT", transport, 1);
      std::atomic<bool> captured{false};
      std::atomic<int> others{0};
      DeviceRank rank({.fault = [&](std::string_view function) {
        if (!captured) return Status();
        if (function == "check_stream") return Status(Code::unsupported, "the double captures the stream");
        ++others;
        return Status();
      }});
      ASSERT_TRUE(rank);
      const hocket_call_options options = rank.options();
      hocket_call_options persistently = options;
      persistently.persistent = 1;
      const DeviceBuffer values(rank, Bytes(8000)), found(rank, 4000);
      hocket_comm* const comm = rank.comm();
      const hocket_tensor tensors[] = {{values.at(), values.at(), 10, HOCKET_INT32},
                                       {found.at(), found.at(), 10, HOCKET_INT32}};
      const int peer = 1 - child.index;
      std::int32_t source = -1;
      const auto allreduce = [&](const hocket_call_options& with, hocket_work** work) {
        return hocket_allreduce(values.at(), values.at(), 1000, HOCKET_INT32, HOCKET_SUM, comm, &with, work);
      };
      hocket_work* work = nullptr;
      ASSERT_EQ(allreduce(persistently, &work), HOCKET_OK) << hocket_last_error();
      ASSERT_EQ(hocket_work_run(work), HOCKET_OK) << hocket_last_error();
      rank.finish();

      captured = true;
      const auto expect_refused = [&](hocket_result result, const char* what) {
        expect_result(result, HOCKET_UNSUPPORTED, what);
        EXPECT_THAT(std::string(hocket_last_error()), ::testing::HasSubstr("captures the stream")) << what;
      };
      hocket_work* none = nullptr;
      expect_refused(allreduce(options, nullptr), "a call");
      expect_refused(allreduce(options, &none), "a work");
      expect_refused(allreduce(persistently, &none), "a persistent call");
      expect_refused(hocket_work_start(work), "a start");
      expect_refused(hocket_work_run(work), "a run");
      expect_refused(hocket_allreduce_list(tensors, 2, HOCKET_SUM, comm, &options, nullptr), "a list");
      expect_refused(hocket_send(values.at(), 10, HOCKET_INT32, peer, comm, &options, nullptr), "a send");
      expect_refused(hocket_recv(values.at(), 10, HOCKET_INT32, peer, comm, &options, nullptr), "a receive");
      expect_refused(hocket_recv_any(values.at(), 10, HOCKET_INT32, &source, comm, &options, nullptr), "from any");
      expect_refused(
          hocket_sendrecv(values.at(), 10, peer, found.at(), 10, peer, HOCKET_INT32, comm, &options, nullptr), "both");
      ASSERT_EQ(hocket_group_start(), HOCKET_OK);
      expect_refused(allreduce(options, nullptr), "in a group");
      expect_refused(hocket_group_end(nullptr), "a group");
      EXPECT_EQ(others, 0);
      captured = false;

      EXPECT_EQ(hocket_work_run(work), HOCKET_OK) << hocket_last_error();
      EXPECT_EQ(allreduce(options, nullptr), HOCKET_OK) << hocket_last_error();
      EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
    });
  }
}

TEST(DeviceStreams, BuffersOnTwoGpusAreRefusedByName) {
  testing_support::HostGpu first, second({.number = 1});
  testing_support::HostGpus gpus({&first, &second});
  comm::Options options{.gpus = &gpus};
  auto made = comm::Communicator::create(options, capi::registered_memory());
  ASSERT_TRUE(made.ok()) << made.status().message();
  const Comm comm(new hocket_comm{std::move(*made)});
  std::byte *const one = *first.allocate(4), *const other = *second.allocate(4);
  expect_result(hocket_allreduce(one, other, 1, HOCKET_FLOAT32, HOCKET_SUM, comm.get(), nullptr, nullptr),
                HOCKET_UNSUPPORTED);
  expect_message_names("recv lies on GPU 1 (host memory), but other data of the call on GPU 0 (host memory)");
  EXPECT_TRUE(first.free(one).ok());
  EXPECT_TRUE(second.free(other).ok());
}

}  // namespace
}  // namespace hocket::process_testing
