#include "bench/accuracy/measurement.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <type_traits>

#include "bench/accuracy/one_thread.hpp"
#include "src/base/elements.hpp"
#include "src/exec/reduce.hpp"
#include "src/plan/semantics.hpp"

namespace hocket::accuracy {
namespace {

template <class T>
double value_of(const Bytes& bytes, std::size_t index) {
  T element;
  std::memcpy(&element, bytes.data() + index * sizeof(T), sizeof(T));
  return static_cast<double>(element);
}

// The rank whose turn it is to have a large number.
bool is_large(Rank rank, Rank size, std::size_t index) {
  return index % static_cast<std::size_t>(size) == static_cast<std::size_t>(rank);
}

double drawn(Data data, const Call& call, Rank rank, std::size_t index, std::mt19937_64& random) {
  const double fraction = static_cast<double>(2 * (random() % 4096) + 1) / 8192;
  const double half_step = unit_roundoff(call.dtype);  // at 1, where a tie goes to 1
  switch (data) {
    case Data::random: return (fraction - 0.5) * std::ldexp(1.0, -static_cast<int>(random() % 8));
    case Data::positive: return 1 + fraction;
    case Data::absorbed: return is_large(rank, call.size, index) ? 1 : half_step;
    case Data::cancelled: break;
  }
  if (is_large(rank, call.size, index)) return 1;
  return is_large(rank, call.size, index + 1) ? -1 : fraction * half_step;
}

VerifyOptions options_of(const Call& call, Rounding rounding) {
  return {.topology = call.topology, .rounding = rounding};
}

// The most that a contribution passes.
Result<std::uint32_t> roundings_where(const Call& call, Rounding rounding) {
  const Result<Verified> verified = verify(*call.algorithm, call.size, call.root, options_of(call, rounding));
  if (!verified) return verified.status();
  return verified->roundings_max;
}

// How far the outputs are from the sums of what belongs into them.
template <class T>
struct Comparison {
  const Call& call;
  const std::vector<Bytes>& inputs;
  const std::vector<Bytes>& outputs;
  std::size_t elements;  // of an output
  Errors errors{};
  std::size_t compared = 0;

  void compare(Rank rank, std::size_t input_at, std::size_t output_at, Rank last) {
    for (std::size_t i = 0; i < elements; ++i) {
      double sum = 0, magnitudes = 0;
      for (Rank from = 0; from <= last; ++from) {
        const double summand = value_of<T>(inputs[static_cast<std::size_t>(from)], input_at + i);
        sum += summand;
        magnitudes += std::abs(summand);
      }
      const double found = value_of<T>(outputs[static_cast<std::size_t>(rank)], output_at + i);
      const double error = magnitudes == 0 ? std::abs(found) : std::abs(found - sum) / magnitudes;
      errors.largest = error <= errors.largest ? errors.largest : error;  // NaN, too
      errors.mean += error;
      ++compared;
    }
  }
};

template <class T>
Result<Errors> measure_as(const Call& call, Data data, std::size_t count) {
  const CollectiveInfo& collective = *call.algorithm->collective;
  const std::size_t blocks = collective.is_vector() ? 1 : static_cast<std::size_t>(call.size);
  std::mt19937_64 random(20261125);
  std::vector<Bytes> inputs, outputs;
  for (Rank rank = 0; rank < call.size; ++rank) {
    Bytes& input = inputs.emplace_back(blocks * count * sizeof(T));
    for (std::size_t index = 0; index < blocks * count; ++index) {
      const T element(static_cast<std::conditional_t<std::is_same_v<T, float>, float, double>>(
          drawn(data, call, rank, index, random)));
      std::memcpy(input.data() + index * sizeof(T), &element, sizeof(T));
    }
    outputs.emplace_back(count * sizeof(T));
  }

  Reduction reduction = reduction_for(call.dtype, ReduceOp::sum, call.size);
  if (call.deterministic) reduction.round_each();
  const PlanKey key{.algorithm = call.algorithm,
                    .root = call.root,
                    .count = count,
                    .element_bytes = sizeof(T),
                    .slice_bytes = 256,  // several slices, of which the last is shorter
                    .topology = call.topology,
                    .wide_sums = reduction.wide != nullptr};
  if (Status status = run_all_ranks(key, reduction, inputs, outputs); !status.ok()) return status;

  Comparison<T> comparison{.call = call, .inputs = inputs, .outputs = outputs, .elements = count};
  for (Rank rank = 0; rank < call.size; ++rank) {
    const auto own = static_cast<std::uint32_t>(collective.is_vector() ? 0 : rank);
    const Shape shape{.collective = collective.collective,
                      .rank = rank,
                      .size = call.size,
                      .root = call.root,
                      .chunks = static_cast<std::uint32_t>(blocks)};
    const auto wanted = wanted_output(shape, own);
    if (wanted) comparison.compare(rank, own * count, 0, wanted->last);
  }
  comparison.errors.mean /= static_cast<double>(std::max<std::size_t>(comparison.compared, 1));
  return comparison.errors;
}

}  // namespace

double unit_roundoff(DataType dtype) {
  switch (dtype) {
    case DataType::float16: return 0x1p-11;
    case DataType::bfloat16: return 0x1p-8;
    case DataType::float8_e4m3: return 0x1p-4;
    case DataType::float8_e5m2: return 0x1p-3;
    default: return 0x1p-24;  // of float32
  }
}

Result<std::uint32_t> roundings(const Call& call) {
  const bool narrow = info_of(call.dtype).kind == Kind::narrow_float;
  return roundings_where(call, narrow && !call.deterministic ? Rounding::wide_sums : Rounding::each_sum);
}

Result<double> bound(const Call& call) {
  const auto rounded = roundings(call), added = roundings_where(call, Rounding::each_sum);
  if (!rounded) return rounded.status();
  if (!added) return added.status();
  const double to_type = std::pow(1 + unit_roundoff(call.dtype), *rounded);
  if (info_of(call.dtype).kind != Kind::narrow_float) return to_type - 1;
  return to_type * std::pow(1 + 0x1p-24, *added) - 1;
}

Result<Errors> measure(const Call& call, Data data, std::size_t count) {
  return elements::visit(call.dtype, [&]<class T>(T) -> Result<Errors> {
    if constexpr (std::is_same_v<T, float> || elements::Narrow<T>) {
      return measure_as<T>(call, data, count);
    } else {
      return Status(Code::unsupported, "only the sums of float32 and of narrower floats are measured");
    }
  });
}

}  // namespace hocket::accuracy
