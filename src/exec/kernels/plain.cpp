// Kernels for processors without any of the instruction sets, and for reductions that have no faster ones: the plain
// definitions, one element at a time.
#include <utility>

#include "src/base/elements.hpp"
#include "src/exec/kernels/kernels.hpp"

namespace hocket::kernels {
namespace {

template <class T, ReduceOp op>
void reduce_two(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count) {
  for (std::size_t at = 0; at < count * sizeof(T); at += sizeof(T)) {
    T a, b;
    std::memcpy(&a, left + at, sizeof(T));
    std::memcpy(&b, right + at, sizeof(T));
    const T c = elements::reduce(op, a, b);
    std::memcpy(to + at, &c, sizeof(T));
  }
}

template <class T>
float widened(const std::byte* from) {
  T narrow;
  std::memcpy(&narrow, from, sizeof(T));
  return static_cast<float>(static_cast<double>(narrow));
}

template <elements::Narrow T, ReduceOp op>
void reduce_all(std::byte* to, const std::byte* const* sources, std::size_t number, std::size_t offset,
                std::size_t count, std::uint32_t divisor) {
  for (std::size_t at = 0; at < count * sizeof(T); at += sizeof(T)) {
    float sum = widened<T>(sources[0] + offset + at);
    for (std::size_t i = 1; i < number; ++i) sum = elements::reduce(op, sum, widened<T>(sources[i] + offset + at));
    const T rounded(divisor == 1 ? sum : elements::divide(sum, divisor));
    std::memcpy(to + at, &rounded, sizeof(T));
  }
}

template <ReduceOp op, class Left, class Right, class To>
void reduce_wide(std::byte* to, const std::byte* left, const std::byte* right, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const To sum(
        elements::reduce(op, widened<Left>(left + i * sizeof(Left)), widened<Right>(right + i * sizeof(Right))));
    std::memcpy(to + i * sizeof(To), &sum, sizeof(To));
  }
}

template <elements::Narrow T, ReduceOp op>
constexpr WideKernels wide_kernels = {.begin = &reduce_wide<op, T, T, float>,
                                      .add = &reduce_wide<op, float, T, float>,
                                      .end = &reduce_wide<op, float, T, T>};

template <class T>
void divide(std::byte* data, std::size_t count, std::uint32_t divisor) {
  for (std::size_t at = 0; at < count * sizeof(T); at += sizeof(T)) {
    T value;
    std::memcpy(&value, data + at, sizeof(T));
    value = elements::divide(value, divisor);
    std::memcpy(data + at, &value, sizeof(T));
  }
}

// Calls pick(std::integral_constant of `op`), of the reductions that combine operands as they are; else null.
template <class Kernel, class Pick>
Kernel with_op(ReduceOp op, const Pick& pick) {
  return [&]<std::size_t... rows>(std::index_sequence<rows...>) {
    Kernel found = nullptr;
    const auto look = [&]<std::size_t row>(std::integral_constant<std::size_t, row>) {
      constexpr ReduceOpInfo info = reduce_op_table[row];
      if constexpr (info.combines_as == info.op && info.takes == Takes::nothing) {
        if (info.op == op) found = pick(std::integral_constant<ReduceOp, info.op>());
      }
    };
    (look(std::integral_constant<std::size_t, rows>()), ...);
    return found;
  }
  (std::make_index_sequence<reduce_ops>());
}

}  // namespace

ReduceKernel plain(DataType dtype, ReduceOp op) {
  return elements::visit(dtype, [op]<class T>(T) {
    return with_op<ReduceKernel>(
        op, [](auto constant) -> ReduceKernel { return &reduce_two<T, decltype(constant)::value>; });
  });
}

ReduceAllKernel all_plain(DataType dtype, ReduceOp op) {
  return elements::visit(dtype, [op]<class T>(T) -> ReduceAllKernel {
    if constexpr (elements::Narrow<T>) {
      return with_op<ReduceAllKernel>(
          op, [](auto constant) -> ReduceAllKernel { return &reduce_all<T, decltype(constant)::value>; });
    } else {
      return nullptr;
    }
  });
}

const WideKernels* wide_plain(DataType dtype, ReduceOp op) {
  return elements::visit(dtype, [op]<class T>(T) -> const WideKernels* {
    if constexpr (elements::Narrow<T>) {
      switch (op) {
        case ReduceOp::sum: return &wide_kernels<T, ReduceOp::sum>;
        case ReduceOp::prod: return &wide_kernels<T, ReduceOp::prod>;
        default: break;
      }
    }
    return nullptr;
  });
}

DivideKernel divide_plain(DataType dtype) {
  return elements::visit(dtype, []<class T>(T) -> DivideKernel {
    if constexpr (elements::Located<T> || std::same_as<T, elements::Bool>) {
      return nullptr;
    } else {
      return &divide<T>;
    }
  });
}

}  // namespace hocket::kernels
