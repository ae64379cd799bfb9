#include "tests/process/support/unequal_call.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <tuple>

#include "src/base/elements.hpp"
#include "tests/process/support/operands.hpp"

namespace hocket::process_testing {
namespace {

constexpr std::byte untouched{0xEE};

std::uint64_t bits_of(const UnequalCase& what, Rank a, Rank b, std::size_t index) {
  return mix(mix(what.salt * 1000003 + static_cast<std::uint64_t>(a)) * 31 + static_cast<std::uint64_t>(b) * 7 + index);
}

// Element `index` of the block for `target` in the input of `rank`. Small whole numbers: whatever is done with a few of
// them is exact.
template <class T>
T input_at(const UnequalCase& what, Rank rank, Rank target, std::size_t index) {
  return elements::whole<T>(static_cast<int>(bits_of(what, rank, target, index) % 5) - 2);
}

template <class T>
T reduced_at(const UnequalCase& what, Rank size, Rank target, std::size_t index) {
  return reduced<T>(what.op, ReduceOp::sum, size, [&](Rank rank) { return input_at<T>(what, rank, target, index); });
}

// Element `index` of the block from `source` in the output of `rank`.
template <class T>
T output_at(const UnequalCase& what, Rank rank, Rank size, Rank source, std::size_t index) {
  switch (what.collective) {
    case Collective::reduce_scatter_v: return reduced_at<T>(what, size, rank, index);
    case Collective::allgather_v:
    case Collective::gather_v: return input_at<T>(what, source, source, index);
    case Collective::scatter_v: return input_at<T>(what, what.root, rank, index);
    default: return input_at<T>(what, source, rank, index);
  }
}

}  // namespace

std::string describe(const UnequalCase& what) {
  return fmt::format("{} of {}, {}, sizes {} up to {}, root {}, {}, {}, misaligned by {}", name_of(what.collective),
                     name_of(what.dtype), name_of(what.op), static_cast<int>(what.sizes), what.scale, what.root,
                     what.in_place ? "in place" : "out of place", what.displaced ? "displaced" : "packed",
                     what.misalignment);
}

// Of the block that goes from `source` to `target`; where all ranks get it, or it is of all ranks, both are the one
// rank.
std::size_t UnequalCall::count_of(Rank source, Rank target) const {
  if (what_.collective == Collective::alltoall_v && what_.in_place) {
    std::tie(source, target) = std::minmax({source, target});
  }
  const std::uint64_t bits = bits_of(what_, source + 100, target, 7);
  switch (what_.sizes) {
    case Sizes::zero: break;
    case Sizes::one_has_all: return source == size_ / 2 && (target == source || target == size_ - 1) ? what_.scale : 0;
    case Sizes::random: return bits % 4 == 0 ? 0 : (bits >> 8) % (what_.scale + 1);
  }
  return 0;
}

bool UnequalCall::holds(bool output, Rank block) const {
  switch (what_.collective) {
    case Collective::reduce_scatter_v: return !output || block == rank_;
    case Collective::allgather_v: return output || block == rank_;
    case Collective::scatter_v: return output ? block == rank_ : rank_ == what_.root;
    case Collective::gather_v: return output ? rank_ == what_.root : block == rank_;
    default: return true;
  }
}

UnequalCall::Side UnequalCall::side(bool output) const {
  const Collective collective = what_.collective;
  const bool takes_displacements = collective == Collective::alltoall_v ||
                                   (output ? collective == Collective::allgather_v || collective == Collective::gather_v
                                           : collective == Collective::scatter_v);
  const bool displaced = what_.displaced && takes_displacements;
  Side made;
  made.counts.resize(static_cast<std::size_t>(size_));
  made.displacements.resize(static_cast<std::size_t>(size_));
  for (Rank step = 0; step < size_; ++step) {
    const Rank block = displaced ? size_ - 1 - step : step;
    if (!holds(output, block)) continue;
    const bool pairs = collective == Collective::alltoall_v;
    const std::size_t count = !pairs   ? count_of(block, block)
                              : output ? count_of(block, rank_)
                                       : count_of(rank_, block);
    if (displaced) made.elements += 1 + static_cast<std::size_t>(block) % 3;
    made.counts[static_cast<std::size_t>(block)] = count;
    made.displacements[static_cast<std::size_t>(block)] = made.elements;
    made.elements += count;
  }
  return made;
}

UnequalCall::UnequalCall(const UnequalCase& what, Rank rank, Rank size)
    : what_(what), rank_(rank), size_(size), send_(side(false)), recv_(side(true)) {
  const std::size_t element = size_of(what.dtype), own = static_cast<std::size_t>(rank);
  const bool both = holds(false, rank) && holds(true, rank);
  const bool in_place = what.in_place && both;
  if (in_place) {
    first_bytes_ = std::max(send_.elements, recv_.elements) * element;
    first_ = FencedMemory(first_bytes_, what.misalignment, MemoryKind::plain);
    const bool send_has_all =
        what.collective == Collective::reduce_scatter_v || what.collective == Collective::scatter_v;
    const bool recv_has_all = what.collective == Collective::allgather_v || what.collective == Collective::gather_v;
    send_.data = first_.data() + (recv_has_all ? recv_.displacements[own] * element : 0);
    recv_.data = first_.data() + (send_has_all ? send_.displacements[own] * element : 0);
  } else {
    first_bytes_ = send_.elements * element;
    second_bytes_ = recv_.elements * element;
    first_ = FencedMemory(first_bytes_, what.misalignment, MemoryKind::plain);
    second_ = FencedMemory(second_bytes_, (what.misalignment * 3) % 64, MemoryKind::plain);
    send_.data = first_.data();
    recv_.data = second_.data();
  }
  std::fill_n(first_.data(), first_bytes_, untouched);
  if (second_bytes_ != 0) std::fill_n(second_.data(), second_bytes_, untouched);
  write_input();
  first_before_.assign(first_.data(), first_.data() + first_bytes_);
  if (second_bytes_ != 0) second_before_.assign(second_.data(), second_.data() + second_bytes_);
  // "Ignored elsewhere", or empty: so that nobody reads or writes through it.
  for (Side* side : {&send_, &recv_}) {
    if (std::ranges::all_of(side->counts, [](std::size_t count) { return count == 0; })) side->data = nullptr;
  }
}

void UnequalCall::write_input() {
  elements::visit(what_.dtype, [&]<class T>(T) {
    for (Rank block = 0; block < size_; ++block) {
      const auto at = static_cast<std::size_t>(block);
      for (std::size_t i = 0; i < send_.counts[at]; ++i) {
        const T value = input_at<T>(what_, rank_, block, i);
        std::memcpy(send_.data + (send_.displacements[at] + i) * sizeof(T), &value, sizeof(T));
      }
    }
  });
}

hocket_result UnequalCall::issue(hocket_comm* comm, hocket_work** work, const hocket_call_options* given) {
  hocket_call_options with_scalar = HOCKET_CALL_OPTIONS_INIT;
  if (given != nullptr) with_scalar = *given;
  const Scalar scalar(what_.dtype, rank_);
  with_scalar.scalar = scalar.bytes;
  const hocket_call_options* const options = what_.op == ReduceOp::premultiplied_sum ? &with_scalar : given;
  const auto dtype = static_cast<hocket_dtype>(what_.dtype);
  const auto op = static_cast<hocket_op>(what_.op);
  const auto own = static_cast<std::size_t>(rank_);
  const Rank root = what_.root;
  // The lists are read during the call only.
  std::vector<std::size_t> send_counts = send_.counts, recv_counts = recv_.counts;
  if (what_.collective == Collective::reduce_scatter_v) recv_counts = send_counts;
  const auto result = [&] {
    switch (what_.collective) {
      case Collective::allgather_v:
        return hocket_allgather_v(send_.data, send_counts[own], recv_.data, recv_counts.data(), displacements_of(recv_),
                                  dtype, comm, options, work);
      case Collective::reduce_scatter_v:
        return hocket_reduce_scatter_v(send_.data, recv_.data, recv_counts.data(), dtype, op, comm, options, work);
      case Collective::scatter_v:
        return rank_ == root ? hocket_scatter_v(send_.data, send_counts.data(), displacements_of(send_), recv_.data,
                                                recv_counts[own], dtype, root, comm, options, work)
                             : hocket_scatter_v(nullptr, nullptr, nullptr, recv_.data, recv_counts[own], dtype, root,
                                                comm, options, work);
      case Collective::gather_v:
        return rank_ == root ? hocket_gather_v(send_.data, send_counts[own], recv_.data, recv_counts.data(),
                                               displacements_of(recv_), dtype, root, comm, options, work)
                             : hocket_gather_v(send_.data, send_counts[own], nullptr, nullptr, nullptr, dtype, root,
                                               comm, options, work);
      default:
        return hocket_alltoall_v(send_.data, send_counts.data(), displacements_of(send_), recv_.data,
                                 recv_counts.data(), displacements_of(recv_), dtype, comm, options, work);
    }
  }();
  std::ranges::fill(send_counts, 12345);
  std::ranges::fill(recv_counts, 54321);
  return result;
}

void UnequalCall::expect_correct() const {
  EXPECT_TRUE(first_.fences_stand() && second_.fences_stand()) << describe(what_) << ": bytes beside a buffer changed";
  const bool separate = second_bytes_ != 0 || recv_.data == nullptr || recv_.data == second_.data();
  std::vector<std::byte> first = first_before_, second = second_before_;
  std::vector<std::byte>& expected = separate ? second : first;
  const std::byte* const base = separate ? second_.data() : first_.data();
  elements::visit(what_.dtype, [&]<class T>(T) {
    for (Rank block = 0; block < size_; ++block) {
      const auto at = static_cast<std::size_t>(block);
      for (std::size_t i = 0; i < recv_.counts[at]; ++i) {
        const T value = output_at<T>(what_, rank_, size_, block, i);
        const std::byte* const place = recv_.data + (recv_.displacements[at] + i) * sizeof(T);
        std::memcpy(expected.data() + (place - base), &value, sizeof(T));
      }
    }
  });
  const auto compare = [&](const char* name, const std::vector<std::byte>& wanted, const std::byte* found) {
    const auto differs = std::mismatch(wanted.begin(), wanted.end(), found).first;
    EXPECT_EQ(differs, wanted.end()) << describe(what_) << " on " << size_ << " ranks: byte "
                                     << differs - wanted.begin() << " of " << wanted.size() << " of the " << name
                                     << " memory of rank " << rank_ << " is wrong";
  };
  compare("first", first, first_.data());
  if (second_bytes_ != 0) compare("second", second, second_.data());
}

void UnequalCall::run(hocket_comm* comm) {
  ASSERT_EQ(issue(comm), HOCKET_OK) << describe(what_) << ": " << hocket_last_error();
  expect_correct();
}

}  // namespace hocket::process_testing
