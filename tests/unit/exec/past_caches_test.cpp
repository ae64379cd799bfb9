// Outputs that are stored past the caches, since all members' buffers together are more than these hold.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string_view>
#include <vector>

#include "src/exec/reduce.hpp"
#include "tests/unit/exec/direct_member.hpp"

namespace hocket::testing_support {
namespace {

constexpr std::size_t elements = (std::size_t{300} << 10) + 13;  // of a vector or a block: more than one-shot takes
constexpr Collective collectives[] = {Collective::allreduce, Collective::reduce,        Collective::broadcast,
                                      Collective::gather,    Collective::scatter,       Collective::allgather,
                                      Collective::alltoall,  Collective::reduce_scatter};

std::byte element(std::uint32_t member, std::size_t at) {
  return static_cast<std::byte>(at * 7 + at / 251 + member * 31 + 1);
}

class StreamingMember final : public DirectMember {
 public:
  StreamingMember(SharedMemory& shared, std::uint32_t self)
      : DirectMember(shared, self,
                     {.staging_bytes = shared.staging_bytes, .single_copy = SingleCopy::never, .cache_bytes = 1}) {}

  // Buffers begin one byte behind a boundary, so that their first and last stores are short ones.
  void begin(const Signature& call, const Exchange& exchange, bool in_place) {
    const std::size_t in = exchange.input_bytes(self_), out = exchange.output_bytes(self_);
    const std::size_t block = info_of(call.collective).block_in_place(static_cast<Rank>(self_)) * elements;
    memory_.assign(in_place ? std::max(in, out) + 1 : in + out + 1, std::byte{0});
    output_ = memory_.data() + 1 + (in_place && in > out ? block : 0);
    std::byte* const input = memory_.data() + 1 + (!in_place ? out : in > out ? 0 : block);
    for (std::size_t at = 0; at < in; ++at) input[at] = element(self_, at);
    start({.input = in == 0 ? nullptr : input,
           .output = out == 0 ? nullptr : output_,
           .signature = call,
           .reduction = reduction_for(DataType::uint8, ReduceOp::sum, static_cast<Rank>(window_.size())),
           .timeout = std::chrono::hours(1),
           .root = 0});
  }
  std::size_t wrong(const Exchange& exchange) const {
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < exchange.output_bytes(self_); ++at) {
      wrong += output_[at] != expected(exchange, at) ? 1 : 0;
    }
    return wrong;
  }
  std::string_view path() const { return operation_.algorithm(); }
  const Status& failure() const { return operation_.failure(); }

 private:
  std::byte expected(const Exchange& exchange, std::size_t at) const {
    const auto members = exchange.members();
    const auto sum = [&](std::size_t place) {
      unsigned all = 0;
      for (std::uint32_t member = 0; member < members; ++member)
        all += std::to_integer<unsigned>(element(member, place));
      return static_cast<std::byte>(all);
    };
    const auto block = static_cast<std::uint32_t>(at / elements);
    switch (exchange.collective().collective) {
      case Collective::broadcast: return element(0, at);
      case Collective::scatter: return element(0, self_ * elements + at);
      case Collective::gather:
      case Collective::allgather: return element(block, at % elements);
      case Collective::alltoall: return element(block, self_ * elements + at % elements);
      case Collective::reduce_scatter: return sum(self_ * elements + at);
      default: return sum(at);
    }
  }

  std::vector<std::byte> memory_;
  std::byte* output_ = nullptr;
};

void check(Collective collective, std::uint32_t members, bool in_place) {
  SCOPED_TRACE(testing::Message() << name_of(collective) << ", " << members << " members, in place: " << in_place);
  SharedMemory shared(members, direct::payload_bytes + (std::size_t{1} << 18));
  const Signature call{
      .collective = collective, .dtype = DataType::uint8, .op = ReduceOp::sum, .root = 0, .count = elements};
  const Exchange exchange(call, 0, members, first_grain_bytes);
  std::deque<StreamingMember> all;
  for (std::uint32_t member = 0; member < members; ++member) {
    all.emplace_back(shared, member).begin(call, exchange, in_place);
  }
  for (bool happened = true; happened;) {
    happened = false;
    for (StreamingMember& member : all) happened |= !member.complete() && member.step();
  }
  for (const StreamingMember& member : all) {
    ASSERT_TRUE(member.complete());
    EXPECT_TRUE(member.failure().ok());
    EXPECT_EQ(member.path(), "direct staged");
    EXPECT_EQ(member.wrong(exchange), 0U);
  }
}

TEST(PastCaches, OutputsAreTheSame) {
  for (const Collective collective : collectives) {
    for (const std::uint32_t members : {2U, 3U}) {
      check(collective, members, false);
      if (collective != Collective::alltoall) check(collective, members, true);
    }
  }
}

DirectSetting with_caches(std::size_t bytes) {
  return {.cache_bytes = bytes};
}

TEST(PastCaches, BuffersOfAllMembersCount) {
  const auto exceed = [](Collective collective, bool in_place, std::size_t cache_bytes) {
    const Signature call{.collective = collective, .dtype = DataType::uint8, .count = 100};
    return exceeds_caches(Exchange(call, 0, 3, first_grain_bytes), in_place, with_caches(cache_bytes));
  };
  EXPECT_TRUE(exceed(Collective::allreduce, false, 300)) << "twice what they hold";
  EXPECT_FALSE(exceed(Collective::allreduce, false, 301));
  EXPECT_FALSE(exceed(Collective::allreduce, true, 1)) << "it was just read";
  EXPECT_TRUE(exceed(Collective::broadcast, true, 150));
  EXPECT_FALSE(exceed(Collective::broadcast, true, 151));
  EXPECT_TRUE(exceed(Collective::gather, false, 300)) << "three blocks, and 300 at the root";
  EXPECT_FALSE(exceed(Collective::gather, false, 301));
  EXPECT_TRUE(exceed(Collective::gather, true, 250)) << "the root's block is in its 300";
  EXPECT_FALSE(exceed(Collective::gather, true, 251));
  EXPECT_FALSE(exceed(Collective::allgather, false, 0)) << "nobody knows the caches";
}

TEST(PastCaches, MessagesCountForEveryRankAndBothWays) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  EXPECT_EQ(exceeding_message_bytes(with_caches(32 * mib), 2), 16 * mib);
  EXPECT_EQ(exceeding_message_bytes(with_caches(64 * mib), 2), 32 * mib);
  EXPECT_EQ(exceeding_message_bytes(with_caches(32 * mib), 16), 4 * mib) << "others may have none";
  EXPECT_EQ(exceeding_message_bytes({}, 2), SIZE_MAX);
}

}  // namespace
}  // namespace hocket::testing_support
