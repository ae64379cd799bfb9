// How far sums of floats are from what they should be, and how far they may be.
#pragma once

#include <cstdint>
#include <string_view>

#include "src/plan/verify.hpp"
#include "src/spi/elements.hpp"

namespace hocket::accuracy {

// What is summed up.
enum class Data : std::uint8_t {
  random,     // of any sign, magnitudes over eight powers of two
  positive,   // between 1 and 2
  absorbed,   // one rank has 1, each in its turn, the others so little that a sum which is rounded to the type loses it
  cancelled,  // two ranks have nearly opposite numbers, the others little
};
inline constexpr Data all_data[] = {Data::random, Data::positive, Data::absorbed, Data::cancelled};

struct Call {
  const Algorithm* algorithm = nullptr;
  DataType dtype = DataType::float32;
  Rank size = 1, root = 0;
  Topology topology{};
  bool deterministic = false;  // every operation rounds
};

// |result - Σ x| / Σ |x|, over all elements of all outputs; Σ by float64.
struct Errors {
  double largest = 0, mean = 0;
};

// Whether sums of the type have an accuracy to speak of.
constexpr bool is_measured(DataType dtype) {
  return dtype == DataType::float32 || info_of(dtype).kind == Kind::narrow_float;
}
// Half the distance from 1 to the next number: what rounding changes, as a part of the number, is no more.
double unit_roundoff(DataType dtype);

// How often a contribution is rounded to the type on its way into a result, at most: the verifier's count.
Result<std::uint32_t> roundings(const Call& call);
// What Errors::largest may be, whatever is summed up, while no sum overflows: with k roundings to the type, and d sums
// of float32 between them, (1 + u)^k (1 + 2^-24)^d - 1.
Result<double> bound(const Call& call);
// `count`: elements of each rank's result.
Result<Errors> measure(const Call& call, Data data, std::size_t count);

}  // namespace hocket::accuracy
