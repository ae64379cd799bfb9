// Reduction kernels against memcpy and a loop that the compiler vectorises by itself. Bytes per second count what is
// read and written: three times the vector for a reduction, twice for memcpy.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "src/base/elements.hpp"
#include "src/exec/reduce.hpp"

namespace hocket {
namespace {

constexpr std::int64_t smallest = 4 << 10;
constexpr std::int64_t largest = 64 << 20;

// Ones, so that no repeated sum or product leaves the normal range of floats, where arithmetic is slower.
std::vector<std::byte> ones(DataType dtype, std::size_t bytes) {
  return elements::visit(dtype, [bytes]<class T>(T) {
    std::vector<std::byte> filled(bytes);
    const T one = elements::whole<T>(1);
    for (std::size_t at = 0; at < bytes; at += sizeof one) std::memcpy(&filled[at], &one, sizeof one);
    return filled;
  });
}

void reduce_vector(benchmark::State& state, DataType dtype, ReduceOp op, bool in_place) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const auto left = ones(dtype, bytes);
  const auto right = ones(dtype, bytes);
  auto to = ones(dtype, bytes);
  const ReduceKernel kernel = reduce_kernel(dtype, op);
  const std::byte* const first = in_place ? to.data() : left.data();
  for (auto _ : state) {
    kernel(to.data(), first, right.data(), bytes / size_of(dtype));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 3);
}

void copy_vector(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  const auto from = ones(DataType::uint8, bytes);
  auto to = ones(DataType::uint8, bytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 2);
}

void plain_loop(benchmark::State& state) {
  const auto count = static_cast<std::size_t>(state.range(0)) / sizeof(float);
  const std::vector<float> left(count, 1);
  const std::vector<float> right(count, 2);
  std::vector<float> to(count);
  for (auto _ : state) {
    for (std::size_t i = 0; i < count; ++i) to[i] = left[i] + right[i];
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0) * 3);
}

void add(DataType dtype, ReduceOp op, bool in_place) {
  const std::string name = "reduce/" + std::string(name_of(dtype)) + "/" + std::string(name_of(op)) +
                           (in_place ? "/in_place" : "/out_of_place");
  benchmark::RegisterBenchmark(name.c_str(), reduce_vector, dtype, op, in_place)
      ->RangeMultiplier(16)
      ->Range(smallest, largest);
}

void add_all() {
  benchmark::RegisterBenchmark("memcpy", copy_vector)->RangeMultiplier(16)->Range(smallest, largest);
  benchmark::RegisterBenchmark("loop/float32/sum", plain_loop)->RangeMultiplier(16)->Range(smallest, largest);
  for (const DataType dtype : all_data_types) {
    for (const ReduceOp op : built_in_reduce_ops) {
      if (!is_defined(dtype, op)) continue;
      add(dtype, op, false);
      add(dtype, op, true);
    }
  }
}

}  // namespace
}  // namespace hocket

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  hocket::add_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
