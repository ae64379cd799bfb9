#include "tests/process/support/call.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "src/base/elements.hpp"
#include "tests/process/support/operands.hpp"

namespace hocket::process_testing {
namespace {

// ---- values

// Exponents as wide as sums of eight allow, and all bits of the fraction; never a NaN.
template <class T>
T rounding_float(std::uint64_t bits) {
  const double fraction = 1 + static_cast<double>(bits >> 12) * 0x1p-52;
  constexpr int exponents = sizeof(T) > 2 ? 32 : sizeof(T) > 1 ? 16 : 8;
  const int exponent = static_cast<int>(bits >> 1 & (exponents - 1)) - exponents / 2;
  return T(static_cast<std::conditional_t<elements::Narrow<T>, double, T>>(
      std::ldexp((bits & 1) != 0 ? -fraction : fraction, exponent)));
}

// Element `index` of the input of `rank`. Exact floats are small whole numbers, or powers of two for products; few
// enough for eight ranks in the narrowest type.
template <class T>
T input_at(const Case& what, Rank rank, std::size_t index) {
  const std::uint64_t bits =
      mix(what.salt * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(rank) * 0x100000001B3U + index);
  const int sign = (bits & 1) != 0 ? -1 : 1;
  if constexpr (std::is_floating_point_v<T> || elements::Narrow<T>) {
    if (what.values == Values::rounding) return rounding_float<T>(bits);
    const int limit = sizeof(T) > 2 ? 512 : sizeof(T) > 1 ? 16 : 2;
    const auto number = [](double value) {
      return T(static_cast<std::conditional_t<elements::Narrow<T>, double, T>>(value));
    };
    if (what.op == ReduceOp::prod) return number(sign * ((bits & 2) != 0 ? 2 : 0.5));
    if ((what.op == ReduceOp::min || what.op == ReduceOp::max) && bits % 61 == 0)
      return number(std::numeric_limits<double>::quiet_NaN());
    return number(static_cast<int>(bits >> 8) % limit);
  } else if constexpr (elements::Complex<T>) {
    using Part = typename T::value_type;
    if (what.values == Values::rounding) return {rounding_float<Part>(bits), rounding_float<Part>(mix(bits))};
    if (what.op == ReduceOp::prod) {  // such that no part becomes a zero, whose sign would tell the order
      const auto real = static_cast<Part>(sign), imaginary = static_cast<Part>((bits & 2) != 0 ? -1 : 1);
      return rank == 0   ? T(real, 2 * imaginary)
             : rank == 1 ? T(3 * real, imaginary)
                         : T((bits & 4) != 0 ? 2 : Part(0.5));
    }
    return {static_cast<Part>(bits % 1023), static_cast<Part>(bits >> 32 & 511) - 256};
  } else if constexpr (elements::Located<T>) {
    T made = elements::whole<T>(static_cast<int>(bits % 17) - 8);
    made.index = static_cast<decltype(T::index)>(bits >> 40);
    if constexpr (std::is_floating_point_v<decltype(T::value)>) {
      if (bits % 61 == 0) made.value = std::numeric_limits<decltype(T::value)>::quiet_NaN();
    }
    return made;
  } else if constexpr (std::is_same_v<T, elements::Bool>) {
    return {static_cast<std::uint8_t>(bits % 3)};
  } else {
    const bool logical = what.op == ReduceOp::land || what.op == ReduceOp::lor;
    return logical && (bits >> 8) % 4 == 0 ? T{0} : static_cast<T>(bits);
  }
}

// What stands in for the caller's own reductions, here and in the plain reference.
template <class T>
constexpr ReduceOp stand_in = elements::Located<T> ? ReduceOp::minloc : ReduceOp::sum;

const int user_context = 0;  // whose address is passed on

void reduce_for_user(void* to, const void* left, const void* right, std::size_t count, hocket_dtype dtype,
                     void* context) {
  EXPECT_EQ(context, &user_context);
  elements::visit(static_cast<DataType>(dtype), [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      static_cast<T*>(to)[i] =
          elements::reduce(stand_in<T>, static_cast<const T*>(left)[i], static_cast<const T*>(right)[i]);
    }
  });
}

template <class T>
T reduced_at(const Case& what, Rank size, std::size_t index) {
  return reduced<T>(what.op, stand_in<T>, size, [&](Rank rank) { return input_at<T>(what, rank, index); });
}

// What the collective's row says of element `index` of the output of `rank`.
template <class T>
T output_at(const Case& what, Rank rank, Rank size, std::size_t index) {
  const CollectiveInfo& row = info_of(what.collective);
  const std::size_t own_block = static_cast<std::size_t>(rank) * what.count;
  const bool own_only = !row.is_vector() && row.output.held == Held::own_chunk;
  const std::size_t place = own_only ? own_block + index : index;  // among all blocks
  switch (row.combines) {
    case Combines::all_ranks: return reduced_at<T>(what, size, place);
    case Combines::ranks_up_to_own: return reduced_at<T>(what, rank + 1, place);
    case Combines::ranks_before_own: return reduced_at<T>(what, rank, place);
    case Combines::nothing: break;
  }
  if (row.is_message() || row.input.holders == Holders::root) return input_at<T>(what, what.root, place);
  return input_at<T>(what, static_cast<Rank>(place / what.count),
                     place % what.count + (row.transposes() ? own_block : 0));
}

// ---- shapes

struct Blocks {
  std::size_t send = 0, recv = 0;  // 0: this rank has no such buffer
};

Blocks blocks_of(const Case& what, Rank rank, Rank size) {
  const CollectiveInfo& row = info_of(what.collective);
  return {row.blocks_in(row.input, rank, what.root, size), row.blocks_in(row.output, rank, what.root, size)};
}

}  // namespace

std::string describe(const Case& what) {
  return fmt::format("{} of {} {}, {}, {}, root or peer {}, {}, misaligned by {}, memory {} and {}",
                     name_of(what.collective), what.count, name_of(what.dtype), name_of(what.op),
                     what.values == Values::exact ? "exact values" : "values that round", what.root,
                     what.in_place ? "in place" : "out of place", what.misalignment, name_of(what.input_memory),
                     name_of(what.output_memory));
}

std::vector<ReduceOp> ops_of(DataType dtype, Collective collective) {
  std::vector<ReduceOp> ops;
  for (const ReduceOp op : built_in_reduce_ops) {
    if (is_defined(dtype, op) && is_defined(collective, op)) ops.push_back(op);
  }
  return ops;
}

// ---- Call

Call::Call(const Case& what, Rank rank, Rank size) : what_(what), rank_(rank), size_(size) {
  const Blocks blocks = blocks_of(what, rank, size);
  const std::size_t block_bytes = what.count * size_of(what.dtype);
  send_bytes_ = blocks.send * block_bytes;
  recv_bytes_ = blocks.recv * block_bytes;
  if (what.in_place) {
    // The smaller buffer is this rank's block of the larger one.
    first_ = FencedMemory(std::max(send_bytes_, recv_bytes_), what.misalignment, what.input_memory);
    const std::size_t own_block = static_cast<std::size_t>(rank) * block_bytes;
    send_ = first_.data() + (blocks.send < blocks.recv && blocks.send != 0 ? own_block : 0);
    recv_ = first_.data() + (blocks.recv < blocks.send && blocks.recv != 0 ? own_block : 0);
  } else {
    first_ = FencedMemory(send_bytes_, what.misalignment, what.input_memory);
    second_ = FencedMemory(recv_bytes_, (what.misalignment * 3) % 64, what.output_memory);
    send_ = first_.data();
    recv_ = second_.data();
  }
  // "Ignored elsewhere": so that nobody reads or writes through it.
  if (blocks.send == 0) send_ = nullptr;
  if (blocks.recv == 0) recv_ = nullptr;

  elements::visit(what.dtype, [&]<class T>(T) {
    for (std::size_t index = 0; index < send_bytes_ / sizeof(T); ++index) {
      const T value = input_at<T>(what_, rank_, index);
      std::memcpy(send_ + index * sizeof(T), &value, sizeof(T));
    }
  });
}

hocket_result Call::issue(hocket_comm* comm, hocket_work** work, const hocket_call_options* given) {
  hocket_call_options chosen = HOCKET_CALL_OPTIONS_INIT;
  if (given != nullptr) chosen = *given;
  const Scalar scalar(what_.dtype, rank_);
  chosen.scalar = scalar.bytes;
  chosen.function = reduce_for_user;
  chosen.context = const_cast<int*>(&user_context);
  chosen.commutative = static_cast<int>(what_.salt % 2);
  const bool asks = what_.op == ReduceOp::premultiplied_sum || what_.op == ReduceOp::user;
  const hocket_call_options* const options = asks ? &chosen : given;
  const auto dtype = static_cast<hocket_dtype>(what_.dtype);
  const auto op = static_cast<hocket_op>(what_.op);
  const std::size_t count = what_.count;
  const Rank root = what_.root;
  // By its own function, if there is one, and now and then by number.
  switch (what_.salt % 4 == 0 ? unknown_collective.collective : what_.collective) {
    case Collective::allreduce: return hocket_allreduce(send_, recv_, count, dtype, op, comm, options, work);
    case Collective::reduce: return hocket_reduce(send_, recv_, count, dtype, op, root, comm, options, work);
    case Collective::reduce_scatter: return hocket_reduce_scatter(send_, recv_, count, dtype, op, comm, options, work);
    case Collective::allgather: return hocket_allgather(send_, recv_, count, dtype, comm, options, work);
    case Collective::broadcast: return hocket_broadcast(send_, recv_, count, dtype, root, comm, options, work);
    case Collective::scatter: return hocket_scatter(send_, recv_, count, dtype, root, comm, options, work);
    case Collective::gather: return hocket_gather(send_, recv_, count, dtype, root, comm, options, work);
    case Collective::alltoall: return hocket_alltoall(send_, recv_, count, dtype, comm, options, work);
    case Collective::scan: return hocket_scan(send_, recv_, count, dtype, op, comm, options, work);
    case Collective::exscan: return hocket_exscan(send_, recv_, count, dtype, op, comm, options, work);
    case Collective::barrier: return hocket_barrier(comm, options, work);
    case Collective::send: return hocket_send(send_, count, dtype, root, comm, options, work);
    case Collective::recv: return hocket_recv(recv_, count, dtype, root, comm, options, work);
    default: break;
  }
  const auto number = static_cast<hocket_collective>(what_.collective);
  return hocket_call(number, send_, recv_, count, dtype, op, root, comm, options, work);
}

void Call::expect_refused(hocket_comm* comm) {
  if (!what_.in_place && recv_ != nullptr) forget_output();
  const std::vector<std::byte> before = output();
  EXPECT_EQ(issue(comm), HOCKET_INVALID_ARGUMENT) << describe(what_);
  const std::string message = hocket_last_error();
  for (const std::string_view name : {name_of(what_.collective), name_of(what_.dtype), name_of(what_.op)}) {
    EXPECT_NE(message.find(name), std::string::npos) << describe(what_) << ": " << message;
  }
  EXPECT_EQ(output(), before) << describe(what_) << ": the output was written";
  expect_rest_untouched();
}

void Call::expect_correct() const {
  expect_output();
  expect_rest_untouched();
}

void Call::expect_output() const {
  elements::visit(what_.dtype, [&]<class T>(T) {
    for (std::size_t index = 0; index < recv_bytes_ / sizeof(T); ++index) {
      T found;
      std::memcpy(&found, recv_ + index * sizeof(T), sizeof(T));
      const T expected = output_at<T>(what_, rank_, size_, index);
      if (std::memcmp(&found, &expected, sizeof(T)) == 0) continue;
      ADD_FAILURE() << describe(what_) << " on " << size_ << " ranks: element " << index << " at rank " << rank_
                    << " is " << testing::PrintToString(found) << ", not " << testing::PrintToString(expected);
      return;
    }
  });
}

// Fences, and the input where the output does not lie.
void Call::expect_rest_untouched() const {
  EXPECT_TRUE(first_.fences_stand() && second_.fences_stand()) << describe(what_) << ": bytes beside a buffer changed";
  elements::visit(what_.dtype, [&]<class T>(T) {
    for (std::size_t index = 0; index < send_bytes_ / sizeof(T); ++index) {
      const std::byte* const at = send_ + index * sizeof(T);
      if (recv_ != nullptr && at >= recv_ && at < recv_ + recv_bytes_) continue;
      const T expected = input_at<T>(what_, rank_, index);
      if (std::memcmp(at, &expected, sizeof(T)) == 0) continue;
      ADD_FAILURE() << describe(what_) << ": element " << index << " of the input of rank " << rank_ << " was changed";
      return;
    }
  });
}

void Call::run(hocket_comm* comm) {
  ASSERT_EQ(issue(comm), HOCKET_OK) << describe(what_) << ": " << hocket_last_error();
  expect_correct();
}

void Call::forget_output() {
  std::fill_n(recv_, recv_bytes_, std::byte{0xA5});
}

std::vector<std::byte> Call::output() const {
  return std::vector<std::byte>(recv_, recv_ + recv_bytes_);
}

// ---- Comm

Comm::Comm(const hocket_comm_options* options) {
  EXPECT_EQ(hocket_comm_create(&handle_, options), HOCKET_OK) << hocket_last_error();
}

Comm::~Comm() {
  EXPECT_EQ(hocket_comm_destroy(handle_), HOCKET_OK) << hocket_last_error();
}

}  // namespace hocket::process_testing
