// Deterministic mode: whatever carries a reduction, its bits are those of the plain sum from left to right in rank
// order. The values are such that another order, or another rounding, has other bits, and it is shown that it has.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "hocket/lists.h"
#include "src/spi/schedule.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/last_call.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

constexpr Collective reducing[] = {Collective::allreduce, Collective::reduce, Collective::reduce_scatter,
                                   Collective::scan, Collective::exscan};

std::set<std::string> names_in_rank_order() {
  std::set<std::string> names;
  for (const Algorithm& algorithm : catalog()) {
    if (algorithm.in_rank_order) names.emplace(algorithm.name);
  }
  return names;
}

bool has(Collective collective, const std::string& name) {
  return find_algorithm(collective, name) != nullptr;
}

// Where the ranks run, and by what.
struct Arrangement {
  std::string transport = "auto";
  std::string algorithm = "auto";
  std::string hosts = {};  // a character for each rank, as of Ranks; empty: all on this host
  const char* single_copy = "auto";

  std::string text() const {
    return transport + ", " + algorithm + ", hosts " + hosts + ", single copy " + single_copy;
  }
};

// Every path of direct operations, every algorithm that keeps the order over each transport, and one to four hosts,
// whose ranks adjoin or take turns.
std::vector<Arrangement> arrangements(int size) {
  std::vector<Arrangement> all = {{}, {.single_copy = "on"}, {.single_copy = "off"}, {.transport = "tcp"}};
  const auto hosts = [&](int number, bool in_turn) {
    std::string text;
    for (int rank = 0; rank < size; ++rank) {
      text.push_back(static_cast<char>('0' + (in_turn ? rank % number : rank * number / size)));
    }
    return text;
  };
  for (int number = 2; number <= std::min(size, 4); ++number) {
    all.push_back({.hosts = hosts(number, false)});
    if (number < size) all.push_back({.hosts = hosts(number, true)});
  }
  for (const std::string& name : names_in_rank_order()) {
    all.push_back({.transport = "shm", .algorithm = name});
    all.push_back({.transport = "tcp", .algorithm = name});
    all.push_back({.algorithm = name, .hosts = hosts(2, true)});
  }
  return all;
}

// `arrangement` outlives what is returned.
hocket_comm_options options_of(const Arrangement& arrangement, bool deterministic) {
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.transport = arrangement.transport.c_str();
  options.algorithm = arrangement.algorithm.c_str();
  options.deterministic = deterministic ? 1 : -1;
  return options;
}

hocket_comm_options options_of(Arrangement&&, bool) = delete;

void take_place(const Arrangement& arrangement, int rank) {
  ::setenv("HOCKET_SINGLE_COPY", arrangement.single_copy, 1);
  if (arrangement.hosts.empty()) {
    ::unsetenv("HOCKET_HOST_ID");
  } else {
    ::setenv("HOCKET_HOST_ID", (std::string("host ") + arrangement.hosts[static_cast<std::size_t>(rank)]).c_str(), 1);
  }
}

constexpr DataType dtypes[] = {DataType::float32, DataType::float64, DataType::float16, DataType::bfloat16,
                               DataType::complex64};

// So many that hardly all of them have equal bits by chance.
constexpr std::uint64_t telling_elements = 9001;

// Below and above the sizes at which paths and algorithms change, in elements of all ranks together.
std::vector<Case> cases(int size) {
  std::vector<Case> all;
  for (const Collective collective : reducing) {
    const auto add = [&](std::size_t elements, DataType dtype, ReduceOp op = ReduceOp::sum,
                         MemoryKind memory = MemoryKind::plain) {
      const bool by_block = collective == Collective::reduce_scatter;
      all.push_back({.collective = collective,
                     .count = by_block ? elements / static_cast<std::size_t>(size) : elements,
                     .dtype = dtype,
                     .op = op,
                     .root = collective == Collective::reduce ? static_cast<Rank>(elements) % size : 0,
                     .input_memory = memory,
                     .output_memory = memory,
                     .values = Values::rounding,
                     .salt = elements});
    };
    for (const DataType dtype : dtypes) {
      add(8, dtype);
      add(700, dtype);
      add(telling_elements, dtype, ReduceOp::sum, MemoryKind::allocated);
    }
    for (const ReduceOp op : {ReduceOp::avg, ReduceOp::premultiplied_sum, ReduceOp::prod}) {
      if (!is_defined(collective, op)) continue;
      add(700, DataType::float32, op);
      add(700, DataType::float16, op);
    }
    add(telling_elements, DataType::float32);
    add(80021, DataType::float32);
    if (!info_of(collective).is_prefix()) add(40009, DataType::float16, ReduceOp::avg);
  }
  return all;
}

struct Known {
  Case what;
  Call call;
  std::vector<std::byte> bits;  // from the first arrangement on, where they were compared with the plain sum
};

struct Task {
  Known& known;
  std::optional<Call> in_place = {};  // else known.call
  hocket_work* work = nullptr;

  Call& call() { return in_place ? *in_place : known.call; }
};

// Of a task whose latest call is done.
void expect_known_bits(Task& task, const Arrangement& arrangement, std::set<std::string>& seen) {
  const std::string algorithm = algorithm_of_last_call();
  seen.insert(algorithm);
  if (arrangement.algorithm != "auto") {
    EXPECT_EQ(algorithm, arrangement.algorithm);
  }
  Known& known = task.known;
  if (task.in_place || known.bits.empty()) task.call().expect_correct();
  if (known.bits.empty()) known.bits = known.call.output();
  if (task.in_place) return;
  ASSERT_EQ(known.call.output(), known.bits) << describe(known.what) << " by " << algorithm;
}

// All calls that the arrangement is about, out of place, and in place too where that is cheap: one after the other, or
// all in flight, so that timing differs.
void run_all(hocket_comm* comm, const Arrangement& arrangement, std::vector<Known>& all, const Child& child,
             std::set<std::string>& seen) {
  const bool in_flight = arrangement.algorithm != "auto" || !arrangement.hosts.empty();
  std::vector<Task> tasks;
  for (Known& known : all) {
    if (arrangement.algorithm != "auto" && !has(known.what.collective, arrangement.algorithm)) continue;
    tasks.push_back({known});
    if (known.what.count > 700 || known.what.op != ReduceOp::sum) continue;
    Case in_place = known.what;
    in_place.in_place = true;
    in_place.misalignment = 20;
    tasks.push_back({known, Call(in_place, child.index, child.size)});
  }
  for (Task& task : tasks) {
    if (!task.in_place) task.call().forget_output();
    ASSERT_EQ(task.call().issue(comm, in_flight ? &task.work : nullptr), HOCKET_OK) << hocket_last_error();
    if (in_flight) continue;
    ASSERT_NO_FATAL_FAILURE(expect_known_bits(task, arrangement, seen));
  }
  for (Task& task : tasks) {
    if (!in_flight) break;
    ASSERT_EQ(hocket_work_wait(task.work, 0), HOCKET_OK) << hocket_last_error();
    ASSERT_NO_FATAL_FAILURE(expect_known_bits(task, arrangement, seen));
    EXPECT_EQ(hocket_work_release(task.work), HOCKET_OK);
  }
}

// The same calls in the usual mode, by algorithms of another order: sums of all types must come out otherwise, or the
// values of this test would prove nothing.
void expect_other_bits_in_another_order(std::vector<Known>& all, const Child& child) {
  for (const char* name : {"ring", "chain"}) {
    const Arrangement arrangement{.algorithm = name};
    take_place(arrangement, child.index);
    const hocket_comm_options options = options_of(arrangement, false);
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    for (Known& known : all) {
      if (!has(known.what.collective, name) || known.what.salt != telling_elements) continue;
      ASSERT_EQ(known.call.issue(comm.get()), HOCKET_OK) << hocket_last_error();
      if (known.bits.empty()) continue;  // nothing is reduced to this rank
      // The ring sums the parts from different ranks on, and the last rank's from rank 0 on.
      if (known.what.collective == Collective::reduce_scatter && child.index == child.size - 1) continue;
      EXPECT_NE(known.call.output(), known.bits) << describe(known.what) << " by " << name;
    }
  }
}

// Narrow floats are rounded once where all operands are at hand, and after each operand in this mode.
void expect_other_bits_of_one_rounding(std::vector<Known>& all) {
  const Arrangement arrangement;
  const hocket_comm_options options = options_of(arrangement, false);
  const Comm comm(&options);
  ASSERT_TRUE(comm);
  for (Known& known : all) {
    const bool narrow = size_of(known.what.dtype) == 2 && !info_of(known.what.collective).is_prefix();
    if (!narrow || known.what.salt != telling_elements) continue;
    ASSERT_EQ(known.call.issue(comm.get()), HOCKET_OK) << hocket_last_error();
    if (known.bits.empty()) continue;  // nothing is reduced to this rank
    EXPECT_NE(known.call.output(), known.bits) << describe(known.what);
  }
}

class Determinism : public testing::TestWithParam<int> {};

TEST_P(Determinism, OfEveryArrangement) {
  run_ranks(GetParam(), [](Child& child) {
    std::vector<Known> all;
    for (const Case& what : cases(child.size)) all.push_back({what, Call(what, child.index, child.size), {}});
    std::set<std::string> seen;
    for (const Arrangement& arrangement : arrangements(child.size)) {
      SCOPED_TRACE(arrangement.text());
      take_place(arrangement, child.index);
      const hocket_comm_options options = options_of(arrangement, true);
      const Comm comm(&options);
      ASSERT_TRUE(comm);
      run_all(comm.get(), arrangement, all, child, seen);
      if (testing::Test::HasFailure()) return;
    }
    std::set<std::string> expected = names_in_rank_order();
    expected.insert({"direct one-shot", "direct mapped", "direct staged"});
    if (child.size > ::sysconf(_SC_NPROCESSORS_ONLN)) expected.insert("direct pooled");
    for (const std::string& name : expected) EXPECT_TRUE(seen.contains(name)) << name << " was never taken";
    if (child.size == 2) return;  // two operands have one order
    expect_other_bits_in_another_order(all, child);
    expect_other_bits_of_one_rounding(all);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Determinism, testing::Values(2, 3, 4, 5, 8), testing::PrintToStringParamName());

// Ranks that are threads; in a process of their own, since this one forks.
TEST(Determinism, OfRanksThatAreThreads) {
  run_ranks(1, [](Child&) {
    std::set<std::string> names = names_in_rank_order();
    names.insert("auto");
    for (const int size : {2, 3, 4, 5, 8}) {
      for (const std::string& name : names) {
        SCOPED_TRACE(std::to_string(size) + " threads, " + name);
        const Arrangement arrangement{.algorithm = name};
        const hocket_comm_options options = options_of(arrangement, true);
        std::vector<hocket_comm*> made(static_cast<std::size_t>(size));
        ASSERT_EQ(hocket_comm_create_local(made.data(), size, &options), HOCKET_OK) << hocket_last_error();
        std::vector<std::thread> threads;
        for (Rank rank = 0; rank < size; ++rank) {
          threads.emplace_back([&, rank, comm = made[static_cast<std::size_t>(rank)]] {
            for (const Case& what : cases(size)) {
              if (what.count > (size == 3 ? telling_elements : 700)) continue;  // the rest would take long
              if (name != "auto" && !has(what.collective, name)) continue;
              Call(what, rank, size).run(comm);
            }
          });
        }
        for (std::thread& thread : threads) thread.join();
        for (hocket_comm* comm : made) EXPECT_EQ(hocket_comm_destroy(comm), HOCKET_OK);
        if (testing::Test::HasFailure()) return;
      }
    }
  });
}

}  // namespace
}  // namespace hocket::process_testing
