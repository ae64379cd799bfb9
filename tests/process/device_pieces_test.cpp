// Much data of a GPU goes over the host in pieces: it travels while more of it is still copied in, and comes back while
// more of it still travels. The GPU is a double in host memory, whose copies can be held back.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <ostream>
#include <utility>

#include "tests/process/support/held_copies.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

constexpr std::size_t pieces_count = four_pieces;

// ---- overlap --------------------------------------------------------------------------------------------------------

// Rank 0's second piece is copied when rank 1 has begun to add what came of the first.
TEST(DevicePieces, TheFirstPieceArrivesAtThePeerBeforeTheNextIsCopied) {
  ProcessGroup group(2, [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    BeforeCopy held(1, [&] { EXPECT_EQ(child.hear(), "go on"); });
    DeviceRank rank({.before_copy = [&](auto&&...) { held(); }});
    ASSERT_TRUE(rank);
    hocket_call_options options = patient(rank.options());
    bool said = false;
    std::function<void()> say = [&] {
      if (!std::exchange(said, true)) child.say("has come");
    };
    options.function = add_and_say;
    options.context = &say;
    if (child.index == 0) {
      const DeviceBuffer input(rank, some_elements(DataType::float32, pieces_count, 0));
      rank.finish();
      held.arm();
      say = [] {};
      EXPECT_EQ(hocket_reduce(input.at(), nullptr, pieces_count, HOCKET_FLOAT32, HOCKET_USER, 1, rank.comm(), &options,
                              nullptr),
                HOCKET_OK)
          << hocket_last_error();
    } else {  // on the host, as far as it knows all ranks are
      const Bytes input = some_elements(DataType::float32, pieces_count, 1),
                  other = some_elements(DataType::float32, pieces_count, 0);
      Bytes output(input.size()), expected(input.size());
      EXPECT_EQ(hocket_reduce(input.data(), output.data(), pieces_count, HOCKET_FLOAT32, HOCKET_USER, 1, rank.comm(),
                              &options, nullptr),
                HOCKET_OK)
          << hocket_last_error();
      say = [] {};
      add_and_say(expected.data(), other.data(), input.data(), pieces_count, HOCKET_FLOAT32, &say);
      EXPECT_TRUE(output == expected);
    }
  });
  EXPECT_EQ(group.hear(1), "has come");
  group.tell(0, "go on");
  group.expect_success();
}

// Rank 0's last piece is copied when rank 1 has begun to copy what it has to its device.
TEST(DevicePieces, WhatIsDoneIsCopiedBackBeforeTheRestHasCome) {
  ProcessGroup group(2, [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    BeforeCopy held(child.index == 0 ? 3 : 0, [&] {
      if (child.index == 1) return child.say("goes back");
      EXPECT_EQ(child.hear(), "go on");
    });
    DeviceRank rank({.before_copy = [&](auto&&...) { held(); }});
    ASSERT_TRUE(rank);
    const hocket_call_options options = patient(rank.options());
    const Bytes sent = some_elements(DataType::float32, pieces_count, 0);
    const DeviceBuffer values(rank, child.index == 0 ? sent : Bytes(sent.size()));
    rank.finish();
    held.arm();
    EXPECT_EQ(
        hocket_broadcast(values.at(), values.at(), pieces_count, HOCKET_FLOAT32, 0, rank.comm(), &options, nullptr),
        HOCKET_OK)
        << hocket_last_error();
    EXPECT_TRUE(values.read() == sent);
  });
  EXPECT_EQ(group.hear(1), "goes back");
  group.tell(0, "go on");
  group.expect_success();
}

// ---- results --------------------------------------------------------------------------------------------------------

struct DevicePiecesSetting {
  int ranks;
  bool mixed;
};
void PrintTo(const DevicePiecesSetting& setting, std::ostream* out) {
  *out << setting.ranks << (setting.mixed ? "_mixed" : "");
}

class InPieces : public ::testing::TestWithParam<DevicePiecesSetting> {};

// Slow copies, so that every piece is waited for.
TEST_P(InPieces, EveryCollectiveHasTheBitsOfTheHost) {
  const DevicePiecesSetting setting = GetParam();
  run_ranks(setting.ranks, [&](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    DeviceRank rank({.delay = std::chrono::milliseconds(1)});
    ASSERT_TRUE(rank);
    int number = 0;
    for (const Collective collective :
         {Collective::allreduce, Collective::reduce, Collective::reduce_scatter, Collective::allgather,
          Collective::broadcast, Collective::scatter, Collective::gather, Collective::alltoall, Collective::scan}) {
      // What is in place in one setting is not in the next one.
      const bool in_place = ++number % 2 == (setting.ranks + (setting.mixed ? 1 : 0)) % 2;
      const int variant = 2 * number + (in_place ? 0 : 1);
      const bool by_block = collective == Collective::reduce_scatter || collective == Collective::alltoall;
      DeviceCase what{.collective = collective,
                      .dtype = variant % 3 == 0 ? DataType::bfloat16 : DataType::float32,
                      .op = variant % 4 == 0 && !info_of(collective).is_prefix() ? ReduceOp::avg : ReduceOp::sum,
                      .count = (by_block ? 1'100'001U : 2'200'003U) * (variant % 3 == 0 ? 2 : 1),
                      .root = info_of(collective).has_root() ? variant % child.size : 0,
                      .in_place = in_place};
      if (setting.mixed) {
        what.send_on_device = (child.index + variant) % 3 != 0;
        what.recv_on_device = in_place ? what.send_on_device : (child.index + 2 * variant) % 2 == 0;
      }
      expect_same_as_on_host(rank, what);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(, InPieces,
                         ::testing::Values(DevicePiecesSetting{2, false}, DevicePiecesSetting{3, false},
                                           DevicePiecesSetting{3, true}),
                         ::testing::PrintToStringParamName());

TEST(DevicePieces, MessagesArriveWhole) {
  run_ranks(3, [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    DeviceRank rank({.delay = std::chrono::milliseconds(1)});
    ASSERT_TRUE(rank);
    const hocket_call_options options = rank.options();
    const int to = (child.index + 1) % 3, from = (child.index + 2) % 3;
    const auto message = [&](int sender) {
      return some_elements(DataType::float32, pieces_count, static_cast<std::uint64_t>(sender));
    };
    const DeviceBuffer send(rank, message(child.index)), recv(rank, pieces_count * sizeof(float));
    EXPECT_EQ(hocket_sendrecv(send.at(), pieces_count, to, recv.at(), pieces_count, from, HOCKET_FLOAT32, rank.comm(),
                              &options, nullptr),
              HOCKET_OK)
        << hocket_last_error();
    EXPECT_TRUE(recv.read() == message(from));
  });
}

// The second run's copies in come after the first one's copies back, and its input is the new one.
TEST(DevicePieces, PersistentCallsRunAgain) {
  run_ranks(2, [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    DeviceRank rank({.delay = std::chrono::milliseconds(1)});
    ASSERT_TRUE(rank);
    hocket_call_options options = rank.options();
    options.persistent = 1;
    const DeviceBuffer values(rank, pieces_count * sizeof(float));
    hocket_work* work = nullptr;
    ASSERT_EQ(hocket_allreduce(values.at(), values.at(), pieces_count, HOCKET_FLOAT32, HOCKET_SUM, rank.comm(),
                               &options, &work),
              HOCKET_OK)
        << hocket_last_error();
    for (std::uint64_t turn = 0; turn < 3; ++turn) {
      Bytes expected =
          some_elements(DataType::float32, pieces_count, turn * 2 + static_cast<std::uint64_t>(child.index));
      rank.write(values.at(), expected);
      ASSERT_EQ(hocket_work_run(work), HOCKET_OK) << hocket_last_error();
      ASSERT_EQ(hocket_allreduce(expected.data(), expected.data(), pieces_count, HOCKET_FLOAT32, HOCKET_SUM,
                                 rank.comm(), nullptr, nullptr),
                HOCKET_OK);
      EXPECT_TRUE(values.read() == expected) << "turn " << turn;
    }
    EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
  });
}

// Blocks lie in any order, with gaps, and those of the input overlap; what lies between those of the output stays.
TEST(DevicePieces, BlocksMayVary) {
  run_ranks(2, [](Child& child) {
    ::setenv("HOCKET_TRANSPORT", "tcp", 1);
    DeviceRank rank({.delay = std::chrono::milliseconds(1)});
    ASSERT_TRUE(rank);
    const hocket_call_options options = rank.options();
    const auto own = static_cast<std::size_t>(child.index);
    const std::size_t send_at[] = {1'000'000, 500'000}, recv_at[] = {2'000'005, 1}, counts[] = {1'700'001, 1'700'001};
    const auto input_of = [&](std::size_t of) { return some_elements(DataType::float32, 3'000'000, of); };
    Bytes expected(4'000'000 * 4, std::byte{0xaa});
    for (std::size_t from = 0; from < 2; ++from) {
      const Bytes input = input_of(from);
      const auto begin = input.begin() + static_cast<std::ptrdiff_t>(send_at[own] * 4);
      std::copy(begin, begin + static_cast<std::ptrdiff_t>(counts[own] * 4),
                expected.begin() + static_cast<std::ptrdiff_t>(recv_at[from] * 4));
    }
    const DeviceBuffer send(rank, input_of(own)), recv(rank, Bytes(expected.size(), std::byte{0xaa}));
    EXPECT_EQ(hocket_alltoall_v(send.at(), counts, send_at, recv.at(), counts, recv_at, HOCKET_FLOAT32, rank.comm(),
                                &options, nullptr),
              HOCKET_OK)
        << hocket_last_error();
    EXPECT_TRUE(recv.read() == expected);
  });
}

}  // namespace
}  // namespace hocket::process_testing
