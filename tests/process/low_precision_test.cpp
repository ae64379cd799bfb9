// Lower precision on the wire: results are those of the format's rules to the bit, on every rank, whatever the count,
// placement, alignment and company; errors stay within the bounds that docs/reference/lower-precision.md states.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "hocket/hocket.hpp"
#include "src/exec/encode.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

using Floats = std::vector<float>;

constexpr WireFormat formats[] = {WireFormat::bfloat16, WireFormat::int8_blocks};
constexpr Collective collectives[] = {Collective::allreduce, Collective::reduce_scatter, Collective::allgather};

struct Lossy {
  Collective collective = Collective::allreduce;
  WireFormat wire = WireFormat::bfloat16;
  std::size_t count = 1;
  bool in_place = false;
  std::size_t misalignment = 0;
};

std::string describe(const Lossy& what) {
  return fmt::format("{} of {} floats as {}, {}, misaligned by {}", name_of(what.collective), what.count,
                     name_of(what.wire), what.in_place ? "in place" : "out of place", what.misalignment);
}

// What a vector is after it has been encoded and decoded.
Floats rounded(WireFormat wire, const Floats& values) {
  const WireCodec codec = wire_codec(wire);
  std::vector<std::byte> encoded(encoded_bytes(wire, values.size()));
  Floats arrived(values.size());
  codec.encode(encoded.data(), reinterpret_cast<const std::byte*>(values.data()), values.size());
  codec.decode(reinterpret_cast<std::byte*>(arrived.data()), encoded.data(), values.size());
  return arrived;
}

// The largest magnitude of the block that each element is encoded with; of bfloat16 that is the element alone.
Floats magnitudes(WireFormat wire, const Floats& values) {
  Floats found(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t first = wire == WireFormat::bfloat16 ? i : i / wire_block_elements * wire_block_elements;
    const std::size_t end = wire == WireFormat::bfloat16 ? i + 1 : std::min(first + wire_block_elements, values.size());
    for (std::size_t j = first; j < end; ++j) found[i] = std::max(found[i], std::abs(values[j]));
  }
  return found;
}

// One call with buffers and what must come out. `sends` and `receives` count blocks of `count` elements.
class LossyCall {
 public:
  LossyCall(const Lossy& what, Rank rank, Rank size) : what_(what), rank_(rank), size_(size) {
    const auto all = static_cast<std::size_t>(size);
    sends_ = what.collective == Collective::reduce_scatter ? all : 1;
    receives_ = what.collective == Collective::allgather ? all : 1;
    const std::size_t block = what.count * sizeof(float);
    const std::size_t own = static_cast<std::size_t>(rank) * block;
    const std::size_t larger = std::max(sends_, receives_) * block;
    first_ = FencedMemory(what.in_place ? larger : sends_ * block, what.misalignment, MemoryKind::plain);
    second_ = FencedMemory(what.in_place ? 0 : receives_ * block, 3 * what.misalignment % 64, MemoryKind::plain);
    send_ = first_.data() + (what.in_place && receives_ > sends_ ? own : 0);
    recv_ = what.in_place ? first_.data() + (sends_ > receives_ ? own : 0) : second_.data();
    const Floats mine = input_of(rank);
    if (!mine.empty()) std::memcpy(send_, mine.data(), mine.size() * sizeof(float));
  }

  hocket_result issue(hocket_comm* comm, hocket_work** work = nullptr) {
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.wire = static_cast<hocket_wire>(what_.wire);
    switch (what_.collective) {
      case Collective::allreduce:
        return hocket_allreduce(send_, recv_, what_.count, HOCKET_FLOAT32, HOCKET_SUM, comm, &options, work);
      case Collective::reduce_scatter:
        return hocket_reduce_scatter(send_, recv_, what_.count, HOCKET_FLOAT32, HOCKET_SUM, comm, &options, work);
      default: return hocket_allgather(send_, recv_, what_.count, HOCKET_FLOAT32, comm, &options, work);
    }
  }
  void run(hocket_comm* comm) {
    ASSERT_EQ(issue(comm), HOCKET_OK) << describe(what_) << ": " << hocket_last_error();
    expect_bits();
    expect_bound();
  }

  // Every contribution rounded, summed in rank order, and the sum of an allreduce rounded once more.
  void expect_bits() const {
    for (std::size_t block = 0; block < receives_; ++block) {
      Floats expected = rounded(what_.wire, contribution(block, 0));
      for (Rank rank = 1; sums() && rank < size_; ++rank) {
        const Floats more = rounded(what_.wire, contribution(block, rank));
        for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += more[i];
      }
      if (what_.collective == Collective::allreduce) expected = rounded(what_.wire, expected);
      const Floats found = output(block);
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i], expected[i]) << describe(what_) << ", rank " << rank_ << " of " << size_ << ", block "
                                         << block << ", element " << i;
      }
    }
    EXPECT_TRUE(first_.fences_stand() && second_.fences_stand())
        << describe(what_) << ": bytes beside a buffer changed";
  }

  // The bounds of docs/reference/lower-precision.md.
  void expect_bound() const {
    const bool bfloat16 = what_.wire == WireFormat::bfloat16;
    const double once = bfloat16 ? 1.0 / 256 : 1.0 / 253, twice = bfloat16 ? 1.0 / 127 : 1.0 / 126;
    const double error = what_.collective == Collective::allreduce ? twice : once;
    for (std::size_t block = 0; block < receives_; ++block) {
      std::vector<double> exact(what_.count), scale(what_.count);
      for (Rank rank = 0; rank < (sums() ? size_ : 1); ++rank) {
        const Floats input = contribution(block, rank);
        const Floats largest = magnitudes(what_.wire, input);
        for (std::size_t i = 0; i < input.size(); ++i) {
          exact[i] += static_cast<double>(input[i]);
          scale[i] += static_cast<double>(largest[i]);
        }
      }
      const double sums_error = sums() ? size_ * 0x1p-22 : 0;
      const Floats found = output(block);
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_LE(std::abs(static_cast<double>(found[i]) - exact[i]),
                  (error + sums_error) * scale[i] + size_ * 0x1p-117)
            << describe(what_) << ", rank " << rank_ << " of " << size_ << ", block " << block << ", element " << i;
      }
    }
  }

 private:
  bool sums() const { return what_.collective != Collective::allgather; }

  // Magnitudes differ from block to block and from rank to rank.
  Floats input_of(Rank rank) const {
    std::mt19937 random(static_cast<unsigned>(rank) * 31 + static_cast<unsigned>(what_.count));
    std::normal_distribution<float> normal;
    Floats values(sends_ * what_.count);
    float magnitude = 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i % 41 == 0) magnitude = std::ldexp(1.0F, static_cast<int>(random() % 16) - 8);
      values[i] = magnitude * normal(random);
    }
    return values;
  }
  // What `rank` gives for a block of this rank's output; of an allgather, the block's owner, whoever is named.
  Floats contribution(std::size_t block, Rank rank) const {
    if (what_.collective == Collective::allgather) return input_of(static_cast<Rank>(block));
    const Floats all = input_of(rank);
    const std::size_t own = sends_ > 1 ? static_cast<std::size_t>(rank_) * what_.count : 0;
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(own);
    return Floats(first, first + static_cast<std::ptrdiff_t>(what_.count));
  }
  Floats output(std::size_t block) const {
    Floats found(what_.count);
    if (what_.count > 0)
      std::memcpy(found.data(), recv_ + block * what_.count * sizeof(float), what_.count * sizeof(float));
    return found;
  }

  const Lossy what_;
  const Rank rank_, size_;
  std::size_t sends_ = 1, receives_ = 1;
  FencedMemory first_, second_;
  std::byte* send_ = nullptr;
  std::byte* recv_ = nullptr;
};

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
    for (const Collective collective : collectives) {
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

// Several slices, in groups, the last of them shorter.
TEST(LowPrecisionCalls, OfManySlicesGiveTheSameBits) {
  run_ranks(3, [](Child& child) {
    const hocket_comm_options options = over_tcp();
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    for (const Collective collective : collectives) {
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
      lossy.emplace_back(Lossy{collectives[round % 3], formats[round / 3 % 2], 1 + 5003 * round, round % 2 == 0},
                         child.index, child.size);
      ASSERT_EQ(lossy.back().issue(comm.get(), &works.emplace_back()), HOCKET_OK) << hocket_last_error();
      exact.emplace_back(Case{.collective = collectives[round / 2 % 3], .count = 900 * round, .salt = round},
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

std::string wire_of_last_call() {
  hocket_call_info info = HOCKET_CALL_INFO_INIT;
  EXPECT_EQ(hocket_last_call(&info), HOCKET_OK) << hocket_last_error();
  return info.wire;
}

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
    for (const Collective collective : collectives) {
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
