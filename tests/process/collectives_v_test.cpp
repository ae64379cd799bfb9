// Collectives whose blocks vary, between real processes, each byte of both buffers looked at.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "src/spi/schedule.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/unequal_call.hpp"

namespace hocket::process_testing {
namespace {

constexpr Sizes all_sizes[] = {Sizes::random, Sizes::zero, Sizes::one_has_all};

// Runs the collective with two roots, in place and not, packed and displaced, at addresses that differ from call to
// call.
void collectives_run_everywhere(hocket_comm* comm, const Child& child, UnequalCase what) {
  std::set<Rank> roots{0};
  if (info_of(what.collective).has_root()) roots.insert(child.size - 1);
  for (const Rank root : roots) {
    for (const bool in_place : {false, true}) {
      for (const bool displaced : {false, true}) {
        what.root = root;
        what.in_place = in_place;
        // Ranks may differ: that is everybody's own business.
        what.displaced = displaced != (child.index == 1);
        what.misalignment = (what.misalignment + 7) % 64;
        ++what.salt;
        UnequalCall(what, child.index, child.size).run(comm);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

void run_every_collective(hocket_comm* comm, const Child& child, UnequalCase what) {
  for (const Collective collective : unequal_collectives) {
    for (const Sizes sizes : all_sizes) {
      what.collective = collective;
      what.sizes = sizes;
      collectives_run_everywhere(comm, child, what);
      if (testing::Test::HasFailure()) return;
    }
  }
}

class UnequalCollectives : public testing::TestWithParam<Ranks> {
 protected:
  const Ranks ranks_ = GetParam();
};

TEST_P(UnequalCollectives, EverySizeRootAndPlacement) {
  run_ranks(ranks_, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    run_every_collective(comm.get(), child, {.scale = 50});
    run_every_collective(comm.get(), child, {.scale = 3, .dtype = DataType::uint8, .salt = 1000});
    run_every_collective(comm.get(), child, {.scale = 300'000, .dtype = DataType::int16, .salt = 2000});  // two slices
  });
}

TEST_P(UnequalCollectives, OverTcp) {
  run_ranks(ranks_, [](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = "tcp";
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    run_every_collective(comm.get(), child, {.scale = 200, .dtype = DataType::float64});
    run_every_collective(comm.get(), child, {.scale = 300'000, .salt = 1000});
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, UnequalCollectives, testing::Values(1, 2, 3, 5, 8), testing::PrintToStringParamName());
INSTANTIATE_TEST_SUITE_P(Hosts, UnequalCollectives, testing::Values("0011", "01201"),
                         testing::PrintToStringParamName());

// Named ones that cannot have blocks of unequal size give way to others.
TEST(UnequalAlgorithms, ByName) {
  run_ranks(5, [](Child& child) {
    std::set<std::string> names;
    for (const Algorithm& algorithm : catalog()) {
      if (!algorithm.collective->is_vector()) names.emplace(algorithm.name);
    }
    for (const std::string& name : names) {
      SCOPED_TRACE(name);
      hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
      options.algorithm = name.c_str();
      const Comm comm(&options);
      ASSERT_TRUE(comm);
      for (const Collective collective : unequal_collectives) {
        for (const Sizes sizes : {Sizes::random, Sizes::one_has_all}) {
          collectives_run_everywhere(comm.get(), child, {.collective = collective, .sizes = sizes, .scale = 1000});
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  });
}

void add_floats(void* to, const void* left, const void* right, size_t count, hocket_dtype, void*) {
  for (size_t i = 0; i < count; ++i) {
    static_cast<float*>(to)[i] = static_cast<const float*>(left)[i] + static_cast<const float*>(right)[i];
  }
}

TEST(UnequalReductions, OfSeveralKinds) {
  run_ranks(3, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    UnequalCase what{.collective = Collective::reduce_scatter_v, .scale = 70};
    for (const DataType dtype : {DataType::float32, DataType::int32, DataType::bfloat16, DataType::float64}) {
      for (const ReduceOp op :
           {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::avg, ReduceOp::premultiplied_sum}) {
        what.dtype = dtype;
        what.op = op;
        collectives_run_everywhere(comm.get(), child, what);
        if (testing::Test::HasFailure()) return;
      }
    }
    for (const bool commutative : {true, false}) {
      hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
      options.function = add_floats;
      options.commutative = commutative;
      UnequalCall call({.collective = Collective::reduce_scatter_v, .op = ReduceOp::user, .misalignment = 3},
                       child.index, child.size);
      ASSERT_EQ(call.issue(comm.get(), nullptr, &options), HOCKET_OK) << hocket_last_error();
      call.expect_correct();
    }
  });
}

// Whole numbers of this size survive bfloat16 unharmed.
TEST(UnequalReductions, InLowerPrecision) {
  run_ranks(3, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.wire = HOCKET_WIRE_BFLOAT16;
    for (const Collective collective : {Collective::reduce_scatter_v, Collective::allgather_v}) {
      for (const Sizes sizes : all_sizes) {
        for (const std::size_t scale : {100, 400'000}) {
          UnequalCall call({.collective = collective, .sizes = sizes, .scale = scale}, child.index, child.size);
          ASSERT_EQ(call.issue(comm.get(), nullptr, &options), HOCKET_OK) << hocket_last_error();
          call.expect_correct();
        }
      }
    }
    UnequalCall call({.collective = Collective::alltoall_v}, child.index, child.size);
    EXPECT_EQ(call.issue(comm.get(), nullptr, &options), HOCKET_UNSUPPORTED);
  });
}

// Started together, waited for in the order of nobody; between them calls that take direct paths.
TEST(UnequalAsynchronous, ManyAtOnce) {
  run_ranks(3, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (std::uint64_t round = 0; round < 4; ++round) {
      std::vector<UnequalCall> calls;
      std::vector<hocket_work*> works;
      for (std::uint64_t i = 0; i < 10; ++i) {
        calls.emplace_back(UnequalCase{.collective = unequal_collectives[(i + round) % 5],
                                       .sizes = all_sizes[i % 3],
                                       .scale = i % 4 == 0 ? 200'000U : 90U,
                                       .in_place = i % 2 == 0,
                                       .displaced = i % 3 == 0,
                                       .salt = 10 * round + i},
                           child.index, child.size);
      }
      for (UnequalCall& call : calls) {
        ASSERT_EQ(call.issue(comm.get(), &works.emplace_back()), HOCKET_OK) << hocket_last_error();
      }
      Call({.count = 100}, child.index, child.size).run(comm.get());
      for (std::size_t i = 0; i < works.size(); ++i) {
        hocket_work* const work = works[(i * 7 + static_cast<std::size_t>(child.index)) % works.size()];
        ASSERT_EQ(hocket_work_wait(work, 0), HOCKET_OK) << hocket_last_error();
      }
      for (const UnequalCall& call : calls) call.expect_correct();
      for (hocket_work* const work : works) hocket_work_release(work);
      if (testing::Test::HasFailure()) return;
    }
  });
}

TEST(UnequalCall, TellHowTheyWereDone) {
  run_ranks(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    UnequalCall({.collective = Collective::alltoall_v, .scale = 400'000}, child.index, child.size).run(comm.get());
    hocket_call_info info = HOCKET_CALL_INFO_INIT;
    ASSERT_EQ(hocket_last_call(&info), HOCKET_OK);
    EXPECT_STREQ(info.algorithm, "pairwise");
    EXPECT_STREQ(info.transport, "shm");
  });
}

}  // namespace
}  // namespace hocket::process_testing
