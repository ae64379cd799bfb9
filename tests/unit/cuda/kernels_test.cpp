// The GPU's kernels, compiled for the host, make the bits of the CPU's.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "src/cuda/reduce_arguments.hpp"
#include "src/exec/reduce.hpp"
#include "tests/support/host_kernels.hpp"
#include "tests/unit/exec/reduce_values.hpp"

namespace hocket::testing_support {
namespace {

using reduce_testing::Bytes;

bool has_kernel(DataType dtype, ReduceOp op) {
  return is_defined(dtype, op) && info_of(op).combines_as == op && info_of(op).takes == Takes::nothing;
}

struct Inputs {
  std::vector<Bytes> buffers;
  std::vector<const std::byte*> at;

  Inputs(DataType dtype, std::size_t number, std::size_t count, std::size_t offset) {
    reduce_testing::Random random(number * 1000 + count);
    for (std::size_t i = 0; i < number; ++i) {
      buffers.push_back(
          elements::visit(dtype, [&]<class T>(T) { return reduce_testing::any_values<T>(random, count + offset); }));
    }
    for (const Bytes& buffer : buffers) at.push_back(buffer.data() + offset * size_of(dtype));
  }
};

Bytes run_kernel(const Inputs& inputs, DataType dtype, ReduceOp op, std::size_t count, std::uint32_t divisor,
                 bool round_each, std::size_t offset) {
  const std::size_t bytes = count * size_of(dtype), gap = offset * size_of(dtype);
  std::array<Bytes, 2> results{Bytes(bytes + gap), Bytes(bytes + gap)};
  std::array<std::byte*, 2> outputs{results[0].data() + gap, results[1].data() + gap};
  auto arguments = cuda::reduce_arguments({.dtype = dtype,
                                           .op = op,
                                           .count = count,
                                           .divisor = divisor,
                                           .round_each = round_each,
                                           .inputs = inputs.at,
                                           .outputs = outputs});
  EXPECT_TRUE(arguments.ok());
  EXPECT_EQ(arguments->aligned != 0, gap % cuda::vector_bytes == 0);
  constexpr std::uint64_t threads = 3;
  for (std::uint64_t thread = 0; thread < threads; ++thread) host_kernel(dtype, op)(*arguments, thread, threads);
  EXPECT_EQ(results[0], results[1]);
  return {results[0].begin() + static_cast<std::ptrdiff_t>(gap), results[0].end()};
}

// As the CPU does it: operand after operand, or, for narrow floats that are rounded once, all in one.
Bytes run_on_cpu(const Inputs& inputs, DataType dtype, ReduceOp op, std::size_t count, Rank ranks, bool round_each) {
  const Reduction reduction = reduction_for(dtype, op, ranks);
  Bytes result(count * size_of(dtype));
  if (reduction.all != nullptr && !round_each) {
    reduction.all(result.data(), inputs.at.data(), inputs.at.size(), 0, count, reduction.divisor);
    return result;
  }
  std::memcpy(result.data(), inputs.at[0], result.size());
  for (std::size_t i = 1; i < inputs.at.size(); ++i) {
    reduction.kernel(result.data(), result.data(), inputs.at[i], count);
  }
  if (reduction.divide != nullptr) reduction.divide(result.data(), count, reduction.divisor);
  return result;
}

TEST(CudaKernels, ThereIsOneForEachTypeAndReduction) {
  for (const DataType dtype : all_data_types) {
    for (const ReduceOp op : built_in_reduce_ops) {
      EXPECT_EQ(host_kernel(dtype, op) != nullptr, has_kernel(dtype, op)) << name_of(dtype) << ' ' << name_of(op);
    }
  }
}

TEST(CudaKernels, MakeTheBitsOfTheCpu) {
  for (const DataType dtype : all_data_types) {
    for (const ReduceOp op : built_in_reduce_ops) {
      if (!has_kernel(dtype, op)) continue;
      for (const std::size_t number : {2, 3, 8}) {
        for (const std::size_t count : {1, 15, 16, 203}) {
          for (const std::size_t offset : {0, 1}) {
            const Inputs inputs(dtype, number, count, offset);
            for (const bool round_each : {false, true}) {
              ASSERT_EQ(run_kernel(inputs, dtype, op, count, 1, round_each, offset),
                        run_on_cpu(inputs, dtype, op, count, 1, round_each))
                  << name_of(dtype) << ' ' << name_of(op) << ", " << number << " inputs of " << count
                  << (round_each ? ", rounded each" : "");
            }
          }
        }
      }
    }
  }
}

TEST(CudaKernels, AveragesHaveTheBitsOfTheCpu) {
  for (const DataType dtype : all_data_types) {
    if (!is_defined(dtype, ReduceOp::avg)) continue;
    for (const Rank ranks : {2, 3, 7}) {
      const Inputs inputs(dtype, static_cast<std::size_t>(ranks), 203, 0);
      for (const bool round_each : {false, true}) {
        ASSERT_EQ(run_kernel(inputs, dtype, ReduceOp::sum, 203, static_cast<std::uint32_t>(ranks), round_each, 0),
                  run_on_cpu(inputs, dtype, ReduceOp::avg, 203, ranks, round_each))
            << name_of(dtype) << ", " << ranks << " ranks";
      }
    }
  }
}

TEST(CudaKernels, TooManyBuffersAreRefused) {
  const std::vector<const std::byte*> inputs(gpu_reduction_buffers_max + 1);
  std::array<std::byte*, 1> outputs{};
  const GpuReduction call{
      .dtype = DataType::float32, .op = ReduceOp::sum, .count = 1, .inputs = inputs, .outputs = outputs};
  EXPECT_EQ(cuda::reduce_arguments(call).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace hocket::testing_support
