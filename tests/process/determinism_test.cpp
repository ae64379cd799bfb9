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
    if (!is_prefix(collective)) add(40009, DataType::float16, ReduceOp::avg);
  }
  return all;
}

struct Known {
  Case what;
  Call call;
  std::vector<std::byte> bits;  // from the first arrangement on, where they were compared with the plain sum
};

std::string algorithm_of_last_call() {
  hocket_call_info info = HOCKET_CALL_INFO_INIT;
  EXPECT_EQ(hocket_last_call(&info), HOCKET_OK);
  return info.algorithm;
}

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
    const bool narrow = size_of(known.what.dtype) == 2 && !is_prefix(known.what.collective);
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

// ---- the setting

// Of a large allreduce over messages, by the variable, the option, and a child's parent.
TEST(DeterministicMode, IsTakenFromOptionVariableAndParent) {
  run_ranks(3, [](Child& child) {
    const auto expect_ordered = [&](hocket_comm* comm, bool ordered) {
      Call({.count = 300007, .values = ordered ? Values::rounding : Values::exact}, child.index, child.size).run(comm);
      const Algorithm* algorithm = find_algorithm(Collective::allreduce, algorithm_of_last_call());
      ASSERT_NE(algorithm, nullptr);
      EXPECT_EQ(algorithm->in_rank_order, ordered) << algorithm->name;
    };
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = "tcp";
    const Comm standard(&options);
    expect_ordered(standard.get(), false);
    ::setenv("HOCKET_DETERMINISTIC", "1", 1);
    const Comm by_variable(&options);
    expect_ordered(by_variable.get(), true);
    options.deterministic = -1;
    const Comm not_by_option(&options);
    expect_ordered(not_by_option.get(), false);
    ::unsetenv("HOCKET_DETERMINISTIC");
    options.deterministic = 1;
    const Comm by_option(&options);
    expect_ordered(by_option.get(), true);
    hocket_comm* handle = nullptr;
    ASSERT_EQ(hocket_comm_duplicate(by_option.get(), &handle, nullptr), HOCKET_OK) << hocket_last_error();
    const Comm duplicate(handle);
    expect_ordered(duplicate.get(), true);
  });
}

TEST(DeterministicMode, LosesNoPrecisionThatACallAllows) {
  run_ranks(3, [](Child& child) {
    const Arrangement arrangement{.transport = "tcp"};
    const hocket_comm_options options = options_of(arrangement, true);
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    hocket_call_options permission = HOCKET_CALL_OPTIONS_INIT;
    permission.wire = HOCKET_WIRE_BFLOAT16;
    for (const Collective collective : {Collective::allreduce, Collective::reduce_scatter, Collective::allgather}) {
      Call call({.collective = collective, .count = 5000, .values = Values::rounding}, child.index, child.size);
      ASSERT_EQ(call.issue(comm.get(), nullptr, &permission), HOCKET_OK) << hocket_last_error();
      call.expect_correct();
      hocket_call_info info = HOCKET_CALL_INFO_INIT;
      ASSERT_EQ(hocket_last_call(&info), HOCKET_OK);
      EXPECT_STREQ(info.wire, "exact");
    }
  });
}

TEST(DeterministicMode, RefusesAlgorithmsOfAnotherOrder) {
  std::set<std::string> refused;
  for (const Algorithm& algorithm : catalog()) {
    if (reduces(algorithm.collective) && !algorithm.in_rank_order) refused.emplace(algorithm.name);
  }
  ASSERT_TRUE(refused.contains("ring"));
  for (const std::string& name : refused) {
    const Arrangement arrangement{.algorithm = name};
    hocket_comm_options options = options_of(arrangement, true);
    options.world_size = 1;
    hocket_comm* comm = nullptr;
    expect_result(hocket_comm_create(&comm, &options), HOCKET_UNSUPPORTED);
    expect_message_names("\"" + name + "\"");
    expect_message_names("HOCKET_DETERMINISTIC");
    hocket_comm* two[2] = {};
    expect_result(hocket_comm_create_local(two, 2, &options), HOCKET_UNSUPPORTED);
    options.deterministic = -1;
    expect_result(hocket_comm_create(&comm, &options), HOCKET_OK);
    EXPECT_EQ(hocket_comm_destroy(comm), HOCKET_OK);
  }
}

TEST(DeterministicMode, RefusesOtherNumbers) {
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.world_size = 1;
  options.deterministic = 2;
  hocket_comm* comm = nullptr;
  expect_result(hocket_comm_create(&comm, &options), HOCKET_INVALID_ARGUMENT);
  expect_message_names("options.deterministic is 2");
  options.deterministic = 0;
  ::setenv("HOCKET_DETERMINISTIC", "yes", 1);
  expect_result(hocket_comm_create(&comm, &options), HOCKET_INVALID_ENVIRONMENT);
  expect_message_names("HOCKET_DETERMINISTIC is \"yes\"");
  ::unsetenv("HOCKET_DETERMINISTIC");
}

TEST(DeterministicMode, IsThatOfAllRanksOrOfNone) {
  run_ranks(3, [](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.deterministic = child.index == 1 ? 1 : 0;
    options.timeout_ms = 20000;
    hocket_comm* comm = nullptr;
    expect_result(hocket_comm_create(&comm, &options), HOCKET_MISMATCH);
    expect_message_names("rank 1 was created in deterministic mode, rank ");
  });
}

TEST(DeterministicMode, HoldsForListsOfTensors) {
  for (const Ranks& ranks : {Ranks(3), Ranks("01201")}) {
    run_ranks(ranks, [](Child& child) {
      ::setenv("HOCKET_DETERMINISTIC", "1", 1);
      const Comm comm;
      ASSERT_TRUE(comm);
      // From left to right the small ones are lost in the large one before it is taken off again.
      const auto value = [](Rank rank, std::size_t i) {
        return rank % 3 == 0 ? 1e8F : rank % 3 == 2 ? -1e8F : 1.0F + static_cast<float>(i % 5);
      };
      std::vector<std::vector<float>> data;
      std::vector<hocket_tensor> list;
      for (const std::size_t count : {3, 0, 1000, 50'000, 17}) {
        data.emplace_back(count);
        for (std::size_t i = 0; i < count; ++i) data.back()[i] = value(child.index, i);
        list.push_back({data.back().data(), data.back().data(), count, HOCKET_FLOAT32});
      }
      expect_result(hocket_allreduce_list(list.data(), list.size(), HOCKET_SUM, comm.get(), nullptr, nullptr),
                    HOCKET_OK);
      for (const std::vector<float>& sums : data) {
        for (std::size_t i = 0; i < sums.size(); ++i) {
          float expected = value(0, i);
          for (Rank rank = 1; rank < child.size; ++rank) expected += value(rank, i);
          ASSERT_EQ(sums[i], expected) << i;
        }
      }
    });
  }
}

}  // namespace
}  // namespace hocket::process_testing
