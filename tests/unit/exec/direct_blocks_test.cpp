// Blocks that vary, by direct operations alone, under random orders of events: members run ahead and lag behind.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "src/exec/reduce.hpp"
#include "tests/unit/exec/direct_member.hpp"

namespace hocket {
namespace {

using testing_support::DirectMember;
using testing_support::SharedMemory;

constexpr Collective blocks_collectives[] = {Collective::allgather_v, Collective::reduce_scatter_v,
                                             Collective::gather_v, Collective::scatter_v, Collective::alltoall_v};

std::uint32_t mix(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::uint32_t bits = (a * 31 + b) * 2654435761U + c * 40503U;
  return (bits ^ (bits >> 15)) * 2246822519U;
}

// What all members call.
struct Shape {
  Collective collective;
  std::uint32_t root, number;
  std::size_t most;      // elements of a block
  bool adjoins = false;  // whether this member's blocks do; else what is not reduced leaves gaps

  // The two ends of a block in a member's buffer, both the same where it is one rank's and goes to all or comes from
  // all.
  std::pair<std::uint32_t, std::uint32_t> ends(bool output, std::uint32_t member, std::uint32_t block) const {
    if (!info_of(collective).transposes()) return {block, block};
    return output ? std::pair(block, member) : std::pair(member, block);
  }
  std::size_t count(std::pair<std::uint32_t, std::uint32_t> ends) const {
    const std::uint32_t bits = mix(number, ends.first, ends.second);
    return bits % 4 == 0 ? 0 : (bits >> 4) % (most + 1);
  }
  std::int32_t value(std::uint32_t source, std::pair<std::uint32_t, std::uint32_t> ends, std::size_t i) const {
    const std::uint32_t given = info_of(collective).reduces() ? source : 0;
    return static_cast<std::int32_t>(
        mix(number + given * 977, ends.first * 64 + ends.second, static_cast<std::uint32_t>(i)) >> 8);
  }
};

class BlocksMember : public DirectMember {
 public:
  using DirectMember::DirectMember;

  void begin(const Shape& shape) {
    shape_ = shape;
    const CollectiveInfo& info = info_of(shape.collective);
    auto blocks = std::make_shared<UnequalBlocks>();
    input_.assign(lay_out(info.input, false, blocks->input), 0);
    output_.assign(lay_out(info.output, true, blocks->output), -1);
    std::size_t total = 0;
    for (const auto& block : blocks->input) total += block.count;
    for (std::uint32_t block = 0; block < window_.size(); ++block) {
      if (!info.input.has(block, static_cast<Rank>(self_), static_cast<Rank>(shape.root))) continue;
      const auto ends = shape.ends(false, self_, block);
      for (std::size_t i = 0; i < blocks->input[block].count; ++i) {
        input_[blocks->input[block].offset + i] = shape.value(self_, ends, i);
      }
    }
    blocks_ = std::move(blocks);
    operation_.set_blocks(blocks_);
    const Rank root = info.has_root() ? static_cast<Rank>(shape.root) : 0;
    start({.input = reinterpret_cast<const std::byte*>(input_.data()),
           .output = reinterpret_cast<std::byte*>(output_.data()),
           .signature = {.collective = shape.collective,
                         .dtype = DataType::int32,
                         .root = root,
                         .count = info.all_know_blocks() ? total : Signature::unknown_count},
           .reduction = reduction_for(DataType::int32, ReduceOp::sum, static_cast<Rank>(window_.size())),
           .timeout = std::chrono::hours(1),
           .root = root});
  }
  const Status& failure() const { return operation_.failure(); }

  // So that the others may write into it. Until it begins another call.
  void enroll_buffers(SharedMemory& shared) {
    shared.enroll(self_, reinterpret_cast<std::byte*>(input_.data()), input_.size() * 4);
    shared.enroll(self_, reinterpret_cast<std::byte*>(output_.data()), output_.size() * 4);
  }

  void end(std::string_view path = "direct one-shot") {
    ASSERT_TRUE(failure().ok()) << failure().message();
    EXPECT_EQ(operation_.algorithm(), path);
    finish();
    std::vector<std::int32_t> expected(output_.size(), -1);
    const CollectiveInfo& info = info_of(shape_.collective);
    for (std::uint32_t block = 0; block < window_.size(); ++block) {
      if (!info.output.has(block, static_cast<Rank>(self_), static_cast<Rank>(shape_.root))) continue;
      const auto ends = shape_.ends(true, self_, block);
      for (std::size_t i = 0; i < blocks_->output[block].count; ++i) {
        std::uint32_t sum = 0;
        for (std::uint32_t source = 0; source < (info.reduces() ? window_.size() : 1); ++source) {
          sum += static_cast<std::uint32_t>(shape_.value(source, ends, i));
        }
        expected[blocks_->output[block].offset + i] = static_cast<std::int32_t>(sum);
      }
    }
    ASSERT_EQ(output_, expected) << "member " << self_;
  }

 private:
  // As a validated call has it: both tables know all sizes that this member knows. What is not reduced leaves gaps.
  std::size_t lay_out(const BufferShape& buffer, bool output, std::vector<UnequalBlocks::Block>& table) const {
    const CollectiveInfo& info = info_of(shape_.collective);
    const bool knows_all = info.all_know_blocks() || info.transposes() || self_ == shape_.root;
    const bool leaves_gaps = buffer.held == Held::all_chunks && !info.reduces() && !shape_.adjoins;
    std::size_t end = leaves_gaps ? 1 : 0;
    table.resize(window_.size());
    for (std::uint32_t block = 0; block < window_.size(); ++block) {
      if (knows_all || block == self_) table[block].count = shape_.count(shape_.ends(output, self_, block));
      if (!buffer.has(block, static_cast<Rank>(self_), static_cast<Rank>(shape_.root))) continue;
      table[block].offset = buffer.held == Held::own_chunk ? 0 : end;
      end += table[block].count + (leaves_gaps ? 1 + block % 3 : 0);
    }
    return end;
  }

  Shape shape_{};
  std::shared_ptr<const UnequalBlocks> blocks_;
  std::vector<std::int32_t> input_, output_;
};

class DirectBlocks : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  const std::uint32_t size_ = GetParam();
};

TEST_P(DirectBlocks, AreRightInWhateverOrderMembersRun) {
  for (const std::uint32_t seed : {1U, 2U, 3U, 4U}) {
    std::mt19937 random(seed);
    SharedMemory shared(size_, direct::payload_bytes + (std::size_t{96} << 10));
    std::vector<std::unique_ptr<BlocksMember>> members;
    for (std::uint32_t self = 0; self < size_; ++self) members.push_back(std::make_unique<BlocksMember>(shared, self));
    std::vector<Shape> shapes;
    // The same collective for a while, so that its senders run ahead as far as they may.
    for (std::uint32_t number = 0; number < 4000; ++number) {
      const bool again = number % 1500 != 0 && number % 4000 < 3000;
      const Collective collective =
          again ? shapes.back().collective : blocks_collectives[random() % std::size(blocks_collectives)];
      shapes.push_back({collective, again ? shapes.back().root : static_cast<std::uint32_t>(random() % size_), number,
                        random() % 4 == 0 ? 500U : 4U});
    }
    std::vector<std::size_t> done(size_);
    for (std::size_t left = size_ * shapes.size(), idle = 0; left > 0;) {
      const std::uint32_t who = static_cast<std::uint32_t>(random() % size_);
      BlocksMember& member = *members[who];
      for (std::size_t steps = random() % 50 == 0 ? 3000 : 1 + random() % 20; steps > 0; --steps) {
        if (done[who] == shapes.size()) break;
        if (!member.running()) member.begin(shapes[done[who]]);
        const bool sleeps = seed % 2 == 0;  // where nothing happens, until it is woken
        idle = (sleeps ? member.step_or_sleep([] {}) : member.step()) || member.complete() ? 0 : idle + 1;
        if (!member.complete()) continue;
        member.end();
        ++done[who];
        --left;
        if (HasFatalFailure()) return;
      }
      ASSERT_LT(idle, 1'000'000U) << "nobody can go on";
    }
  }
}

// Large ones that all members know take the longer paths.
struct LargeBlocks {
  std::string_view path;
  bool shares_work = false, registered = false;
  std::uint32_t adjoin_before = UINT32_MAX;  // of the members before that
  SingleCopy single_copy = SingleCopy::never;
};

constexpr LargeBlocks large_blocks[] = {
    {.path = "direct staged"},
    {.path = "direct staged", .shares_work = true},
    {.path = "direct staged", .registered = true, .adjoin_before = 0},
    {.path = "direct staged", .registered = true, .adjoin_before = 1},
    {.path = "direct mapped", .registered = true},
    {.path = "direct mapped", .shares_work = true, .registered = true},
    {.path = "direct single copy", .adjoin_before = 1, .single_copy = SingleCopy::always},
};

TEST_P(DirectBlocks, OfWhichAllKnowAllTakeEveryPath) {
  std::mt19937 random(5);
  for (const LargeBlocks& kind : large_blocks) {
    for (const Collective collective : {Collective::allgather_v, Collective::reduce_scatter_v}) {
      const bool adjoin = info_of(collective).reduces() || kind.adjoin_before >= size_;
      if (kind.registered && adjoin != (kind.path == "direct mapped")) continue;  // blocks of what is reduced adjoin
      SharedMemory shared(size_, direct::payload_bytes + (std::size_t{512} << 10));
      const DirectSetting setting{.shares_work = kind.shares_work, .single_copy = kind.single_copy};
      std::vector<std::unique_ptr<BlocksMember>> members;
      for (std::uint32_t self = 0; self < size_; ++self) {
        members.push_back(std::make_unique<BlocksMember>(shared, self, setting));
      }
      for (std::uint32_t number = 0; number < 3; ++number) {
        SCOPED_TRACE(std::string(name_of(collective)) + ", " + std::string(kind.path));
        for (std::uint32_t self = 0; self < size_; ++self) {
          members[self]->begin({collective, 0, 40 + number, 400'000, self < kind.adjoin_before});
          if (kind.registered) members[self]->enroll_buffers(shared);
        }
        for (std::size_t idle = 0; idle < 100'000; ++idle) {
          if (members[random() % size_]->step()) idle = 0;
        }
        for (const auto& member : members) {
          ASSERT_TRUE(member->complete());
          member->end(kind.path);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// The receiver finds out, and names both sizes.
TEST_P(DirectBlocks, OfWhichTwoMembersMeanDifferentSizesAreAMismatch) {
  for (const std::size_t theirs : {std::size_t{3}, std::size_t{9}}) {
    SharedMemory shared(size_, direct::payload_bytes + (std::size_t{96} << 10));
    std::vector<std::unique_ptr<BlocksMember>> members;
    for (std::uint32_t self = 0; self < size_; ++self) {
      Shape shape{Collective::gather_v, 0, 0, 1000};
      while (shape.count({1, 1}) != (self == 1 ? theirs : 6)) ++shape.number;
      members.push_back(std::make_unique<BlocksMember>(shared, self));
      members.back()->begin(shape);
    }
    for (int round = 0; round < 100; ++round) {
      for (const auto& member : members) member->step();
    }
    EXPECT_EQ(members[0]->failure().code(), Code::mismatch);
    const std::string message = members[0]->failure().message();
    EXPECT_NE(message.find("gather_v of " + std::to_string(theirs) + " int32"), std::string::npos) << message;
    EXPECT_NE(message.find("gather_v of 6 int32"), std::string::npos) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Members, DirectBlocks, ::testing::Values(2, 3, 5, 7), ::testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket
