// The direct paths under random orders of events: members run ahead and lag behind, and free their buffers as soon as
// their own part is over, as callers may.
#include "src/exec/direct/direct_operation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "src/exec/direct/control_lines.hpp"
#include "src/exec/reduce.hpp"
#include "tests/unit/exec/direct_member.hpp"
#include "tests/unit/exec/direct_shape.hpp"

namespace hocket {
namespace {

using testing_support::DirectMember;
using testing_support::SharedMemory;

constexpr Collective all_direct_collectives[] = {
    Collective::allreduce, Collective::reduce,  Collective::reduce_scatter, Collective::allgather,
    Collective::broadcast, Collective::scatter, Collective::gather,         Collective::alltoall,
    Collective::barrier,   Collective::scan,    Collective::exscan};
constexpr std::size_t prefix_count_max = 64;  // that eight members take to the window, however many cores they have

struct Draw {
  explicit Draw(std::uint64_t seed) : random(seed) {}
  std::size_t below(std::size_t limit) { return random() % limit; }
  bool one_in(std::size_t times) { return below(times) == 0; }
  std::mt19937_64 random;
};

class OneMember : public DirectMember {
 public:
  OneMember(SharedMemory& shared, std::uint32_t self, bool shares_work, SingleCopy single_copy, std::uint64_t turn)
      : DirectMember(shared, self, {.shares_work = shares_work, .single_copy = single_copy}, turn), shared_(shared) {}

  void begin(const testing_support::Shape& shape, bool in_place, bool registered, std::size_t misalignment) {
    shape_ = shape;
    const std::uint32_t members = window_.size();
    const std::size_t in = shape.input_blocks(self_, members) * shape.count;
    const std::size_t out = shape.output_blocks(self_, members) * shape.count;
    first_ = std::vector<std::byte>((in_place ? std::max(in, out) : in) * sizeof(float) + misalignment);
    second_ = std::vector<std::byte>(in_place ? 0 : out * sizeof(float) + misalignment);
    input_ = first_.data() + misalignment;
    output_ = (in_place ? first_ : second_).data() + misalignment;
    const std::size_t own_block = self_ * shape.count * sizeof(float);
    if (in_place && in < out && in != 0) input_ += own_block;
    if (in_place && out < in && out != 0) output_ += own_block;
    output_count_ = out;
    for (std::size_t i = 0; i < in; ++i) {
      const float value = input_at(shape, self_, i);
      std::memcpy(input_ + i * sizeof value, &value, sizeof value);
    }
    regions_.clear();
    for (auto* memory : {&first_, &second_}) {
      if (registered && !memory->empty()) {
        regions_.push_back(shared_.enroll(self_, memory->data(), memory->size()));
      }
    }
    start({.input = input_,
           .output = output_,
           .signature = {.collective = shape.collective,
                         .dtype = DataType::float32,
                         .op = shape.op,
                         .root = static_cast<Rank>(shape.root),
                         .count = shape.count},
           .reduction = reduction_for(DataType::float32, shape.op, static_cast<Rank>(members)),
           .timeout = std::chrono::hours(1),
           .root = static_cast<Rank>(shape.root)});
  }

  // Checks the output, and takes the memory away.
  void end() {
    EXPECT_TRUE(operation_.failure().ok()) << operation_.failure().message();
    finish();
    if (::testing::Test::HasFailure()) return;
    for (std::size_t i = 0; i < output_count_; ++i) {
      float found;
      std::memcpy(&found, output_ + i * sizeof found, sizeof found);
      ASSERT_EQ(found, output_at(shape_, self_, window_.size(), i)) << "element " << i << " of member " << self_;
    }
    for (const std::uint32_t region : regions_) shared_.withdraw(self_, region);
    first_ = second_ = {};
  }

 private:
  SharedMemory& shared_;
  testing_support::Shape shape_{};
  std::vector<std::byte> first_, second_;
  std::byte* input_ = nullptr;
  std::byte* output_ = nullptr;
  std::size_t output_count_ = 0;
  std::vector<std::uint32_t> regions_;
};

enum class Registered { none, some, all };

struct Calls {
  std::vector<testing_support::Shape> shapes;
  std::vector<Registered> registered;
};

void add(Draw& draw, Calls& calls, Collective collective, std::size_t count, std::uint32_t root) {
  constexpr ReduceOp ops[] = {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max};
  const CollectiveInfo& info = info_of(collective);
  const auto number = static_cast<std::uint32_t>(calls.shapes.size());
  if (info.is_prefix()) count = std::min(count, prefix_count_max);
  calls.shapes.push_back({collective, collective == Collective::barrier ? 1 : count, info.has_root() ? root : 0, number,
                          info.reduces() ? ops[draw.below(4)] : ReduceOp::sum});
  calls.registered.push_back(static_cast<Registered>(draw.below(3)));
}

Calls draw_calls(Draw& draw, std::uint32_t members) {
  Calls calls;
  const bool many = draw.one_in(3);  // small ones, so that members can run ahead
  for (std::uint32_t number = 0; number < (many ? 80 : 6); ++number) {
    const Collective collective = all_direct_collectives[draw.below(std::size(all_direct_collectives))];
    const bool blockwise =
        collective != Collective::allreduce && collective != Collective::reduce && collective != Collective::broadcast;
    const std::size_t largest = (blockwise ? 60'000 / members : 60'000) + 1;
    const auto root = static_cast<std::uint32_t>(draw.below(members));
    const std::size_t count = many             ? draw.below(draw.one_in(8) ? 5000 : 20)
                              : draw.one_in(3) ? draw.below(20)
                                               : draw.below(1 + draw.below(largest));
    add(draw, calls, collective, count, root);
  }
  return calls;
}

// The same small call again and again, so that its senders run ahead as far as they may.
Calls draw_rows(Draw& draw, std::uint32_t members) {
  constexpr Collective one_way[] = {Collective::broadcast, Collective::scatter, Collective::gather,
                                    Collective::reduce,    Collective::scan,    Collective::exscan};
  Calls calls;
  for (int row = 0; row < 3; ++row) {
    const Collective collective = one_way[draw.below(std::size(one_way))];
    const auto root = static_cast<std::uint32_t>(draw.below(members));
    const std::size_t most = draw.one_in(2) ? 9 : 4000;
    for (std::size_t i = 0; i < direct::run_ahead_max + 300; ++i) add(draw, calls, collective, draw.below(most), root);
    add(draw, calls, all_direct_collectives[draw.below(std::size(all_direct_collectives))], draw.below(5000), root);
  }
  return calls;
}

// Lets a random member do a random number of steps, until all are through all calls. `sleep`: where nothing happens, it
// does so until it is woken.
void run(Draw& draw, const Calls& calls, std::vector<std::unique_ptr<OneMember>>& members, bool sleep) {
  std::vector<std::size_t> done(members.size());
  std::size_t left = members.size() * calls.shapes.size();
  bool nested = false;
  const auto meanwhile = [&] {
    if (nested || draw.one_in(3)) return;
    nested = true;
    for (int steps = 0; steps < 3; ++steps) {
      OneMember& other = *members[draw.below(members.size())];
      if (other.running() && !other.complete()) (void)other.step_or_sleep([] {});
    }
    nested = false;
  };
  for (int idle = 0; left > 0;) {
    const std::size_t who = draw.below(members.size());
    OneMember& member = *members[who];
    const std::size_t most = draw.one_in(50) ? 3000 : draw.one_in(4) ? 200 : 3;
    for (std::size_t steps = 1 + draw.below(most); steps > 0; --steps) {
      const std::size_t number = done[who];
      if (number == calls.shapes.size()) break;
      if (!member.running()) {
        const Collective collective = calls.shapes[number].collective;
        const bool in_place = collective != Collective::alltoall && draw.one_in(2);
        const bool registered = calls.registered[number] == Registered::all ||
                                (calls.registered[number] == Registered::some && draw.one_in(2));
        member.begin(calls.shapes[number], in_place, registered, draw.one_in(2) ? 0 : draw.below(64));
      }
      idle = (sleep ? member.step_or_sleep(meanwhile) : member.step()) ? 0 : idle + 1;
      if (!member.complete()) continue;
      idle = 0;
      member.end();
      ++done[who];
      --left;
      if (::testing::Test::HasFailure()) return;
    }
    ASSERT_LT(idle, 1'000'000) << "nobody can go on; member " << who << " is in call " << done[who];
  }
}

class DirectOperations : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(DirectOperations, AreRightInWhateverOrderMembersRun) {
  const std::uint32_t size = GetParam();
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Draw draw(seed);
    const bool shares_work = draw.one_in(2);
    const std::size_t with_single_copy = draw.below(3);  // nobody, everybody, or some: which must not matter
    SharedMemory shared(size, direct::payload_bytes + (std::size_t{96} << 10));  // little, for many rounds
    std::vector<std::unique_ptr<OneMember>> members;
    const std::uint64_t turn = draw.one_in(2) ? 0 : draw.below(2 * direct::announcements);
    for (std::uint32_t self = 0; self < size; ++self) {
      const bool single = with_single_copy == 1 || (with_single_copy == 2 && draw.one_in(2));
      members.push_back(std::make_unique<OneMember>(shared, self, shares_work,
                                                    single ? SingleCopy::always : SingleCopy::never, turn));
    }
    const Calls calls = seed % 20 == 0 ? draw_rows(draw, size) : draw_calls(draw, size);
    std::string described;
    for (const testing_support::Shape& shape : calls.shapes) {
      described += std::string(name_of(shape.collective)) + " of " + std::to_string(shape.count) + ", root " +
                   std::to_string(shape.root) + "; ";
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + (shares_work ? ", shares work: " : ": ") + described);
    run(draw, calls, members, seed % 2 == 0);
    if (HasFailure()) return;
  }
}

// Calls of many rounds, so that a member waits for several others at once: in turns, for those that it names alone.
TEST_P(DirectOperations, SleepUntilThoseAreThereForWhomTheyWait) {
  const std::uint32_t size = GetParam();
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    Draw draw(seed);
    const SingleCopy single_copy = draw.one_in(2) ? SingleCopy::always : SingleCopy::never;
    SharedMemory shared(size, direct::payload_bytes + (std::size_t{24} << 10));
    std::vector<std::unique_ptr<OneMember>> members;
    for (std::uint32_t self = 0; self < size; ++self) {
      members.push_back(std::make_unique<OneMember>(shared, self, false, single_copy, 0));
    }
    Calls calls;
    for (int number = 0; number < 4; ++number) {
      const bool reduces = draw.one_in(2);
      const Collective collective =
          reduces ? Collective::reduce : all_direct_collectives[draw.below(std::size(all_direct_collectives))];
      add(draw, calls, collective, 20'000 + draw.below(20'000), static_cast<std::uint32_t>(draw.below(size)));
    }
    if (seed % 8 == 0) {  // what is combined with nothing goes in larger pieces
      const Collective collective = draw.one_in(2) ? Collective::scatter : Collective::allgather;
      add(draw, calls, collective, 300'000, static_cast<std::uint32_t>(draw.below(size)));
    }
    std::ranges::fill(calls.registered, Registered::none);
    SCOPED_TRACE("seed " + std::to_string(seed));
    run(draw, calls, members, true);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Members, DirectOperations, ::testing::Values(2, 3, 4, 5, 7, 8),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket
