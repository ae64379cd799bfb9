// Structs of the caller's, of which the library knows the size alone: every collective moves them, and a function of
// the caller's reduces them. Each carries a check of its bytes, so one that was cut or mixed with another shows.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "hocket/hocket.h"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/operands.hpp"
#include "tests/process/support/over_transports.hpp"
#include "tests/process/support/with_comm.hpp"
#include "tests/process/support/works.hpp"

namespace hocket::process_testing {
namespace {

using OpaqueBytes = std::vector<std::uint8_t>;

std::uint8_t check_of(const std::uint8_t* element, std::size_t bytes) {
  return std::accumulate(element, element + bytes - 1, std::uint8_t{0x5A}, [](std::uint8_t sum, std::uint8_t byte) {
    return static_cast<std::uint8_t>(sum * 31 + byte);
  });
}

// At least three bytes. The first is the left operand's, the second the right one's, the others are sums, and the last
// is the check: associative, and not commutative.
OpaqueBytes input_element(Rank rank, std::size_t index, std::size_t bytes) {
  OpaqueBytes element(bytes);
  for (std::size_t i = 0; i + 1 < bytes; ++i) {
    element[i] = static_cast<std::uint8_t>(mix(static_cast<std::uint64_t>(rank) << 40 ^ index << 13 ^ i));
  }
  element.back() = check_of(element.data(), bytes);
  return element;
}

void combine_into(std::uint8_t* to, const std::uint8_t* left, const std::uint8_t* right, std::size_t bytes) {
  const std::uint8_t first = left[0], second = right[1];
  for (std::size_t i = 2; i + 1 < bytes; ++i) to[i] = static_cast<std::uint8_t>(left[i] + right[i]);
  to[0] = first;
  to[1] = second;
  to[bytes - 1] = check_of(to, bytes);
}

// The context is the number of bytes.
void combine(void* to, const void* left, const void* right, size_t count, hocket_dtype dtype, void* context) {
  const std::size_t bytes = *static_cast<const std::size_t*>(context);
  EXPECT_EQ(dtype, HOCKET_OPAQUE);
  const std::size_t alignment = std::min<std::size_t>(bytes & (~bytes + 1), 16);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* const a = static_cast<const std::uint8_t*>(left) + i * bytes;
    const auto* const b = static_cast<const std::uint8_t*>(right) + i * bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % alignment, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b) % alignment, 0U);
    EXPECT_EQ(a[bytes - 1], check_of(a, bytes)) << "the left operand is not an element";
    EXPECT_EQ(b[bytes - 1], check_of(b, bytes)) << "the right operand is not an element";
    combine_into(static_cast<std::uint8_t*>(to) + i * bytes, a, b, bytes);
  }
}

hocket_call_options options_for(std::size_t& bytes) {
  hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
  options.function = combine;
  options.context = &bytes;
  options.element_bytes = bytes;
  return options;
}

OpaqueBytes input(Rank rank, std::size_t count, std::size_t bytes) {
  OpaqueBytes all;
  for (std::size_t index = 0; index < count; ++index) {
    const OpaqueBytes element = input_element(rank, index, bytes);
    all.insert(all.end(), element.begin(), element.end());
  }
  return all;
}

// Of the ranks 0 … last.
OpaqueBytes reduced_element(Rank last, std::size_t index, std::size_t bytes) {
  OpaqueBytes all = input_element(0, index, bytes);
  for (Rank rank = 1; rank <= last; ++rank) {
    combine_into(all.data(), all.data(), input_element(rank, index, bytes).data(), bytes);
  }
  return all;
}

struct What {
  Collective collective;
  std::size_t count, bytes;
  Rank root;
};

OpaqueBytes output_element(const What& what, Rank rank, Rank size, std::size_t index) {
  const CollectiveInfo& row = info_of(what.collective);
  const std::size_t own_block = static_cast<std::size_t>(rank) * what.count;
  const bool own_only = !row.is_vector() && row.output.held == Held::own_chunk;
  const std::size_t place = own_only ? own_block + index : index;
  if (row.reduces()) {
    const Rank last = !row.is_prefix() ? size - 1 : row.combines == Combines::ranks_up_to_own ? rank : rank - 1;
    return reduced_element(last, place, what.bytes);
  }
  if (row.input.holders == Holders::root) return input_element(what.root, place, what.bytes);
  return input_element(static_cast<Rank>(place / what.count), place % what.count + (row.transposes() ? own_block : 0),
                       what.bytes);
}

void expect_moved(const What& what, const Comm& comm, Rank rank, Rank size, bool in_place) {
  const CollectiveInfo& row = info_of(what.collective);
  const std::size_t sent = row.blocks_in(row.input, rank, what.root, size) * what.count;
  const std::size_t received = row.blocks_in(row.output, rank, what.root, size) * what.count;
  const std::size_t own_block = row.block_in_place(rank) * what.count * what.bytes;
  constexpr std::size_t misalignment = 1;
  OpaqueBytes send = input(rank, sent, what.bytes);
  OpaqueBytes recv(std::max(sent, received) * what.bytes + misalignment);
  std::uint8_t* from = send.data();
  std::uint8_t* to = recv.data() + misalignment;
  if (in_place) {
    from = recv.data() + misalignment + (sent < received && sent != 0 ? own_block : 0);
    to += received < sent && received != 0 ? own_block : 0;
    std::copy(send.begin(), send.end(), from);
  }
  std::size_t bytes = what.bytes;
  const hocket_call_options options = options_for(bytes);
  expect_result(hocket_call(static_cast<hocket_collective>(what.collective), sent == 0 ? nullptr : from,
                            received == 0 ? nullptr : to, what.count, HOCKET_OPAQUE, HOCKET_USER, what.root, comm.get(),
                            &options, nullptr),
                HOCKET_OK);
  for (std::size_t index = 0; index < received; ++index) {
    const OpaqueBytes expected = output_element(what, rank, size, index);
    ASSERT_EQ(OpaqueBytes(to + index * bytes, to + (index + 1) * bytes), expected)
        << name_of(what.collective) << " of " << what.count << " elements of " << bytes << " bytes, rank " << rank
        << ", element " << index << (in_place ? ", in place" : "");
  }
}

class OpaqueElements : public OverTransports {};

INSTANTIATE_TEST_SUITE_P(Ranks, OpaqueElements, testing::Combine(testing::Values(3, 5), testing::Values("tcp", "shm")));

TEST_P(OpaqueElements, AreMovedAndReducedWhole) {
  run_ranks_with_comm(ranks(), [](Child& child, const Comm& comm) {
    for (const Collective collective : all_collectives) {
      const CollectiveInfo& row = info_of(collective);
      if (row.is_message() || row.chunks == Chunks::token) continue;
      for (const std::size_t bytes : {3U, 7U, 24U, 100U, 1000U, 4096U}) {
        for (const std::size_t count : {std::size_t{1}, std::size_t{5}, 300'000 / bytes}) {
          const Rank root = row.has_root() ? static_cast<Rank>(count % static_cast<std::size_t>(child.size)) : 0;
          for (const bool in_place : {false, true}) {
            expect_moved({collective, count, bytes, root}, comm, child.index, child.size, in_place);
            if (testing::Test::HasFailure()) return;
          }
        }
      }
    }
  });
}

TEST_P(OpaqueElements, TravelAsMessages) {
  run_ranks_with_comm(ranks(), [](Child& child, const Comm& comm) {
    for (std::size_t bytes : {7U, 1000U}) {
      const hocket_call_options options = options_for(bytes);
      const std::size_t count = 200'000 / bytes;
      const Rank next = (child.index + 1) % child.size, previous = (child.index + child.size - 1) % child.size;
      const OpaqueBytes send = input(child.index, count, bytes);
      OpaqueBytes recv(send.size());
      expect_result(hocket_sendrecv(send.data(), count, next, recv.data(), count, previous, HOCKET_OPAQUE, comm.get(),
                                    &options, nullptr),
                    HOCKET_OK);
      EXPECT_EQ(recv, input(previous, count, bytes));
    }
  });
}

TEST_P(OpaqueElements, TravelInBlocksOfUnequalSize) {
  run_ranks_with_comm(ranks(), [](Child& child, const Comm& comm) {
    const auto size = static_cast<std::size_t>(child.size), own = static_cast<std::size_t>(child.index);
    for (std::size_t bytes : {7U, 1000U}) {
      const hocket_call_options options = options_for(bytes);
      std::vector<std::size_t> counts(size);
      for (std::size_t rank = 0; rank < size; ++rank) counts[rank] = 13 * rank;
      const std::size_t total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
      const std::size_t before = std::accumulate(counts.begin(), counts.begin() + child.index, std::size_t{0});

      OpaqueBytes all(total * bytes), gathered;
      const OpaqueBytes mine = input(child.index, counts[own], bytes);
      expect_result(hocket_allgather_v(mine.data(), counts[own], all.data(), counts.data(), nullptr, HOCKET_OPAQUE,
                                       comm.get(), &options, nullptr),
                    HOCKET_OK);
      for (Rank rank = 0; rank < child.size; ++rank) {
        const OpaqueBytes block = input(rank, counts[static_cast<std::size_t>(rank)], bytes);
        gathered.insert(gathered.end(), block.begin(), block.end());
      }
      EXPECT_EQ(all, gathered);

      const OpaqueBytes send = input(child.index, total, bytes);
      OpaqueBytes sums(counts[own] * bytes), expected;
      expect_result(hocket_reduce_scatter_v(send.data(), sums.data(), counts.data(), HOCKET_OPAQUE, HOCKET_USER,
                                            comm.get(), &options, nullptr),
                    HOCKET_OK);
      for (std::size_t index = 0; index < counts[own]; ++index) {
        const OpaqueBytes element = reduced_element(child.size - 1, before + index, bytes);
        expected.insert(expected.end(), element.begin(), element.end());
      }
      EXPECT_EQ(sums, expected);
    }
  });
}

TEST_P(OpaqueElements, TravelInListsAndPersistentCalls) {
  run_ranks_with_comm(ranks(), [](Child& child, const Comm& comm) {
    std::size_t bytes = 24;
    hocket_call_options options = options_for(bytes);
    std::vector<OpaqueBytes> tensors = {input(child.index, 3, bytes), input(child.index, 1, bytes),
                                        input(child.index, 5000, bytes)};
    std::vector<hocket_tensor> list;
    for (OpaqueBytes& tensor : tensors) {
      list.push_back({tensor.data(), tensor.data(), tensor.size() / bytes, HOCKET_OPAQUE});
    }
    expect_result(hocket_allreduce_list(list.data(), list.size(), HOCKET_USER, comm.get(), &options, nullptr),
                  HOCKET_OK);
    for (const OpaqueBytes& tensor : tensors) {
      for (std::size_t index = 0; index < tensor.size() / bytes; ++index) {
        const auto at = tensor.begin() + static_cast<std::ptrdiff_t>(index * bytes);
        ASSERT_EQ(OpaqueBytes(at, at + static_cast<std::ptrdiff_t>(bytes)),
                  reduced_element(child.size - 1, index, bytes));
      }
    }

    options.persistent = 1;
    const OpaqueBytes send = input(child.index, 9, bytes);
    OpaqueBytes recv(send.size());
    Handle work;
    expect_result(
        hocket_allreduce(send.data(), recv.data(), 9, HOCKET_OPAQUE, HOCKET_USER, comm.get(), &options, work.out()),
        HOCKET_OK);
    for (int run = 0; run < 3; ++run) {
      recv.assign(recv.size(), 0);
      expect_result(hocket_work_run(work.get()), HOCKET_OK);
      ASSERT_EQ(OpaqueBytes(recv.begin(), recv.begin() + 24), reduced_element(child.size - 1, 0, bytes));
      ASSERT_EQ(OpaqueBytes(recv.end() - 24, recv.end()), reduced_element(child.size - 1, 8, bytes));
    }
  });
}

TEST_P(OpaqueElements, OfDifferentSizesAreAMismatchThatNamesBoth) {
  for (const hocket_collective collective : {HOCKET_ALLGATHER, HOCKET_ALLREDUCE}) {
    run_when_all_have_met(ranks(), [collective](Child& child, const Comm& comm) {
      std::size_t bytes = child.index == 1 ? 32 : 24;
      const hocket_call_options options = options_for(bytes);
      const OpaqueBytes send = input(child.index, 10, bytes);
      OpaqueBytes recv(static_cast<std::size_t>(child.size) * send.size());
      expect_result(hocket_call(collective, send.data(), recv.data(), 10, HOCKET_OPAQUE, HOCKET_USER, 0, comm.get(),
                                &options, nullptr),
                    HOCKET_MISMATCH);
      expect_message_names("of 10 opaque elements of 24 bytes");
      expect_message_names("of 10 opaque elements of 32 bytes");
    });
  }
}

TEST(OpaqueElementCalls, AreRefusedWithoutASizeAndForOtherReductions) {
  run_ranks_with_comm(1, [](Child&, const Comm& comm) {
    const OpaqueBytes send = input(0, 1, 24);
    OpaqueBytes recv(24);
    std::size_t bytes = 24;
    hocket_call_options options = options_for(bytes);
    const auto allreduce = [&](hocket_op op, const hocket_call_options* given) {
      return hocket_allreduce(send.data(), recv.data(), 1, HOCKET_OPAQUE, op, comm.get(), given, nullptr);
    };
    expect_result(allreduce(HOCKET_SUM, &options), HOCKET_INVALID_ARGUMENT);
    expect_message_names("op sum has no meaning for dtype opaque");
    expect_result(allreduce(HOCKET_USER, nullptr), HOCKET_INVALID_ARGUMENT);
    expect_message_names("options.element_bytes is 0; HOCKET_OPAQUE needs the bytes of one element, 1 … 4096");
    options.element_bytes = HOCKET_ELEMENT_BYTES_MAX + 1;
    expect_result(allreduce(HOCKET_USER, &options), HOCKET_INVALID_ARGUMENT);
    options.element_bytes = 24;
    options.wire = HOCKET_WIRE_BFLOAT16;
    expect_result(allreduce(HOCKET_USER, &options), HOCKET_UNSUPPORTED);
    options.wire = HOCKET_WIRE_EXACT;
    expect_result(allreduce(HOCKET_USER, &options), HOCKET_OK);
    EXPECT_EQ(recv, send);
    EXPECT_EQ(hocket_dtype_size(HOCKET_OPAQUE), 0U);
  });
}

}  // namespace
}  // namespace hocket::process_testing
