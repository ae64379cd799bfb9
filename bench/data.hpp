// Test data whose right results are known exactly, and the check of every element against them.
//
// Element i of rank r's input is a function of r, i and a salt, repeated with a period that divides no usual chunk.
// Values are chosen so that each reduction is exact in every order on up to 257 ranks and more: floats are small
// integers (sum), powers of two with signs (prod) or integers below 2^24; integers use all bits, since they wrap. Sums
// of 8-bit floats are exact for most ranks' numbers because most operands are 0.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "src/base/elements.hpp"

namespace hocket::bench {

// What every rank multiplies its input with in premultiplied sums.
inline constexpr int premultiplier = 2;

// In place of a rank: the reduction of all ranks' inputs.
inline constexpr int reduction = -1;
// The reduction of the inputs of the ranks 0 … last.
constexpr int prefix_to(int last) {
  return -2 - last;
}

// The inputs of all ranks and their reduction, for one element type.
class Pattern {
 public:
  static constexpr std::size_t period = 4099;

  virtual ~Pattern() = default;
  // Writes elements first … first+count-1 of what `source` (a rank, `reduction` or a prefix) holds.
  virtual void fill(int source, std::size_t first, void* to, std::size_t count) const = 0;
  // How many of the `count` elements at `at` differ from those that fill() would write.
  virtual std::uint64_t count_wrong(int source, std::size_t first, const void* at, std::size_t count) const = 0;
  // How many are further than `tolerance` from those. Requires float32.
  virtual std::uint64_t count_far(int source, std::size_t first, const void* at, std::size_t count,
                                  double tolerance) const = 0;
  // The largest magnitude in any rank's input. Requires float32.
  virtual double largest() const = 0;

  virtual DataType dtype() const = 0;
  // The elements of one period of what `source` holds; they repeat.
  virtual std::span<const std::byte> table(int source) const = 0;
};

namespace detail {

inline std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline bool is_sum(std::optional<ReduceOp> op) {
  return op == ReduceOp::sum || op == ReduceOp::avg || op == ReduceOp::premultiplied_sum;
}

// What a rank gives to the reduction, and what it comes to.
template <class T>
T prepared(ReduceOp op, T value) {
  if (op != ReduceOp::premultiplied_sum) return value;
  return elements::reduce(ReduceOp::prod, value, elements::whole<T>(premultiplier));
}
template <class T>
T finished(ReduceOp op, T value, int ranks) {
  if constexpr (elements::Located<T> || std::same_as<T, elements::Bool>)
    return value;
  else
    return op == ReduceOp::avg && ranks > 1 ? elements::divide(value, static_cast<std::uint32_t>(ranks)) : value;
}

inline bool is_one_of(std::optional<ReduceOp> op, std::initializer_list<ReduceOp> ops) {
  return op && std::find(ops.begin(), ops.end(), *op) != ops.end();
}

// `op` is what the values must survive; nothing: they are only moved. Where one operand decides (a false among trues),
// it is rare, so that its rank is missed.
template <class T>
T value_of(std::uint64_t bits, std::optional<ReduceOp> op) {
  using enum ReduceOp;
  const int sign = (bits & 1) != 0 ? -1 : 1;
  const bool rare = (bits >> 8) % 64 == 0;
  if constexpr (std::is_floating_point_v<T>) {
    const auto below = [bits](std::uint64_t limit) { return static_cast<T>(bits % limit); };
    if (is_sum(op)) return below(127) - 63;
    // Now and then a 2: never so many that a product of 257 overflows. Never 1/2: products in place, operation after
    // operation, would become subnormal numbers, which are slow.
    if (op == prod) return static_cast<T>(sign * ((bits >> 1) % 16 == 0 ? 2 : 1));
    return below(std::uint64_t{1} << 24) - static_cast<T>(1 << 23);
  } else if constexpr (elements::Narrow<T>) {  // sums stay whole numbers that the type has
    if (is_sum(op) && sizeof(T) == 1) return T(rare && (bits & 2) != 0 ? sign : 0);
    if (is_sum(op)) return T(static_cast<int>((bits >> 8) % 3) - 1);
    if (op == prod) return T(sign);
    const T any = T::from_bits(static_cast<typename T::Bits>(bits));
    return std::isfinite(static_cast<double>(any)) ? any : T(sign);
  } else if constexpr (std::is_integral_v<T>) {
    if (op == land) return static_cast<T>(rare ? 0 : bits | 1);
    if (op == lor) return static_cast<T>(rare ? bits | 1 : 0);
    return static_cast<T>(op == prod ? bits | 1 : bits);  // products of odd numbers never lose bits
  } else if constexpr (elements::Complex<T>) {
    using Part = typename T::value_type;
    if (op == prod) return (bits & 2) != 0 ? T(0, static_cast<Part>(sign)) : T(static_cast<Part>(sign));
    return {value_of<Part>(bits, op), value_of<Part>(bits >> 32, op)};
  } else if constexpr (elements::Located<T>) {
    T made{};
    made.value = static_cast<decltype(T::value)>(static_cast<std::int64_t>(bits % 64) - 32);
    made.index = static_cast<decltype(T::index)>(bits >> 34);
    return made;
  } else {
    if (is_one_of(op, {sum, max, bor, lor})) return {rare};
    if (is_one_of(op, {prod, min, band, land})) return {!rare};
    return {static_cast<std::uint8_t>(bits & 1)};
  }
}

template <class T>
class TypedPattern final : public Pattern {
 public:
  TypedPattern(DataType dtype, int ranks, std::optional<ReduceOp> op, std::uint64_t salt) : dtype_(dtype) {
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<T> values(period);
      for (std::size_t i = 0; i < period; ++i) {
        values[i] = value_of<T>(mix((salt * 65536 + static_cast<std::uint64_t>(rank) + 1) * 8192 + i), op);
      }
      sources_.push_back(std::move(values));
    }
    if (!op) return;
    prefixes_.resize(sources_.size());
    for (std::size_t i = 0; i < period; ++i) {
      T sum = prepared(*op, sources_.front()[i]);
      prefixes_.front().push_back(sum);
      for (std::size_t rank = 1; rank < sources_.size(); ++rank) {
        sum = elements::reduce(*op, sum, prepared(*op, sources_[rank][i]));
        prefixes_[rank].push_back(sum);
      }
      reduced_.push_back(finished(*op, sum, ranks));
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
      for (std::size_t i = 0; i < length; ++i) wrong += elements::same(found[done + i], table[from + i]) ? 0 : 1;
    });
    return wrong;
  }

  std::uint64_t count_far(int source, std::size_t first, const void* at, std::size_t count,
                          double tolerance) const override {
    std::uint64_t far = 0;
    if constexpr (std::is_same_v<T, float>) {
      const std::vector<float>& table = table_of(source);
      const float* found = static_cast<const float*>(at);
      for_pieces(first, count, [&](std::size_t done, std::size_t from, std::size_t length) {
        for (std::size_t i = 0; i < length; ++i) {  // a NaN is far
          far += std::abs(static_cast<double>(found[done + i]) - static_cast<double>(table[from + i])) <= tolerance ? 0
                                                                                                                    : 1;
        }
      });
    }
    return far;
  }

  double largest() const override {
    double found = 0;
    if constexpr (std::is_same_v<T, float>) {
      for (const std::vector<float>& table : sources_) {
        for (const float value : table) found = std::max(found, std::abs(static_cast<double>(value)));
      }
    }
    return found;
  }

  DataType dtype() const override { return dtype_; }
  std::span<const std::byte> table(int source) const override { return std::as_bytes(std::span(table_of(source))); }

 private:
  const std::vector<T>& table_of(int source) const {
    if (source < reduction) return prefixes_[static_cast<std::size_t>(-2 - source)];
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

  const DataType dtype_;
  std::vector<std::vector<T>> sources_;   // by rank
  std::vector<std::vector<T>> prefixes_;  // by the last rank in them
  std::vector<T> reduced_;
};

}  // namespace detail

// Different salts give different data, so that what an earlier operation left behind does not pass for new.
inline std::unique_ptr<Pattern> make_pattern(DataType dtype, int ranks, std::optional<ReduceOp> op,
                                             std::uint64_t salt) {
  return elements::visit(dtype, [&]<class T>(T) -> std::unique_ptr<Pattern> {
    return std::make_unique<detail::TypedPattern<T>>(dtype, ranks, op, salt);
  });
}

}  // namespace hocket::bench
