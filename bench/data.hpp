// Test data whose right results are known exactly, and the check of every element against them.
//
// Element i of rank r's input is a function of r, i and a salt, repeated with a period that divides no usual chunk.
// Values are chosen so that each reduction is exact in every order on up to 257 ranks and more: floats are small
// integers (sum), powers of two with signs (prod) or integers below 2^24; integers use all bits, since they wrap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "hocket/spi/types.hpp"

namespace hocket::bench {

// In place of a rank: the reduction of all ranks' inputs.
inline constexpr int reduction = -1;

// The inputs of all ranks and their reduction, for one element type.
class Pattern {
 public:
  static constexpr std::size_t period = 4099;

  virtual ~Pattern() = default;
  // Writes elements first … first+count-1 of what `source` (a rank, or `reduction`) holds.
  virtual void fill(int source, std::size_t first, void* to, std::size_t count) const = 0;
  // How many of the `count` elements at `at` differ from those that fill() would write.
  virtual std::uint64_t count_wrong(int source, std::size_t first, const void* at, std::size_t count) const = 0;
};

namespace detail {

inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// `op` is what the values must survive; nothing: they are only moved.
template <class T>
T value_of(std::uint64_t bits, std::optional<ReduceOp> op) {
  if constexpr (std::is_floating_point_v<T>) {
    const auto below = [bits](std::uint64_t limit) { return static_cast<T>(bits % limit); };
    if (op == ReduceOp::sum) return below(127) - 63;
    // Now and then a 2: never so many that a product of 257 overflows. Never 1/2: products in place, operation after
    // operation, would become denormal numbers, which are slow.
    if (op == ReduceOp::prod) return static_cast<T>(((bits & 1) != 0 ? -1 : 1) * ((bits >> 1) % 16 == 0 ? 2 : 1));
    return below(std::uint64_t{1} << 24) - static_cast<T>(1 << 23);
  } else {
    return static_cast<T>(op == ReduceOp::prod ? bits | 1 : bits);  // products of odd numbers never lose bits
  }
}

template <class T>
T combine(T a, T b, ReduceOp op) {
  switch (op) {
    case ReduceOp::min: return std::min(a, b);
    case ReduceOp::max: return std::max(a, b);
    case ReduceOp::sum:
    case ReduceOp::prod: break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    return op == ReduceOp::sum ? a + b : a * b;
  } else {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return static_cast<T>(op == ReduceOp::sum ? x + y : x * y);
  }
}

template <class T>
class TypedPattern final : public Pattern {
 public:
  TypedPattern(int ranks, std::optional<ReduceOp> op, std::uint64_t salt) {
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<T> values(period);
      for (std::size_t i = 0; i < period; ++i) {
        values[i] = value_of<T>(mix((salt * 65536 + static_cast<std::uint64_t>(rank) + 1) * 8192 + i), op);
      }
      sources_.push_back(std::move(values));
    }
    if (!op) return;
    reduced_ = sources_.front();
    for (std::size_t rank = 1; rank < sources_.size(); ++rank) {
      for (std::size_t i = 0; i < period; ++i) reduced_[i] = combine(reduced_[i], sources_[rank][i], *op);
    }
  }

  void fill(int source, std::size_t first, void* to, std::size_t count) const override {
    const std::vector<T>& table = table_of(source);
    T* out = static_cast<T*>(to);
    for_pieces(first, count, [&](std::size_t done, std::size_t at, std::size_t length) {
      std::copy_n(table.data() + at, length, out + done);
    });
  }

  std::uint64_t count_wrong(int source, std::size_t first, const void* at, std::size_t count) const override {
    const std::vector<T>& table = table_of(source);
    const T* found = static_cast<const T*>(at);
    std::uint64_t wrong = 0;
    for_pieces(first, count, [&](std::size_t done, std::size_t from, std::size_t length) {
      // Written so that a NaN counts as wrong.
      for (std::size_t i = 0; i < length; ++i) wrong += found[done + i] == table[from + i] ? 0 : 1;
    });
    return wrong;
  }

 private:
  const std::vector<T>& table_of(int source) const {
    return source == reduction ? reduced_ : sources_[static_cast<std::size_t>(source)];
  }
  // Calls visit(elements done, index in the table, length) for each stretch that lies in one period.
  template <class Visit>
  static void for_pieces(std::size_t first, std::size_t count, const Visit& visit) {
    for (std::size_t done = 0; done < count;) {
      const std::size_t at = (first + done) % period;
      const std::size_t length = std::min(count - done, period - at);
      visit(done, at, length);
      done += length;
    }
  }

  std::vector<std::vector<T>> sources_;  // by rank
  std::vector<T> reduced_;
};

}  // namespace detail

// Different salts give different data, so that what an earlier operation left behind does not pass for new.
inline std::unique_ptr<Pattern> make_pattern(DataType dtype, int ranks, std::optional<ReduceOp> op,
                                             std::uint64_t salt) {
  using namespace detail;
  switch (dtype) {
    case DataType::float32: return std::make_unique<TypedPattern<float>>(ranks, op, salt);
    case DataType::float64: return std::make_unique<TypedPattern<double>>(ranks, op, salt);
    case DataType::int32: return std::make_unique<TypedPattern<std::int32_t>>(ranks, op, salt);
    case DataType::int64: return std::make_unique<TypedPattern<std::int64_t>>(ranks, op, salt);
    case DataType::uint8: return std::make_unique<TypedPattern<std::uint8_t>>(ranks, op, salt);
  }
  return nullptr;
}

}  // namespace hocket::bench
