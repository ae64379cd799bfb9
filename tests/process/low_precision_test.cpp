// Lower precision on the wire: results are those of the format's rules to the bit, on every rank, whatever the count,
// placement, alignment and company; errors stay within the bounds that docs/reference/lower-precision.md states.
#include <gtest/gtest.h>

#include <string>

#include "hocket/hocket.hpp"
#include "src/exec/encode.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/last_call.hpp"
#include "tests/process/support/lossy_call.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

constexpr WireFormat formats[] = {WireFormat::bfloat16, WireFormat::int8_blocks};
constexpr Collective encoded_collectives[] = {Collective::allreduce, Collective::reduce_scatter, Collective::allgather};

hocket_comm_options over_tcp() {
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.transport = "tcp";
  return options;
}

class LowPrecision : public testing::TestWithParam<Ranks> {};

TEST_P(LowPrecision, GivesTheBitsOfItsRulesWithinItsBound) {
  run_ranks(GetParam(), [](Child& child) {
    const hocket_comm_options options = over_tcp();
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    const auto size = static_cast<std::size_t>(child.size);
    for (const Collective collective : encoded_collectives) {
      for (const WireFormat wire : formats) {
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, size - 1, std::size_t{63}, std::size_t{64},
                                        std::size_t{65}, 64 * size, 64 * size + 1, std::size_t{10'007}}) {
          for (const bool in_place : {false, true}) {
            const std::size_t misalignment = count % 3 == 0 ? 0 : 4 * (count % 16) + (in_place ? 0 : 1);
            LossyCall({collective, wire, count, in_place, misalignment}, child.index, child.size).run(comm.get());
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, LowPrecision, testing::Values(2, 3, 4, 5, 7, 8), testing::PrintToStringParamName());

// Several ranks on a host: what stays on it is exact, and what leaves it is rounded once.
class LowPrecisionHosts : public testing::TestWithParam<Ranks> {};

TEST_P(LowPrecisionHosts, RoundWhatLeavesThemOnce) {
  run_ranks(GetParam(), [hosts = GetParam().hosts](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.algorithm = "encoded_two_level";  // by itself only from some size on
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    const std::size_t by_itself = 100'003;
    for (const Collective collective : encoded_collectives) {
      for (const WireFormat wire : formats) {
        for (const std::size_t count :
             {std::size_t{0}, std::size_t{1}, std::size_t{65}, std::size_t{10'007}, by_itself}) {
          LossyCall({collective, wire, count, count % 2 == 1, 4 * (count % 16)}, child.index, child.size, hosts)
              .run(comm.get());
          EXPECT_EQ(wire_of_last_call(), name_of(wire));
          if (testing::Test::HasFailure()) return;
        }
      }
    }
    const Comm usual;
    ASSERT_TRUE(usual);
    LossyCall({.count = by_itself}, child.index, child.size, hosts).run(usual.get());
    EXPECT_EQ(algorithm_of_last_call(), "encoded_two_level");
  });
}

INSTANTIATE_TEST_SUITE_P(Of, LowPrecisionHosts,
                         testing::Values(Ranks("001"), Ranks("0101"), Ranks("00011"), Ranks("0110012")),
                         testing::PrintToStringParamName());

// Several slices, in groups, the last of them shorter.
TEST(LowPrecisionCalls, OfManySlicesGiveTheSameBits) {
  run_ranks(3, [](Child& child) {
    const hocket_comm_options options = over_tcp();
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    for (const Collective collective : encoded_collectives) {
      for (const WireFormat wire : formats) {
        const bool in_place = wire == WireFormat::bfloat16;
        const std::size_t count = collective == Collective::allreduce ? 1'300'003 : 400'003;
        LossyCall({collective, wire, count, in_place, 4}, child.index, child.size).run(comm.get());
        if (testing::Test::HasFailure()) return;
      }
    }
  });
}

TEST(LowPrecisionCalls, RunAsynchronouslyAmongExactOnes) {
  run_ranks(4, [](Child& child) {
    const hocket_comm_options options = over_tcp();
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    std::vector<Call> exact;
    std::vector<LossyCall> lossy;
    std::vector<hocket_work*> works;
    constexpr std::size_t rounds = 12;
    exact.reserve(rounds);
    lossy.reserve(rounds);
    for (std::size_t round = 0; round < rounds; ++round) {
      lossy.emplace_back(
          Lossy{encoded_collectives[round % 3], formats[round / 3 % 2], 1 + 5003 * round, round % 2 == 0}, child.index,
          child.size);
      ASSERT_EQ(lossy.back().issue(comm.get(), &works.emplace_back()), HOCKET_OK) << hocket_last_error();
      exact.emplace_back(Case{.collective = encoded_collectives[round / 2 % 3], .count = 900 * round, .salt = round},
                         child.index, child.size);
      ASSERT_EQ(exact.back().issue(comm.get(), &works.emplace_back()), HOCKET_OK) << hocket_last_error();
    }
    for (hocket_work* work : works) {
      EXPECT_EQ(hocket_work_wait(work, 0), HOCKET_OK) << hocket_last_error();
      EXPECT_EQ(hocket_work_release(work), HOCKET_OK);
    }
    for (const LossyCall& call : lossy) call.expect_bits();
    for (const Call& call : exact) call.expect_correct();
  });
}

// ---- where the option shows

TEST(LowPrecisionCalls, SayHowTheirDataTravelled) {
  run_ranks(2, [](Child& child) {
    const hocket_comm_options options = over_tcp();
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    LossyCall({.wire = WireFormat::int8_blocks, .count = 100}, child.index, child.size).run(comm.get());
    EXPECT_EQ(wire_of_last_call(), "int8");
    LossyCall({.wire = WireFormat::bfloat16, .count = 100}, child.index, child.size).run(comm.get());
    EXPECT_EQ(wire_of_last_call(), "bfloat16");
    Call({.count = 100}, child.index, child.size).run(comm.get());
    EXPECT_EQ(wire_of_last_call(), "exact");
  });
}

TEST(LowPrecisionCalls, SendFewerBytes) {
  run_ranks(4, [](Child& child) {
    const hocket_comm_options options = over_tcp();
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    constexpr std::size_t count = 1 << 18;
    const auto sent_by = [&](WireFormat wire) {
      hocket_counters before = HOCKET_COUNTERS_INIT, after = HOCKET_COUNTERS_INIT;
      hocket_comm_counters(comm.get(), &before);
      LossyCall({.wire = wire, .count = count}, child.index, child.size).run(comm.get());
      hocket_comm_counters(comm.get(), &after);
      return after.bytes_sent - before.bytes_sent;
    };
    const std::uint64_t exact = 2 * 3 * count;  // 2(N - 1)/N · S
    EXPECT_EQ(sent_by(WireFormat::bfloat16), exact / 2);
    EXPECT_EQ(sent_by(WireFormat::int8_blocks), exact * 17 / 64);
  });
}

// All ranks on one host share memory, where nothing is saved by rounding.
TEST(LowPrecisionCalls, AreExactWhereAllRanksShareMemory) {
  run_ranks(3, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.wire = HOCKET_WIRE_INT8_BLOCKS;
    for (const Collective collective : encoded_collectives) {
      Call call({.collective = collective, .count = 1000}, child.index, child.size);
      ASSERT_EQ(call.issue(comm.get(), nullptr, &options), HOCKET_OK) << hocket_last_error();
      call.expect_correct();
      EXPECT_EQ(wire_of_last_call(), "exact");
    }
  });
}

TEST(LowPrecisionCalls, OfTheCppApiTakeTheOption) {
  std::vector<Communicator> comms = Communicator::create_local(1);
  std::vector<float> values = {1.001F, 2, 3};
  comms[0].allreduce(values, Op::sum, {.wire = Wire::bfloat16});
  EXPECT_EQ(values, (std::vector<float>{1.001F, 2, 3}));  // nothing travels, so nothing is rounded
  EXPECT_EQ(wire_of_last_call(), "exact");
  EXPECT_THROW(comms[0].allreduce(values, Op::max, {.wire = Wire::bfloat16}), Error);
}

// ---- what is wrong

TEST(LowPrecisionCalls, ThatRanksDisagreeAboutNameBothFormats) {
  for (const char* transport : {"tcp", "auto"}) {
    for (const hocket_wire odd : {HOCKET_WIRE_EXACT, HOCKET_WIRE_INT8_BLOCKS}) {
      ProcessGroup group(3, [&](Child& child) {
        hocket_comm_options options = over_tcp();
        options.transport = transport;
        const Comm comm(&options);
        ASSERT_TRUE(comm);
        child.say("here");
        (void)child.hear();  // else one rank's mismatch may end the creation of another
        hocket_call_options call_options = HOCKET_CALL_OPTIONS_INIT;
        call_options.wire = child.index == 2 ? odd : HOCKET_WIRE_BFLOAT16;
        Call call({.count = 1000}, child.index, child.size);
        EXPECT_EQ(call.issue(comm.get(), nullptr, &call_options), HOCKET_MISMATCH);
        const std::string message = hocket_last_error();
        EXPECT_NE(message.find("bfloat16 on the wire"), std::string::npos) << message;
        EXPECT_EQ(message.find("int8 on the wire") != std::string::npos, odd == HOCKET_WIRE_INT8_BLOCKS) << message;
      });
      group.hear_from_all("here");
      for (int rank = 0; rank < 3; ++rank) group.tell(rank, "call");
      group.expect_success();
    }
  }
}

TEST(LowPrecisionCalls, ThatNoFormatIsForAreRefusedAndHarmNothing) {
  run_ranks(2, [](Child& child) {
    const hocket_comm_options options = over_tcp();
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    hocket_call_options call_options = HOCKET_CALL_OPTIONS_INIT;
    call_options.wire = HOCKET_WIRE_BFLOAT16;
    const Case refused[] = {{.collective = Collective::allreduce, .op = ReduceOp::max},
                            {.collective = Collective::allreduce, .dtype = DataType::float64},
                            {.collective = Collective::allgather, .dtype = DataType::int32},
                            {.collective = Collective::broadcast},
                            {.collective = Collective::reduce},
                            {.collective = Collective::barrier}};
    for (const Case& what : refused) {
      EXPECT_EQ(Call(what, child.index, child.size).issue(comm.get(), nullptr, &call_options), HOCKET_UNSUPPORTED);
      const std::string message = hocket_last_error();
      EXPECT_NE(message.find(name_of(what.collective)), std::string::npos) << message;
      EXPECT_NE(message.find("bfloat16"), std::string::npos) << message;
    }
    call_options.wire = static_cast<hocket_wire>(3);
    EXPECT_EQ(Call(Case{}, child.index, child.size).issue(comm.get(), nullptr, &call_options), HOCKET_INVALID_ARGUMENT);
    EXPECT_NE(std::string(hocket_last_error()).find("options.wire"), std::string::npos) << hocket_last_error();
    Call({.count = 10}, child.index, child.size).run(comm.get());
  });
}

}  // namespace
}  // namespace hocket::process_testing
