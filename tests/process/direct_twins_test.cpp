// Every direct path against its twins: random calls between real processes, once over the window, once by a schedule of
// the catalog over links. Both must give the reference's result, and equal bits.
//
// TEST_SEED chooses other calls, TEST_CASES how many for each schedule.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "src/spi/schedule.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// All ranks throw the same, whatever the standard library.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  // 0 … limit-1.
  std::size_t below(std::size_t limit) { return random_() % limit; }
  bool one_in(std::size_t times) { return below(times) == 0; }
  template <class T, std::size_t size>
  T one_of(const T (&table)[size]) {
    return table[below(size)];
  }
  template <class Container>
  auto one_of(const Container& container) {
    return *std::next(container.begin(), static_cast<std::ptrdiff_t>(below(container.size())));
  }

 private:
  std::mt19937_64 random_;
};

bool is_blockwise(Collective collective) {
  return collective != Collective::allreduce && collective != Collective::reduce && collective != Collective::broadcast;
}

// Small, middling, large, and beside the sizes at which the direct paths change.
std::size_t draw_count(Dice& dice, Collective collective, std::size_t element_bytes, std::size_t size) {
  const std::size_t blocks = is_blockwise(collective) ? size : 1;
  const std::size_t largest = (std::size_t{2} << 20) / element_bytes / blocks;
  switch (dice.below(8)) {
    case 0:
    case 1: return dice.below(3 * size);
    case 2:
    case 3:
    case 4: {
      constexpr std::size_t turning_points[] = {32, 4 << 10, 64 << 10, 128 << 10, 256 << 10, 512 << 10};
      const std::size_t divisors[] = {1, size};
      const std::size_t count = dice.one_of(turning_points) / element_bytes / dice.one_of(divisors);
      return std::min(count + dice.below(5), largest + 2) - std::min<std::size_t>(count, 2);
    }
    case 5: return dice.below(largest);
    default: return dice.below(2 + dice.below(2 + dice.below(largest)));
  }
}

// Which member passes which memory, and where in it.
void draw_memory(Dice& dice, std::vector<Case>& cases) {
  constexpr MemoryKind mapped[] = {MemoryKind::allocated, MemoryKind::registered};
  const std::size_t manner = dice.below(4);
  for (Case& one : cases) {
    for (MemoryKind* kind : {&one.input_memory, &one.output_memory}) {
      if (manner < 2) *kind = dice.one_of(mapped);
      if (manner == 2) *kind = dice.one_of(all_memory_kinds);
    }
    one.misalignment = dice.one_in(3) ? dice.below(64) : 0;
  }
}

// One call, as each rank makes it.
std::vector<Case> draw(Dice& dice, Collective collective, Values values, Rank size) {
  Case what{.collective = collective, .dtype = dice.one_of(all_data_types), .op = ReduceOp::sum, .values = values};
  if (values == Values::rounding) what.dtype = dice.one_in(2) ? DataType::float32 : DataType::float64;
  const auto ranks = static_cast<std::size_t>(size);
  what.count = draw_count(dice, collective, size_of(what.dtype), ranks);
  if (info_of(collective).reduces()) what.op = dice.one_of(ops_of(what.dtype, collective));
  if (info_of(collective).has_root()) what.root = static_cast<Rank>(dice.below(ranks));
  what.salt = dice.below(1U << 30);
  std::vector<Case> cases(ranks, what);
  draw_memory(dice, cases);
  const std::size_t placement = dice.below(3);
  const bool has_in_place = collective != Collective::barrier;
  for (Case& one : cases) one.in_place = has_in_place && (placement == 2 ? dice.one_in(2) : placement == 1);
  return cases;
}

// Whether the schedule combines operands as the direct paths do, so that their bits are equal for all values.
bool combines_in_rank_order(Collective collective, std::string_view name, Rank size) {
  if (!info_of(collective).reduces() || size == 2) return true;  // x + y and y + x have equal bits
  return find_algorithm(collective, name)->in_rank_order;
}

// Several calls run side by side. Adds how they were done to `paths`.
void run(std::vector<Call>& calls, hocket_comm* comm, std::set<std::string>& paths) {
  const auto note = [&] {
    hocket_call_info info = HOCKET_CALL_INFO_INIT;
    EXPECT_EQ(hocket_last_call(&info), HOCKET_OK);
    EXPECT_STREQ(info.transport, "shm");
    paths.insert(info.algorithm);
  };
  std::vector<hocket_work*> works(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    ASSERT_EQ(calls[i].issue(comm, calls.size() == 1 ? nullptr : &works[i]), HOCKET_OK) << hocket_last_error();
    if (calls.size() == 1) note();
  }
  for (hocket_work* work : works) {
    if (work == nullptr) continue;
    ASSERT_EQ(hocket_work_wait(work, 0), HOCKET_OK) << hocket_last_error();
    note();
    hocket_work_release(work);
  }
  for (const Call& call : calls) call.expect_correct();
}

struct Communicators {
  const Comm& direct;
  const Comm& single_copy;  // the direct paths again, with single copy wherever it can be
  const Comm& twin;
};

// One call or a few at once, over both.
void compare(Dice& dice, const std::set<Collective>& collectives, const std::string& name, const Communicators& over,
             Rank rank, Rank size, std::set<std::string>& paths) {
  std::vector<Call> direct, twin;
  std::string described;
  for (std::size_t left = dice.one_in(4) ? 2 + dice.below(4) : 1; left > 0; --left) {
    const Collective collective = dice.one_of(collectives);
    const bool same_order = combines_in_rank_order(collective, name, size);
    const auto cases = draw(dice, collective, same_order ? Values::rounding : Values::exact, size);
    const Case& mine = cases[static_cast<std::size_t>(rank)];
    described += "\n  " + describe(mine);
    direct.emplace_back(mine, rank, size);
    twin.emplace_back(mine, rank, size);
    if (same_order) continue;
    // What this twin sums in another order is compared with the reference alone.
    Case rounding = draw(dice, collective, Values::rounding, size)[static_cast<std::size_t>(rank)];
    described += "\n  " + describe(rounding);
    direct.emplace_back(rounding, rank, size);
  }
  SCOPED_TRACE(described);
  const Comm& chosen = dice.one_in(2) ? over.direct : over.single_copy;
  ASSERT_NO_FATAL_FAILURE(run(direct, chosen.get(), paths));
  {
    SCOPED_TRACE("by the schedule");
    std::set<std::string> schedules;
    ASSERT_NO_FATAL_FAILURE(run(twin, over.twin.get(), schedules));
    EXPECT_EQ(schedules, std::set<std::string>{name});
  }
  if (twin.size() != direct.size()) return;
  for (std::size_t i = 0; i < twin.size(); ++i) EXPECT_EQ(direct[i].output(), twin[i].output());
}

class DirectTwins : public testing::TestWithParam<int> {};

TEST_P(DirectTwins, GiveEqualBits) {
  const std::uint64_t seed = number_from("TEST_SEED", 1);
  const std::uint64_t cases = number_from("TEST_CASES", 2);
  std::printf("TEST_SEED=%llu TEST_CASES=%llu\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(cases));
  std::map<std::string, std::set<Collective>> twins;
  for (const Algorithm& algorithm : catalog()) {
    if (algorithm.collective == Collective::send || algorithm.collective == Collective::recv) continue;
    if (algorithm.encoded) continue;  // exact calls take another one
    twins[std::string(algorithm.name)].insert(algorithm.collective);
  }
  ASSERT_GT(twins.size(), 5U);
  run_ranks(GetParam(), [&](Child& child) {
    const Comm direct;
    ::setenv("HOCKET_SINGLE_COPY", "on", 1);
    const Comm single_copy;
    ::unsetenv("HOCKET_SINGLE_COPY");
    ASSERT_TRUE(direct && single_copy);
    std::set<std::string> paths;
    Dice dice(seed * 1000 + static_cast<std::uint64_t>(child.size));
    for (const auto& [name, collectives] : twins) {
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.algorithm = name.c_str();
      const Comm twin(&options);
      ASSERT_TRUE(twin);
      for (std::uint64_t number = 0; number < cases; ++number) {
        SCOPED_TRACE("TEST_SEED=" + std::to_string(seed) + ", " + name + ", case " + std::to_string(number));
        compare(dice, collectives, name, {direct, single_copy, twin}, child.index, child.size, paths);
        if (testing::Test::HasFailure()) return;
      }
    }
    // Single copy is not allowed everywhere.
    for (const char* path : {"direct one-shot", "direct mapped", "direct staged"}) {
      EXPECT_TRUE(paths.contains(path)) << path << " was never chosen";
    }
    EXPECT_EQ(paths.contains("direct pooled"), child.size > ::sysconf(_SC_NPROCESSORS_ONLN));
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, DirectTwins, testing::Values(2, 3, 4, 5, 7, 8), testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::process_testing
