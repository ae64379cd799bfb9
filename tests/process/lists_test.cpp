// Collectives on lists of tensors, compared with the calls for one tensor each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "hocket/hocket.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/tensor_list.hpp"

namespace hocket::process_testing {
namespace {

// Many small ones, with empty ones between; large ones among small ones; more small ones than one pack holds.
std::vector<std::vector<std::size_t>> lists() {
  std::vector<std::size_t> many, packs;
  for (std::size_t i = 0; i < 200; ++i) many.push_back(i * 7 % 40);
  for (std::size_t i = 0; i < 12; ++i) packs.push_back(23000 + i);
  return {{}, {5}, {0, 0}, {3, 40001, 1, 0, 35021, 17}, many, packs};
}

std::uint64_t operations(hocket_comm* comm) {
  hocket_counters counters = HOCKET_COUNTERS_INIT;
  EXPECT_EQ(hocket_comm_counters(comm, &counters), HOCKET_OK);
  return counters.operations;
}

class Lists : public testing::TestWithParam<Ranks> {};

TEST_P(Lists, HoldWhatTheCallsForOneTensorWould) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const std::vector<DataType> mixed = {DataType::float32, DataType::int8, DataType::complex128, DataType::bfloat16};
    for (const Collective collective : list_collectives) {
      for (const bool in_place : {false, true}) {
        std::uint64_t salt = 1;
        for (const std::vector<std::size_t>& counts : lists()) {
          for (const std::vector<DataType>& dtypes : {mixed, {DataType::float32}}) {
            SCOPED_TRACE(std::string(name_of(collective)) + " of " + std::to_string(counts.size()) + " tensors");
            List list({.collective = collective, .root = child.size - 1, .in_place = in_place, .salt = salt += 1000},
                      counts, dtypes, child.index, child.size);
            list.run(comm.get());
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  });
}

TEST_P(Lists, TakeEveryTypeAndOperation) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (const DataType dtype : all_data_types) {
      for (const ReduceOp op : ops_of(dtype)) {
        if (op == ReduceOp::premultiplied_sum) continue;
        for (const Collective collective : {Collective::allreduce, Collective::reduce_scatter}) {
          List({.collective = collective, .dtype = dtype, .op = op}, {3, 0, 40, 1}, child.index, child.size)
              .run(comm.get());
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  });
}

TEST_P(Lists, AreMultipliedBeforeTheyAreSummed) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const float scalar = 3;
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.scalar = &scalar;
    std::vector<float> small(5, 2.0F), large(50000, 4.0F), other(7, 1.0F);
    std::vector<hocket_tensor> list;
    for (auto* tensor : {&small, &large, &other}) {
      list.push_back({tensor->data(), tensor->data(), tensor->size(), HOCKET_FLOAT32});
    }
    expect_result(
        hocket_allreduce_list(list.data(), list.size(), HOCKET_PREMULTIPLIED_SUM, comm.get(), &options, nullptr),
        HOCKET_OK);
    const auto ranks = static_cast<float>(child.size);
    EXPECT_EQ(small, std::vector<float>(5, 6 * ranks));
    EXPECT_EQ(large, std::vector<float>(50000, 12 * ranks));
    EXPECT_EQ(other, std::vector<float>(7, 3 * ranks));
  });
}

// What comes last in rank order wins: associative, not commutative.
void last(void* to, const void*, const void* right, std::size_t count, hocket_dtype dtype, void* calls) {
  std::memmove(to, right, count * hocket_dtype_size(dtype));
  ++*static_cast<int*>(calls);
}

TEST_P(Lists, TakeTheCallersFunction) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    int calls = 0;
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.function = last;
    options.context = &calls;
    std::vector<std::int16_t> small(5, static_cast<std::int16_t>(child.index));
    std::vector<double> large(50000, child.index), other(7, child.index);
    const hocket_tensor list[] = {{small.data(), small.data(), small.size(), HOCKET_INT16},
                                  {large.data(), large.data(), large.size(), HOCKET_FLOAT64},
                                  {other.data(), other.data(), other.size(), HOCKET_FLOAT64}};
    expect_result(hocket_allreduce_list(list, 3, HOCKET_USER, comm.get(), &options, nullptr), HOCKET_OK);
    EXPECT_EQ(small, std::vector<std::int16_t>(5, static_cast<std::int16_t>(child.size - 1)));
    EXPECT_EQ(large, std::vector<double>(50000, child.size - 1));
    EXPECT_EQ(other, std::vector<double>(7, child.size - 1));
  });
}

TEST_P(Lists, ManySmallTensorsAreOneOperation) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    if (child.size == 1) return;
    const std::uint64_t before = operations(comm.get());
    List({.collective = Collective::allreduce}, std::vector<std::size_t>(500, 16), child.index, child.size)
        .run(comm.get());
    EXPECT_EQ(operations(comm.get()), before + 1);
  });
}

TEST_P(Lists, InFlightAmongOtherCalls) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    std::vector<List> made;
    made.reserve(20);
    std::vector<hocket_work*> works(20);
    for (std::size_t i = 0; i < works.size(); ++i) {
      made.emplace_back(Case{.collective = list_collectives[i % 5], .in_place = i % 3 == 0, .salt = i * 100},
                        lists()[i % lists().size()], child.index, child.size);
      expect_result(made.back().issue(comm.get(), &works[i]), HOCKET_OK);
      if (i % 5 == 0) {
        Call({.collective = Collective::allgather, .count = i, .salt = i}, child.index, child.size).run(comm.get());
      }
    }
    for (std::size_t i = works.size(); i-- > 0;) {
      expect_result(hocket_work_wait(works[i], 0), HOCKET_OK);
      expect_result(hocket_work_test(works[i]), HOCKET_OK);
      expect_result(hocket_work_release(works[i]), HOCKET_OK);
      made[i].expect_correct();
    }
  });
}

// In groups, and persistent with a function that is called once for each run.
TEST_P(Lists, AreMembersOfGroupsAndStartedAgain) {
  run_ranks(GetParam(), [](Child& child) {
    auto comm = Communicator::create();
    List first({.collective = Collective::allreduce, .salt = 1}, lists()[3], child.index, child.size);
    List second({.collective = Collective::allgather, .salt = 5000}, lists()[4], child.index, child.size);
    std::vector<int> mine(100, child.index), theirs(100);
    Group group;
    comm.sendrecv(mine, (child.index + 1) % child.size, theirs, (child.index + child.size - 1) % child.size);
    expect_result(first.issue(comm.handle()), HOCKET_OK);
    expect_result(second.issue(comm.handle()), HOCKET_OK);
    group.end();
    first.expect_correct();
    second.expect_correct();
    EXPECT_EQ(theirs, std::vector<int>(100, (child.index + child.size - 1) % child.size));

    std::vector<float> small(10), other(30);
    std::vector<std::int64_t> large(70000);
    Work work = allreduce_list_async(comm, {small, large, other}, Op::sum, {.persistent = true});
    for (int run = 1; run < 30; ++run) {
      small.assign(10, static_cast<float>(run));
      large.assign(70000, run);
      other.assign(30, 1);
      std::atomic<int> told{0};
      work.start();
      work.on_complete([&](hocket_result result) { told += result == HOCKET_OK ? 1 : 100; });
      work.wait();
      while (told == 0) std::this_thread::yield();
      EXPECT_EQ(told, 1);
      EXPECT_EQ(small, std::vector<float>(10, static_cast<float>(run * child.size)));
      EXPECT_EQ(large, std::vector<std::int64_t>(70000, run * child.size));
      EXPECT_EQ(other, std::vector<float>(30, static_cast<float>(child.size)));
      if (testing::Test::HasFailure()) return;
    }
  });
}

TEST_P(Lists, OfTheWrapper) {
  run_ranks(GetParam(), [](Child& child) {
    auto comm = Communicator::create();
    const auto size = static_cast<std::size_t>(child.size);
    std::vector<std::vector<int>> tensors = {{1, 2}, {}, {3}};
    allreduce_list(comm, tensors, Op::sum);
    EXPECT_EQ(tensors, (std::vector<std::vector<int>>{{child.size, 2 * child.size}, {}, {3 * child.size}}));
    std::vector<double> all(2 * size), some(size);
    std::vector<std::uint8_t> bytes(3 * size);
    const std::vector<double> two(2, child.index), one(1, child.index);
    const std::vector<std::uint8_t> three(3, 7);
    allgather_list(comm, {{two, all}, {three, bytes}, {one, some}});
    EXPECT_EQ(all.back(), child.size - 1);
    EXPECT_EQ(some.back(), child.size - 1);
    EXPECT_EQ(bytes, std::vector<std::uint8_t>(3 * size, 7));
    broadcast_list(comm, {all, bytes}, 0);
    reduce_list(comm, tensors, Op::max, 0);
    double mine = 0;
    reduce_scatter_list(comm, {{some, std::span(&mine, 1)}}, Op::sum);
    EXPECT_EQ(mine, child.index * child.size);
    EXPECT_THAT(
        [&] {
          allgather_list(comm, {{two, some}});
        },
        testing::ThrowsMessage<Error>(testing::HasSubstr("the input of tensor 0 has 2 elements")));
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Lists, testing::Values(1, 2, 3, 5), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Hosts, Lists, testing::Values("012", "01201"), testing::PrintToStringParamName());

class RoundedLists : public testing::TestWithParam<Ranks> {};

// Packs keep blocks of different tensors apart, so what is rounded is what would be without the list.
TEST_P(RoundedLists, RoundAsTheCallsForOneTensorDo) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (const hocket_wire wire : {HOCKET_WIRE_BFLOAT16, HOCKET_WIRE_INT8_BLOCKS}) {
      hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
      options.wire = wire;
      const auto size = static_cast<std::size_t>(child.size);
      std::vector<std::vector<float>> inputs, expected, found;
      float scale = 1;
      for (const std::size_t count : {3, 100, 64, 0, 40000, 1, 65}) {
        inputs.emplace_back(count * size);
        for (std::size_t i = 0; i < count * size; ++i) {
          inputs.back()[i] = scale * static_cast<float>((i * 7919 + static_cast<std::size_t>(child.index) * 31) % 1009);
        }
        scale /= 1000;  // in one block with its neighbour it would be lost
        expected.emplace_back(count * size, -1.0F);
      }
      found = expected;
      std::vector<hocket_tensor> list;
      for (const bool scatters : {false, true}) {
        list.clear();
        for (std::size_t i = 0; i < inputs.size(); ++i) {
          const std::size_t count = inputs[i].size() / (scatters ? size : 1);
          list.push_back({inputs[i].data(), found[i].data(), count, HOCKET_FLOAT32});
          expect_result((scatters ? hocket_reduce_scatter : hocket_allreduce)(inputs[i].data(), expected[i].data(),
                                                                              count, HOCKET_FLOAT32, HOCKET_SUM,
                                                                              comm.get(), &options, nullptr),
                        HOCKET_OK);
        }
        expect_result((scatters ? hocket_reduce_scatter_list : hocket_allreduce_list)(
                          list.data(), list.size(), HOCKET_SUM, comm.get(), &options, nullptr),
                      HOCKET_OK);
        EXPECT_EQ(found, expected);
        if (testing::Test::HasFailure()) return;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Hosts, RoundedLists, testing::Values("01", "012"), testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::process_testing
