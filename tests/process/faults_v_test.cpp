// Collectives whose blocks vary, called wrongly: what is refused by name, and what ranks disagree on.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/process/support/bad_call.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

using Counts = std::array<std::size_t, 3>;  // for three ranks
constexpr auto float32 = HOCKET_FLOAT32;
constexpr std::size_t huge = std::numeric_limits<std::size_t>::max() / 8;
constexpr Counts ones{1, 1, 1}, some{2, 3, 4};

// ---- arguments

// Of which `counts` and displacements `at` are wrong; nothing moves.
auto allgather(Counts counts, Counts at = {0, 10, 20}, std::size_t own = 3) {
  return [=](hocket_comm* comm, float* a, float* b) {
    return hocket_allgather_v(a, own, b, counts.data(), at.data(), float32, comm, nullptr, nullptr);
  };
}

std::vector<BadCall> bad_lists() {
  return {
      {"null_recvcounts", "recvcounts is null",
       [](auto* comm, float* a, float* b) {
         return hocket_allgather_v(a, 3, b, nullptr, nullptr, float32, comm, nullptr, nullptr);
       }},
      {"null_recvcounts_of_reduce_scatter", "recvcounts is null",
       [](auto* comm, float* a, float* b) {
         return hocket_reduce_scatter_v(a, b, nullptr, float32, HOCKET_SUM, comm, nullptr, nullptr);
       }},
      {"null_sendcounts_of_scatter", "sendcounts is null",
       [](auto* comm, float* a, float* b) {
         return hocket_scatter_v(a, nullptr, nullptr, b, 3, float32, 1, comm, nullptr, nullptr);
       }},
      {"null_recvcounts_of_gather", "recvcounts is null",
       [](auto* comm, float* a, float* b) {
         return hocket_gather_v(a, 3, b, nullptr, nullptr, float32, 1, comm, nullptr, nullptr);
       }},
      {"null_sendcounts_of_alltoall", "sendcounts is null",
       [](auto* comm, float* a, float* b) {
         return hocket_alltoall_v(a, nullptr, nullptr, b, some.data(), nullptr, float32, comm, nullptr, nullptr);
       }},
      {"null_recvcounts_of_alltoall", "recvcounts is null",
       [](auto* comm, float* a, float* b) {
         return hocket_alltoall_v(a, some.data(), nullptr, b, nullptr, nullptr, float32, comm, nullptr, nullptr);
       }},
      {"one_huge_count", "recvcounts[2]", allgather({2, 3, 8 * huge})},
      {"counts_that_add_up_to_too_much", "recvcounts add up", allgather({huge, 3, huge})},
      {"huge_displacement", "displacements[0]", allgather(some, {8 * huge, 10, 20})},
      {"huge_own_count", "recvcount is",
       [](auto* comm, float* a, float* b) {
         return hocket_scatter_v(a, nullptr, nullptr, b, 8 * huge, float32, 0, comm, nullptr, nullptr);
       }},
      {"blocks_of_recv_overlap", "ranks 0 and 2 overlap in recv: their displacements are 0 and 1",
       allgather(some, {0, 10, 1})},
      {"blocks_of_recv_overlap_in_alltoall", "recvdispls are 0 and 3",
       [](auto* comm, float* a, float* b) {
         const Counts at{0, 3, 20}, counts{4, 3, 2};
         return hocket_alltoall_v(a, some.data(), nullptr, b, counts.data(), at.data(), float32, comm, nullptr,
                                  nullptr);
       }},
      {"own_count_of_allgather", "sendcount is 4, but recvcounts[1]", allgather(some, {0, 10, 20}, 4)},
      {"own_count_of_gather", "sendcount is 4, but recvcounts[1]",
       [](auto* comm, float* a, float* b) {
         return hocket_gather_v(a, 4, b, some.data(), nullptr, float32, 1, comm, nullptr, nullptr);
       }},
      {"own_count_of_scatter", "recvcount is 4, but sendcounts[1]",
       [](auto* comm, float* a, float* b) {
         return hocket_scatter_v(a, some.data(), nullptr, b, 4, float32, 1, comm, nullptr, nullptr);
       }},
      {"own_count_of_alltoall", "sendcounts[1] is 3, but recvcounts[1] is 1",
       [](auto* comm, float* a, float* b) {
         return hocket_alltoall_v(a, some.data(), nullptr, b, ones.data(), nullptr, float32, comm, nullptr, nullptr);
       }},
  };
}

std::vector<BadCall> faults_v_bad_buffers() {
  return {
      {"null_send", "send is null, but the block of rank 1",
       [](auto* comm, float*, float* b) {
         return hocket_allgather_v(nullptr, 3, b, some.data(), nullptr, float32, comm, nullptr, nullptr);
       }},
      {"null_recv", "recv is null, but the block of rank 0",
       [](auto* comm, float* a, float*) {
         return hocket_allgather_v(a, 3, nullptr, some.data(), nullptr, float32, comm, nullptr, nullptr);
       }},
      {"overlap_of_allgather", "overlap",
       [](auto* comm, float* a, float*) {
         return hocket_allgather_v(a, 3, a, some.data(), nullptr, float32, comm, nullptr, nullptr);
       }},
      {"overlap_of_reduce_scatter", "overlap",
       [](auto* comm, float* a, float*) {
         return hocket_reduce_scatter_v(a, a + 1, some.data(), float32, HOCKET_SUM, comm, nullptr, nullptr);
       }},
      {"overlap_of_scatter", "overlap",
       [](auto* comm, float* a, float*) {
         return hocket_scatter_v(a, some.data(), nullptr, a, 3, float32, 1, comm, nullptr, nullptr);
       }},
      {"overlap_of_gather", "overlap",
       [](auto* comm, float* a, float*) {
         return hocket_gather_v(a + 8, 3, a, some.data(), nullptr, float32, 1, comm, nullptr, nullptr);
       }},
      {"alltoall_in_place_with_other_counts", "the same blocks",
       [](auto* comm, float* a, float*) {
         const Counts other{3, 3, 3};
         return hocket_alltoall_v(a, some.data(), nullptr, a, other.data(), nullptr, float32, comm, nullptr, nullptr);
       }},
      {"alltoall_in_place_with_other_displacements", "the same blocks",
       [](auto* comm, float* a, float*) {
         const Counts other{20, 10, 0};
         return hocket_alltoall_v(a, some.data(), nullptr, a, some.data(), other.data(), float32, comm, nullptr,
                                  nullptr);
       }},
      {"root", "root is 3",
       [](auto* comm, float* a, float* b) {
         return hocket_gather_v(a, 3, b, some.data(), nullptr, float32, 3, comm, nullptr, nullptr);
       }},
      {"op_without_meaning", "band has no meaning",
       [](auto* comm, float* a, float* b) {
         return hocket_reduce_scatter_v(a, b, some.data(), float32, HOCKET_BAND, comm, nullptr, nullptr);
       }},
      {"null_comm", "comm is null",
       [](auto*, float* a, float* b) {
         return hocket_allgather_v(a, 3, b, some.data(), nullptr, float32, nullptr, nullptr, nullptr);
       }},
  };
}

// Rank 1 of three makes all the bad calls; nothing of it reaches the others or its buffers, and everything works
// afterwards.
TEST(UnequalBadArguments, AreRefusedByNameAndBreakNothing) {
  run_ranks(3, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    std::vector<float> a(100, 1), b(100, 2);
    for (const auto& calls : {bad_lists(), faults_v_bad_buffers()}) {
      expect_all_refused(comm.get(), child, calls, a, b);  // a and b: 100 elements each
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(a, std::vector<float>(100, 1));
    EXPECT_EQ(b, std::vector<float>(100, 2));
  });
}

TEST(UnequalBadArguments, NothingMayBeNullWhereThereIsNothing) {
  run_ranks(3, [](Child&) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const Counts none{}, anywhere{~std::size_t{0}, 0, 5};
    expect_result(
        hocket_allgather_v(nullptr, 0, nullptr, none.data(), anywhere.data(), float32, comm.get(), nullptr, nullptr),
        HOCKET_OK);
    expect_result(hocket_alltoall_v(nullptr, none.data(), nullptr, nullptr, none.data(), nullptr, float32, comm.get(),
                                    nullptr, nullptr),
                  HOCKET_OK);
    expect_result(
        hocket_reduce_scatter_v(nullptr, nullptr, none.data(), float32, HOCKET_SUM, comm.get(), nullptr, nullptr),
        HOCKET_OK);
  });
}

// ---- what ranks disagree on

struct FaultsVDisagreement {
  const char* name;
  std::vector<std::string> in_message;
  std::function<hocket_result(hocket_comm*, int rank, float* a, float* b)> call;
};

// Rank 1 counts otherwise than the rest.
auto allgather_counts(Counts most, Counts odd) {
  return [=](hocket_comm* comm, int rank, float* a, float* b) {
    const Counts& counts = rank == 1 ? odd : most;
    return hocket_allgather_v(a, counts[static_cast<std::size_t>(rank)], b, counts.data(), nullptr, float32, comm,
                              nullptr, nullptr);
  };
}
auto reduce_scatter_counts(Counts most, Counts odd) {
  return [=](hocket_comm* comm, int rank, float* a, float* b) {
    return hocket_reduce_scatter_v(a, b, (rank == 1 ? odd : most).data(), float32, HOCKET_SUM, comm, nullptr, nullptr);
  };
}
// Rank 0 means that rank 1's block has `at_root` elements, rank 1 that it has `at_rank`.
auto scatter_counts(std::size_t at_root, std::size_t at_rank) {
  return [=](hocket_comm* comm, int rank, float* a, float* b) {
    const Counts counts{2, at_root, 4};
    const std::size_t own = rank == 1 ? at_rank : counts[static_cast<std::size_t>(rank)];
    return hocket_scatter_v(a, counts.data(), nullptr, b, own, float32, 0, comm, nullptr, nullptr);
  };
}
auto gather_counts(std::size_t at_root, std::size_t at_rank) {
  return [=](hocket_comm* comm, int rank, float* a, float* b) {
    const Counts counts{2, at_root, 4};
    const std::size_t own = rank == 1 ? at_rank : counts[static_cast<std::size_t>(rank)];
    return hocket_gather_v(a, own, b, counts.data(), nullptr, float32, 0, comm, nullptr, nullptr);
  };
}
// Rank 2 sends `sent` to rank 1, which expects `expected`; all else is 1.
auto alltoall_counts(std::size_t sent, std::size_t expected) {
  return [=](hocket_comm* comm, int rank, float* a, float* b) {
    Counts sends = ones, receives = ones;
    if (rank == 2) sends[1] = sent;
    if (rank == 1) receives[2] = expected;
    return hocket_alltoall_v(a, sends.data(), nullptr, b, receives.data(), nullptr, float32, comm, nullptr, nullptr);
  };
}

std::vector<FaultsVDisagreement> faults_v_disagreements() {
  return {
      {"allgather_totals",
       {"allgather_v of 9 float32", "allgather_v of 12 float32"},
       allgather_counts(some, {2, 3, 7})},
      {"allgather_order", {"digest"}, allgather_counts({2, 3, 4}, {4, 3, 2})},
      {"reduce_scatter_totals", {"of 9 float32, sum", "of 10 float32, sum"}, reduce_scatter_counts(some, {2, 3, 5})},
      {"reduce_scatter_order", {"digest"}, reduce_scatter_counts(some, {4, 3, 2})},
      {"scatter", {"scatter_v of 3 float32", "scatter_v of 5 float32", "rank 0", "rank 1"}, scatter_counts(3, 5)},
      {"scatter_of_nothing", {"scatter_v of 0 float32", "scatter_v of 5 float32"}, scatter_counts(0, 5)},
      {"scatter_to_who_wants_nothing", {"scatter_v of 3 float32", "scatter_v of 0 float32"}, scatter_counts(3, 0)},
      {"scatter_by_slices",
       {"scatter_v of 131072 float32", "scatter_v of 262144 float32"},
       scatter_counts(131'072, 262'144)},
      {"gather", {"gather_v of 3 float32", "gather_v of 5 float32", "rank 0", "rank 1"}, gather_counts(3, 5)},
      {"gather_of_nothing", {"gather_v of 3 float32", "gather_v of 0 float32"}, gather_counts(3, 0)},
      {"gather_by_who_wants_nothing", {"gather_v of 0 float32", "gather_v of 5 float32"}, gather_counts(0, 5)},
      {"alltoall", {"alltoall_v of 6 float32", "alltoall_v of 5 float32", "rank 1", "rank 2"}, alltoall_counts(6, 5)},
      {"alltoall_of_nothing", {"alltoall_v of 0 float32", "alltoall_v of 5 float32"}, alltoall_counts(0, 5)},
      {"scatter_of_much_to_who_wants_little",
       {"scatter_v of 100000 float32", "scatter_v of 5 float32", "rank 0", "rank 1"},
       scatter_counts(100'000, 5)},
      {"gather_of_much_by_who_wants_little",
       {"gather_v of 100000 float32", "gather_v of 3 float32", "rank 0", "rank 1"},
       gather_counts(3, 100'000)},
      {"gather_of_little_by_who_wants_much",
       {"gather_v of 5 float32", "gather_v of 100000 float32"},
       gather_counts(100'000, 5)},
      {"alltoall_of_much_and_little",
       {"alltoall_v of 100000 float32", "alltoall_v of 5 float32"},
       alltoall_counts(100'000, 5)},
      {"alltoall_of_little_and_much",
       {"alltoall_v of 6 float32", "alltoall_v of 100000 float32"},
       alltoall_counts(6, 100'000)},
      {"allgather_of_much_and_little",
       {"allgather_v of 9 float32", "allgather_v of 200003 float32"},
       allgather_counts(some, {2, 1, 200'000})},
      {"equal_and_unequal_blocks",
       {"allgather of 3 float32", "allgather_v of 9 float32"},
       [](auto* comm, int rank, float* a, float* b) {
         const Counts counts{3, 3, 3};
         return rank == 1 ? hocket_allgather(a, b, 3, float32, comm, nullptr, nullptr)
                          : hocket_allgather_v(a, 3, b, counts.data(), nullptr, float32, comm, nullptr, nullptr);
       }},
  };
}

// Whoever can go on after such a call finds out in a later one.
void faults_v_expect_mismatch(const FaultsVDisagreement& what, hocket_comm* comm, int rank) {
  std::vector<float> a(600'000), b(600'000);
  hocket_result result = what.call(comm, rank, a.data(), b.data());
  for (int calls = 0; result == HOCKET_OK && calls < 2; ++calls) {
    const Counts counts{};
    result = hocket_alltoall_v(nullptr, counts.data(), nullptr, nullptr, counts.data(), nullptr, float32, comm, nullptr,
                               nullptr);
  }
  expect_result(result, HOCKET_MISMATCH);
  for (const std::string& text : what.in_message) expect_message_names(text);
}

TEST(UnequalMismatch, IsAnErrorEverywhere) {
  for (const char* transport : {"auto", "tcp"}) {
    run_ranks(3, [transport](Child& child) {
      for (const FaultsVDisagreement& what : faults_v_disagreements()) {
        SCOPED_TRACE(std::string(transport) + ": " + what.name);
        hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
        options.transport = transport;
        options.timeout_ms = 20'000;
        const Comm comm(&options);
        ASSERT_TRUE(comm);
        Call({.count = 1}, child.index, child.size).run(comm.get());  // so that all have left creation
        faults_v_expect_mismatch(what, comm.get(), child.index);
        if (testing::Test::HasFailure()) return;
      }
    });
  }
}

}  // namespace
}  // namespace hocket::process_testing
