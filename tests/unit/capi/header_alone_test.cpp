// hocket.hpp compiles by itself, and its wrapper does what it says.
#include "hocket/hocket.hpp"

// Nothing else before the line above.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <cstdlib>

#include <algorithm>
#include <array>
#include <numeric>
#include <thread>

#include "tests/process/support/local_ranks.hpp"

namespace {

using hocket::process_testing::on_local_ranks;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

static_assert(!std::is_copy_constructible_v<hocket::Communicator> && !std::is_copy_constructible_v<hocket::Work>);
static_assert(std::is_nothrow_move_constructible_v<hocket::Communicator>);
static_assert(hocket::dtype_of<float>() == HOCKET_FLOAT32 && hocket::dtype_of<double>() == HOCKET_FLOAT64);
static_assert(hocket::dtype_of<int>() == HOCKET_INT32 && hocket::dtype_of<long long>() == HOCKET_INT64);
static_assert(hocket::dtype_of<long>() == HOCKET_INT64 && hocket::dtype_of<std::uint8_t>() == HOCKET_UINT8);
static_assert(hocket::dtype_of<unsigned short>() == HOCKET_UINT16 && hocket::dtype_of<signed char>() == HOCKET_INT8);
static_assert(hocket::dtype_of<bool>() == HOCKET_BOOL && hocket::dtype_of<std::complex<float>>() == HOCKET_COMPLEX64);
static_assert(hocket::dtype_of<hocket::BFloat16>() == HOCKET_BFLOAT16);
static_assert(hocket::dtype_of<hocket_float64_int64>() == HOCKET_FLOAT64_INT64);
static_assert(!hocket::Element<char> && !hocket::Element<wchar_t> && !hocket::Element<long double>);
static_assert(!hocket::Element<char*> && !hocket::Element<void>);
static_assert(hocket::Source<const std::vector<float>&> && !hocket::Sink<const std::vector<float>&>);
static_assert(hocket::Sink<std::span<int>> && !hocket::Source<std::vector<int>>);  // no temporaries that own

std::vector<int> counting(std::size_t count, int from) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), from);
  return values;
}

TEST(HeaderAlone, ReducesVectorsArraysAndSpans) {
  on_local_ranks(3, [](hocket::Communicator& comm) {
    const std::vector<float> mine(100, static_cast<float>(comm.rank() + 1));
    std::vector<float> sum(100);
    comm.allreduce(mine, sum, hocket::Op::sum);
    EXPECT_THAT(sum, Each(6.0f));
    std::array<std::int64_t, 4> in_place{1, 2, 3, comm.rank()};
    comm.allreduce(in_place, hocket::Op::max);
    EXPECT_THAT(in_place, ElementsAre(1, 2, 3, 2));
    comm.allreduce(std::span(mine), std::span(sum), hocket::Op::prod);
    EXPECT_THAT(sum, Each(6.0f));
    std::vector<float> at_root(comm.rank() == 1 ? 100 : 0);
    comm.reduce(mine, at_root, hocket::Op::min, 1);
    EXPECT_THAT(at_root, Each(1.0f));
    std::vector<float> block(25);
    comm.reduce_scatter(std::span(mine).first(75), block, hocket::Op::sum);
    EXPECT_THAT(block, Each(6.0f));
  });
}

TEST(HeaderAlone, MovesBlocks) {
  on_local_ranks(3, [](hocket::Communicator& comm) {
    const std::vector<int> mine = counting(2, 10 * comm.rank());
    std::vector<int> all(6);
    comm.allgather(mine, all);
    EXPECT_THAT(all, ElementsAre(0, 1, 10, 11, 20, 21));
    std::vector<int> at_root(comm.rank() == 2 ? 6 : 0);
    comm.gather(mine, at_root, 2);
    EXPECT_EQ(at_root, comm.rank() == 2 ? all : std::vector<int>());
    std::vector<int> block(2);
    comm.scatter(at_root, block, 2);
    EXPECT_EQ(block, mine);
    comm.broadcast(block, 1);
    EXPECT_THAT(block, ElementsAre(10, 11));
    const std::vector<int> send = counting(3, 100 * comm.rank());
    std::vector<int> received(3);
    comm.alltoall(send, received);
    EXPECT_THAT(received, ElementsAre(comm.rank(), 100 + comm.rank(), 200 + comm.rank()));
    comm.barrier();
  });
}

TEST(HeaderAlone, MovesBlocksOfUnequalSize) {
  on_local_ranks(3, [](hocket::Communicator& comm) {
    using Sizes = std::vector<std::size_t>;
    const Sizes counts{2, 0, 3}, apart{4, 0, 0};
    const auto own = counts[static_cast<std::size_t>(comm.rank())];
    const std::vector<int> mine = counting(own, 10 * comm.rank());
    std::vector<int> all(5), spread(6, -1);
    comm.allgather_v(mine, all, counts);
    EXPECT_THAT(all, ElementsAre(0, 1, 20, 21, 22));
    comm.allgather_v_async(mine, spread, counts, apart).wait();
    EXPECT_THAT(spread, ElementsAre(20, 21, 22, -1, 0, 1));
    std::vector<int> at_root(comm.rank() == 2 ? 5 : 0), block(own);
    comm.gather_v(mine, at_root, counts, 2);
    EXPECT_EQ(at_root, comm.rank() == 2 ? all : std::vector<int>());
    comm.scatter_v(at_root, counts, block, 2);
    EXPECT_EQ(block, mine);
    const std::vector<int> numbers = counting(5, 0);
    comm.reduce_scatter_v(numbers, block, counts, hocket::Op::sum);
    EXPECT_EQ(block, own == 2   ? (std::vector<int>{0, 3})
                     : own == 3 ? (std::vector<int>{6, 9, 12})
                                : std::vector<int>());
    // Rank i sends i + j elements to j.
    Sizes both;
    for (const int peer : {0, 1, 2}) both.push_back(static_cast<std::size_t>(comm.rank() + peer));
    std::vector<int> sent(both[0] + both[1] + both[2], comm.rank()), received(sent.size());
    comm.alltoall_v(sent, both, received, both);
    EXPECT_EQ(std::ranges::count(received, 2), static_cast<std::ptrdiff_t>(both[2]));
    comm.alltoall_v(sent, both, sent, both);  // in place
    EXPECT_EQ(sent, received);
    std::vector<int> table = counting(3, 10 * comm.rank());
    comm.alltoall(table, table);
    EXPECT_THAT(table, ElementsAre(comm.rank(), 10 + comm.rank(), 20 + comm.rank()));
  });
}

TEST(HeaderAlone, FindsBlocksThatDoNotFitTheirRange) {
  std::vector<hocket::Communicator> comms = hocket::Communicator::create_local(1);
  std::vector<float> three(3), four(4);
  const std::vector<std::size_t> count{3}, at{2}, none;
  const auto expect_refusal = [&](const auto& call, const char* why) {
    try {
      call();
      FAIL() << "it was accepted";
    } catch (const hocket::Error& error) {
      EXPECT_EQ(error.result(), HOCKET_INVALID_ARGUMENT);
      EXPECT_THAT(error.what(), HasSubstr(why));
    }
  };
  expect_refusal([&] { comms[0].allgather_v(three, four, count); }, "`recv` has 4 elements, but its blocks have 3");
  expect_refusal([&] { comms[0].allgather_v(three, four, count, at); }, "end before the block of rank 0");
  expect_refusal([&] { comms[0].allgather_v(three, three, none); }, "one for each rank");
  expect_refusal([&] { comms[0].gather_v(four, three, count, 0); },
                 "`send` has 4 elements, but this rank's count is 3");
  comms[0].require_working();
}

TEST(HeaderAlone, WorksCompleteByWaitTestAndDestruction) {
  on_local_ranks(2, [](hocket::Communicator& comm) {
    std::vector<double> first(1000, 1.0), second(1000, 2.0), third(1000, 3.0);
    std::vector<double> sums(1000), products(1000), maxima(1000);
    hocket::Work sum = comm.allreduce_async(first, sums, hocket::Op::sum);
    hocket::Work product = comm.allreduce_async(second, products, hocket::Op::prod);
    { const hocket::Work maximum = comm.allreduce_async(third, maxima, hocket::Op::max); }
    EXPECT_THAT(maxima, Each(3.0));
    sum.wait();
    EXPECT_TRUE(sum.test());
    EXPECT_THAT(sums, Each(2.0));
    while (!product.wait_for(std::chrono::milliseconds(50))) {
    }
    EXPECT_THAT(products, Each(4.0));
    hocket::Work moved = std::move(product);
    EXPECT_EQ(product.handle(), nullptr);
    EXPECT_TRUE(moved.test());
    moved.release();
    const int peer = 1 - comm.rank();
    std::vector<int> received(3);
    hocket::Work sending = comm.send_async(first, peer);
    comm.recv(second, peer);
    sending.wait();
    EXPECT_EQ(first, second);
  });
}

TEST(HeaderAlone, CountsWhatItDoes) {
  on_local_ranks(2, [](hocket::Communicator& comm) {
    const hocket_counters before = comm.counters();
    std::vector<float> data(1000, 1.0f);
    comm.allreduce(data, hocket::Op::sum);
    EXPECT_EQ(comm.counters().operations, before.operations + 1);
    EXPECT_GE(comm.counters().bytes_sent, before.bytes_sent + 4000);  // 2(N-1)/N of the buffer is the least
    EXPECT_EQ(comm.peer_counters(1 - comm.rank()).bytes_sent, comm.counters().bytes_sent);
    EXPECT_THROW(comm.peer_counters(2), hocket::Error);
  });
}

TEST(HeaderAlone, TellsHowTheLatestCallWasDone) {
  std::thread([] { EXPECT_THROW(hocket::last_call(), hocket::Error); }).join();            // none on that thread
  ASSERT_EQ(::setenv("HOCKET_ALGORITHM", "allreduce=recursive_doubling:16K,ring", 1), 0);  // whatever cores there are
  on_local_ranks(3, [](hocket::Communicator& comm) {
    std::vector<float> data(1'000'000, 1.0f);
    comm.allreduce(std::span(data).first(1), hocket::Op::sum);
    EXPECT_STREQ(hocket::last_call().algorithm, "recursive_doubling");
    EXPECT_STREQ(hocket::last_call().transport, "loopback");
    const std::uint64_t before = hocket::last_call().sequence;
    std::vector<float> sums(data.size());
    hocket::Work work = comm.allreduce_async(data, sums, hocket::Op::sum);
    EXPECT_EQ(hocket::last_call().sequence, before);  // not complete, as far as this thread knows
    work.wait();
    EXPECT_STREQ(hocket::last_call().algorithm, "ring");
    EXPECT_EQ(hocket::last_call().sequence, before + 1);
    EXPECT_THROW(comm.broadcast(data, 17), hocket::Error);
    EXPECT_STREQ(hocket::last_call().algorithm, "ring");  // the latest that succeeded
  });
  ASSERT_EQ(::unsetenv("HOCKET_ALGORITHM"), 0);
  std::vector<hocket::Communicator> alone = hocket::Communicator::create_local(1);
  std::vector<float> data(3);
  alone[0].allreduce(data, hocket::Op::sum);
  EXPECT_STREQ(hocket::last_call().transport, "none");
  hocket_call_info small = HOCKET_CALL_INFO_INIT;
  small.struct_size = 3;
  EXPECT_EQ(hocket_last_call(&small), HOCKET_INVALID_ARGUMENT);
  EXPECT_EQ(hocket_last_call(nullptr), HOCKET_INVALID_ARGUMENT);
}

TEST(HeaderAlone, ThrowsErrorsWithTheirCause) {
  try {
    hocket::Communicator::create({.world_size = 2, .rank = 5});
    FAIL() << "a rank out of range was accepted";
  } catch (const hocket::Error& error) {
    EXPECT_EQ(error.result(), HOCKET_INVALID_ARGUMENT);
    EXPECT_EQ(error.cause().code, HOCKET_INVALID_ARGUMENT);
    EXPECT_THAT(error.what(), HasSubstr("5"));
  }
  EXPECT_THROW(hocket::Communicator::create_local(0), hocket::Error);
}

TEST(HeaderAlone, FindsRangesThatDoNotFitTogether) {
  std::vector<hocket::Communicator> comms = hocket::Communicator::create_local(1);
  std::vector<float> three(3), four(4);
  try {
    comms[0].allreduce(three, four, hocket::Op::sum);
    FAIL() << "ranges of different sizes were accepted";
  } catch (const hocket::Error& error) {
    EXPECT_EQ(error.result(), HOCKET_INVALID_ARGUMENT);
    EXPECT_STREQ(error.what(), "allreduce: `recv` has 4 elements but must have 3.");
  }
  comms[0].require_working();  // nothing has moved, nothing is broken
}

TEST(HeaderAlone, AbortReachesTheOtherRanks) {
  std::vector<hocket::Communicator> comms = hocket::Communicator::create_local(2);
  comms[0].abort("enough");
  std::vector<float> data(3);
  try {
    comms[1].allreduce(data, hocket::Op::sum);
    FAIL() << "an aborted communicator went on";
  } catch (const hocket::Error& error) {
    EXPECT_EQ(error.result(), HOCKET_ABORTED);
    EXPECT_THAT(error.what(), HasSubstr("enough"));
  }
}

}  // namespace
