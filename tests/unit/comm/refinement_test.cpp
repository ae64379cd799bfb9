// Ranks that refine their choice while they run, as threads. Times are made up: what a call seems to take follows from
// its algorithm alone, whatever the machine does meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "src/comm/communicator.hpp"

namespace hocket {
namespace {

using testing::Each;

constexpr int calls_until_settled = 180;  // warm-up and one round for each contender

Options refining(Rank size) {
  Options options{.size = size, .timeout = std::chrono::seconds(60)};
  options.refine = true;
  // A table that names what takes longest here.
  options.tuning.set(size, 1, *Choices::parse("allreduce=binomial_tree"));
  options.measure = [](std::string_view algorithm, double) {
    return algorithm == "binomial_tree" ? 9e-3 : algorithm == "recursive_doubling" ? 1e-3 : 2e-3;
  };
  return options;
}

// What each rank's calls ran by.
using Ran = std::vector<std::vector<std::string>>;

// Runs `program` for every rank on a thread of its own.
void on_all(std::vector<std::unique_ptr<Communicator>>& ranks, const std::function<void(Communicator&)>& program) {
  std::vector<std::thread> threads;
  for (auto& rank : ranks) threads.emplace_back([&] { program(*rank); });
  for (auto& thread : threads) thread.join();
}

std::vector<std::unique_ptr<Communicator>> ranks_with(const Options& options) {
  auto made = Communicator::create_local(options);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return std::move(*made);
}

CallArguments allreduce_of(std::vector<float>& values) {
  return {.collective = Collective::allreduce,
          .send = values.data(),
          .recv = values.data(),
          .count = values.size(),
          .dtype = HOCKET_FLOAT32,
          .op = HOCKET_SUM};
}

// Sums in place. Each rank gives its rank + 1.
void expect_sum(const std::vector<float>& values, Rank size) {
  EXPECT_THAT(values, Each(static_cast<float>(size * (size + 1) / 2)));
}

TEST(Refinement, AWrongTableIsLeftForTheFasterAlgorithm) {
  constexpr Rank size = 4;
  auto ranks = ranks_with(refining(size));
  Ran ran(size);
  on_all(ranks, [&](Communicator& comm) {
    std::mt19937 random(static_cast<unsigned>(comm.rank()));
    for (int i = 0; i < calls_until_settled; ++i) {
      if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      std::vector<float> values(4096, static_cast<float>(comm.rank() + 1));
      auto operation = comm.prepare(allreduce_of(values));
      ASSERT_TRUE(operation.ok()) << operation.status().message();
      const Status status = comm.run({&*operation, 1});
      ASSERT_TRUE(status.ok()) << status.message();
      expect_sum(values, size);
      ran[static_cast<std::size_t>(comm.rank())].emplace_back((*operation)->algorithm());
    }
  });
  EXPECT_THAT(ran, Each(ran[0]));
  EXPECT_EQ(ran[0].front(), "binomial_tree");
  EXPECT_EQ(ran[0].back(), "recursive_doubling");
}

// Some ranks start any number of calls before they wait for the first, some wait for each: verdicts reach them at
// different times, choices must not.
TEST(Refinement, RanksThatRunAheadChooseAlike) {
  constexpr Rank size = 5;
  auto ranks = ranks_with(refining(size));
  Ran ran(size);
  on_all(ranks, [&](Communicator& comm) {
    const std::size_t ahead = comm.rank() == 0 ? calls_until_settled : static_cast<std::size_t>(comm.rank());
    std::vector<std::vector<float>> values(calls_until_settled);
    std::vector<std::shared_ptr<Operation>> started;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i].assign(i % 3 == 0 ? 100 : 5000, static_cast<float>(comm.rank() + 1));
      auto operation = comm.prepare(allreduce_of(values[i]));
      ASSERT_TRUE(operation.ok()) << operation.status().message();
      ASSERT_TRUE(comm.start({&*operation, 1}).ok());
      started.push_back(*operation);
      if (i >= ahead) {
        ASSERT_TRUE(comm.executor().wait({&started[i - ahead], 1}, Deadline::after(std::chrono::seconds(60))).ok());
      }
    }
    for (auto& operation : started) {
      const Status status = comm.executor().wait({&operation, 1}, Deadline::after(std::chrono::seconds(60)));
      ASSERT_TRUE(status.ok()) << status.message();
      ran[static_cast<std::size_t>(comm.rank())].emplace_back(operation->algorithm());
    }
    for (const auto& one : values) expect_sum(one, size);
  });
  EXPECT_THAT(ran, Each(ran[0]));
  EXPECT_EQ(ran[0].back(), "recursive_doubling");
}

// Calls whose order or algorithm is the caller's, and those of other kinds, are left alone and not counted.
TEST(Refinement, LeavesAloneWhatIsNotFreeToChoose) {
  constexpr Rank size = 3;
  Options options = refining(size);
  options.algorithms = *Choices::parse("allreduce=linear:4K,auto");
  auto ranks = ranks_with(options);
  Ran named(size), own(size);
  const auto function = [](void* to, const void* left, const void* right, std::size_t count, hocket_dtype, void*) {
    const auto* a = static_cast<const float*>(left);
    const auto* b = static_cast<const float*>(right);
    for (std::size_t i = 0; i < count; ++i) static_cast<float*>(to)[i] = a[i] + b[i];
  };
  on_all(ranks, [&](Communicator& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    for (int i = 0; i < 60; ++i) {
      std::vector<float> few(1000, static_cast<float>(comm.rank() + 1)), many(2000, few[0]);
      CallArguments user = allreduce_of(many);
      user.op = HOCKET_USER;
      user.function = function;
      user.commutative = true;
      for (const auto& [arguments, names] : {std::pair(allreduce_of(few), &named), std::pair(user, &own)}) {
        auto operation = comm.prepare(arguments);
        ASSERT_TRUE(operation.ok()) << operation.status().message();
        ASSERT_TRUE(comm.run({&*operation, 1}).ok());
        (*names)[rank].emplace_back((*operation)->algorithm());
      }
      expect_sum(few, size);
      expect_sum(many, size);
    }
  });
  EXPECT_THAT(named, Each(Each("linear")));
  EXPECT_THAT(own, Each(Each("binomial_tree")));
}

TEST(Refinement, IsOffUnlessAskedFor) {
  constexpr Rank size = 3;
  Options options = refining(size);
  options.refine = false;
  auto ranks = ranks_with(options);
  on_all(ranks, [&](Communicator& comm) {
    for (int i = 0; i < 60; ++i) {
      std::vector<float> values(4096, 1);
      auto operation = comm.prepare(allreduce_of(values));
      ASSERT_TRUE(operation.ok() && comm.run({&*operation, 1}).ok());
      EXPECT_EQ((*operation)->algorithm(), "binomial_tree");
    }
  });
}

}  // namespace
}  // namespace hocket
