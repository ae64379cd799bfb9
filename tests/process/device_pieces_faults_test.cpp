// Much data of a GPU goes over the host in pieces: what fails, dies or stops while some are on their way, and others
// have been sent already. The GPU is a double in host memory, whose copies can be held back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>

#include "tests/process/support/failure.hpp"
#include "tests/process/support/held_copies.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

constexpr std::size_t faulty_count = four_pieces;

// The copy is refused, or its device says later that it has failed, when the first piece is on its way already.
TEST(DevicePieces, AFailureOfALaterCopyBreaksTheCallOnAllRanks) {
  for (const bool when_put : {true, false}) {
    run_ranks(3, [&](Child& child) {
      ::setenv("HOCKET_TRANSPORT", "tcp", 1);
      std::atomic<bool> armed{false}, failed{false};
      std::atomic<int> put{0};
      BeforeCopy second(1, [&] { failed = !when_put; });
      DeviceRank rank({.fault =
                           [&](std::string_view function) {
                             const bool refused = when_put && armed && function == "copy" && ++put == 2;
                             const bool fails = failed && function == "reached";
                             return refused || fails ? Status(Code::out_of_resources, "the double refuses") : Status();
                           },
                       .before_copy = [&](auto&&...) { second(); }});
      ASSERT_TRUE(rank);
      const hocket_call_options options = rank.options();
      const DeviceBuffer values(rank, Bytes(faulty_count * sizeof(float)));
      rank.finish();
      if (child.index == 1) {
        armed = true;
        second.arm();
      }
      expect_result(hocket_allreduce(values.at(), values.at(), faulty_count, HOCKET_FLOAT32, HOCKET_SUM, rank.comm(),
                                     &options, nullptr),
                    HOCKET_OUT_OF_RESOURCES, when_put ? "refused" : "failed");
      expect_message_names("the double refuses");
      armed = false;
      rank.finish();
      failed = false;
    });
  }
}

// Rank 0's second copy is held back until the call has failed.
TEST(DevicePieces, ADeathInTheMiddleLeavesNoStreamWaiting) {
  ProcessGroup group(2, [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    std::atomic<bool> over{false};
    BeforeCopy held(1, [&] { over.wait(false); });
    DeviceRank rank({.before_copy = [&](auto&&...) { held(); }});
    ASSERT_TRUE(rank);
    hocket_call_options options = patient(rank.options());
    std::function<void()> say = [&] {
      if (child.index == 0) return;
      child.say("has come");
      (void)child.hear();
    };
    options.function = add_and_say;
    options.context = &say;
    const DeviceBuffer values(rank, Bytes(faulty_count * sizeof(float)));
    rank.finish();
    if (child.index == 0) held.arm();
    expect_result(hocket_reduce(values.at(), values.at(), faulty_count, HOCKET_FLOAT32, HOCKET_USER, 1, rank.comm(),
                                &options, nullptr),
                  HOCKET_PEER_LOST);
    EXPECT_EQ(last_cause().peer, 1) << hocket_last_error();
    over = true;
    over.notify_all();
    rank.finish();
  });
  EXPECT_EQ(group.hear(1), "has come");
  group.signal(1, SIGKILL);
  group.expect_success(1);
}

// A rank whose copies stop in the middle is the one that all wait for.
TEST(DevicePieces, CopiesThatStopInTheMiddleEndAtTheDeadlineAndTheOthersNameTheirRank) {
  run_ranks(2, [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    std::atomic<bool> over{false};
    BeforeCopy held(2, [&] { over.wait(false); });
    DeviceRank rank({.before_copy = [&](auto&&...) { held(); }});
    ASSERT_TRUE(rank);
    hocket_call_options options = rank.options();
    options.timeout_ms = 1500;
    const DeviceBuffer values(rank, Bytes(faulty_count * sizeof(float)));
    rank.finish();
    if (child.index == 1) held.arm();
    expect_result(hocket_allreduce(values.at(), values.at(), faulty_count, HOCKET_FLOAT32, HOCKET_SUM, rank.comm(),
                                   &options, nullptr),
                  HOCKET_TIMEOUT);
    EXPECT_THAT(std::string(hocket_last_error()),
                ::testing::AnyOf(::testing::HasSubstr("rank 1"), ::testing::HasSubstr("this rank's own stream")));
    over = true;
    over.notify_all();
  });
}

}  // namespace
}  // namespace hocket::process_testing
