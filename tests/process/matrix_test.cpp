// The whole matrix: every collective, every type, every reduction, in place and out of place, over each transport, each
// element compared with a plain reference; what is not defined must be refused by name.
//
// A new collective takes part once it has its row in the table, from which support/call.cpp derives how many blocks it
// has and what its output means.
#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <ostream>
#include <string>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/unequal_call.hpp"

namespace hocket::process_testing {
namespace {

struct MatrixPlace {
  Ranks ranks;
  const char* transport = "auto";
};

void PrintTo(const MatrixPlace& place, std::ostream* out) {
  PrintTo(place.ranks, out);
  *out << "_" << place.transport;
}

bool has_in_place(Collective collective) {
  return collective != Collective::barrier && !is_point_to_point(collective);
}

// Starts what a cell of the matrix is about, with the next counts and roots: all of them meet all cells in some place.
// Blocking calls would spend their time on waking each other.
class Cells {
 public:
  Cells(hocket_comm* comm, Rank rank, Rank size) : comm_(comm), rank_(rank), size_(size) {
    const auto ranks = static_cast<std::size_t>(size);
    counts_ = {0, 1, ranks - 1, 17 * ranks + 3};
  }

  void start(Collective collective, DataType dtype, ReduceOp op) {
    for (const bool in_place : {false, true}) {
      if (in_place && !has_in_place(collective)) continue;
      for (int time = 0; time < 2; ++time) {
        Call& call = running_.emplace_back(Running{Call(next(collective, dtype, op, in_place), rank_, size_)}).call;
        ASSERT_EQ(call.issue(comm_, &running_.back().work), HOCKET_OK) << hocket_last_error();
      }
    }
  }
  void finish() {
    for (Running& one : running_) {
      ASSERT_EQ(hocket_work_wait(one.work, 0), HOCKET_OK) << hocket_last_error();
      EXPECT_EQ(hocket_work_release(one.work), HOCKET_OK);
      one.call.expect_correct();
    }
    running_.clear();
  }
  void refuse(Collective collective, DataType dtype, ReduceOp op) {
    for (const bool in_place : {false, true}) {
      Call(next(collective, dtype, op, in_place), rank_, size_).expect_refused(comm_);
    }
  }
  std::uint64_t number() const { return number_; }

 private:
  struct Running {
    Call call;
    hocket_work* work = nullptr;
  };

  Case next(Collective collective, DataType dtype, ReduceOp op, bool in_place) {
    ++number_;
    return {.collective = collective,
            .count = counts_[(number_ + number_ / counts_.size()) % counts_.size()],
            .dtype = dtype,
            .op = op,
            .root = info_of(collective).has_root() ? static_cast<Rank>(number_ % static_cast<std::uint64_t>(size_)) : 0,
            .in_place = in_place,
            .misalignment = number_ * 7 % 64,
            .salt = number_};
  }

  hocket_comm* comm_;
  Rank rank_, size_;
  std::array<std::size_t, 4> counts_{};
  std::uint64_t number_ = 0;
  std::vector<Running> running_;
};

class Matrix : public testing::TestWithParam<MatrixPlace> {};

TEST_P(Matrix, OfCollectivesTypesReductionsAndPlacements) {
  run_ranks(GetParam().ranks, [](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = GetParam().transport;
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    Cells cells(comm.get(), child.index, child.size);
    for (const Collective collective : all_collectives) {
      if (is_point_to_point(collective)) continue;
      for (const DataType dtype : all_data_types) {
        for (const ReduceOpInfo& row : reduce_op_table) {
          const ReduceOp op = row.op;
          if (!info_of(collective).reduces() && op != ReduceOp::sum) continue;
          if (!info_of(collective).reduces() || (is_defined(dtype, op) && is_defined(collective, op))) {
            ASSERT_NO_FATAL_FAILURE(cells.start(collective, dtype, op));
          } else {
            cells.refuse(collective, dtype, op);
          }
        }
        ASSERT_NO_FATAL_FAILURE(cells.finish());
        if (testing::Test::HasFailure()) return;
      }
    }
    EXPECT_GT(cells.number(), 2000U);
  });
}

// Blocks that vary: every type and reduction with one of the ways in which sizes may vary, in turn.
TEST_P(Matrix, OfUnequalBlocksTypesReductionsAndPlacements) {
  run_ranks(GetParam().ranks, [](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = GetParam().transport;
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    constexpr Sizes sizes[] = {Sizes::random, Sizes::zero, Sizes::one_has_all};
    std::uint64_t number = 0;
    for (const Collective collective : unequal_collectives) {
      for (const DataType dtype : all_data_types) {
        for (const ReduceOpInfo& row : reduce_op_table) {
          const ReduceOp op = row.op;
          if (!info_of(collective).reduces() && op != ReduceOp::sum) continue;
          for (const bool in_place : {false, true}) {
            ++number;
            UnequalCall call({.collective = collective,
                              .sizes = sizes[number % std::size(sizes)],
                              .scale = 17,
                              .dtype = dtype,
                              .op = op,
                              .root = static_cast<Rank>(number % static_cast<std::uint64_t>(child.size)),
                              .in_place = in_place,
                              .displaced = number % 4 < 2,
                              .misalignment = number * 7 % 64,
                              .salt = number},
                             child.index, child.size);
            if (op == ReduceOp::user) continue;  // has a test of its own
            // Over several hosts the order of operands decides on the sign of a zero, and on how one-byte floats round.
            const Kind kind = info_of(dtype).kind;
            if (op == ReduceOp::prod && kind == Kind::complex) continue;
            if (kind == Kind::narrow_float && size_of(dtype) == 1 && op != ReduceOp::min && op != ReduceOp::max)
              continue;
            if (!info_of(collective).reduces() || is_defined(dtype, op)) {
              call.run(comm.get());
            } else {
              EXPECT_EQ(call.issue(comm.get()), HOCKET_INVALID_ARGUMENT) << name_of(dtype) << " " << name_of(op);
            }
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
    EXPECT_GT(number, 200U);
  });
}

// Pairs that exchange a message of every type, both ways.
TEST_P(Matrix, OfTypesAndMessages) {
  run_ranks(GetParam().ranks, [](Child& child) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = GetParam().transport;
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    const Rank peer = child.index ^ 1;
    if (peer >= child.size) return;
    std::uint64_t number = 0;
    for (const DataType dtype : all_data_types) {
      for (const std::size_t count : {0, 1, 131}) {
        for (const bool sends : {child.index<peer, child.index> peer}) {
          Call({.collective = sends ? Collective::send : Collective::recv,
                .count = count,
                .dtype = dtype,
                .root = peer,
                .misalignment = ++number * 7 % 64,
                .salt = number},
               child.index, child.size)
              .run(comm.get());
        }
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(On, Matrix,
                         testing::Values(MatrixPlace{1}, MatrixPlace{2, "shm"}, MatrixPlace{3, "shm"},
                                         MatrixPlace{4, "shm"}, MatrixPlace{5, "shm"}, MatrixPlace{8, "shm"},
                                         MatrixPlace{2, "tcp"}, MatrixPlace{3, "tcp"}, MatrixPlace{4, "tcp"},
                                         MatrixPlace{5, "tcp"}, MatrixPlace{8, "tcp"}, MatrixPlace{"010"},
                                         MatrixPlace{"0011"}, MatrixPlace{"01201"}, MatrixPlace{"00011212"}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::process_testing
