// The setting of deterministic mode: where it comes from, and what it refuses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "hocket/lists.h"
#include "src/spi/schedule.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/last_call.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

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
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = "tcp";
    options.deterministic = 1;
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
    if (algorithm.collective->reduces() && !algorithm.in_rank_order) refused.emplace(algorithm.name);
  }
  ASSERT_TRUE(refused.contains("ring"));
  for (const std::string& name : refused) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.algorithm = name.c_str();
    options.deterministic = 1;
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
