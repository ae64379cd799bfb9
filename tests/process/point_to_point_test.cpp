// Messages between two ranks, among each other and among collectives.
#include <gtest/gtest.h>

#include <thread>

#include "tests/process/support/call.hpp"
#include "tests/process/support/flight.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

class PointToPoint : public testing::TestWithParam<Ranks> {};

// Every rank sends to every other and receives from it, all at once. A library that waits for a receive before it reads
// would stand still here.
TEST_P(PointToPoint, LargeMessagesCross) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    Flight flight(comm.get(), child.index, child.size);
    for (const Collective direction : {Collective::send, Collective::recv}) {
      for (Rank peer = 0; peer < child.size; ++peer) {
        if (peer == child.index) continue;
        const Rank sender = direction == Collective::send ? child.index : peer;
        const Rank receiver = direction == Collective::send ? peer : child.index;
        const Case what{.collective = direction,
                        .count = 1'500'001,
                        .root = peer,
                        .misalignment = 3,
                        .salt = static_cast<std::uint64_t>(sender * 100 + receiver)};
        ASSERT_NO_FATAL_FAILURE(flight.start(what));
      }
    }
    for (std::size_t index = flight.size(); index-- > 0;) ASSERT_NO_FATAL_FAILURE(flight.wait(index));
  });
}

TEST_P(PointToPoint, MessagesKeepTheirOrder) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const Rank right = (child.index + 1) % child.size;
    const Rank left = (child.index + child.size - 1) % child.size;
    Flight flight(comm.get(), child.index, child.size);
    for (std::size_t number = 0; number < 100; ++number) {
      Case what{.collective = Collective::send, .count = number * number, .dtype = DataType::int32, .root = right};
      what.salt = number;
      ASSERT_NO_FATAL_FAILURE(flight.start(what));
      what.collective = Collective::recv;
      what.root = left;
      ASSERT_NO_FATAL_FAILURE(flight.start(what));
    }
    for (std::size_t index = 0; index < flight.size(); ++index) ASSERT_NO_FATAL_FAILURE(flight.wait(index));
  });
}

TEST_P(PointToPoint, BlockingRoundTripsAmongCollectives) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    for (std::uint64_t round = 0; round < 50; ++round) {
      const Case there{.collective = child.index == 0 ? Collective::send : Collective::recv,
                       .count = round * 31,
                       .root = child.index == 0 ? 1 : 0,
                       .salt = round};
      Case back = there;
      back.collective = child.index == 0 ? Collective::recv : Collective::send;
      if (child.index < 2) {
        Call(there, child.index, child.size).run(comm.get());
        Call(back, child.index, child.size).run(comm.get());
      }
      Call({.count = 1000, .salt = round}, child.index, child.size).run(comm.get());
      if (testing::Test::HasFailure()) return;
    }
  });
}

// Two threads of each rank, one that sends and one that receives, both with blocking calls on one communicator.
TEST_P(PointToPoint, OneThreadSendsWhileAnotherReceives) {
  run_ranks(GetParam(), [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    const auto stream = [&](Collective direction, Rank peer) {
      for (std::uint64_t number = 0; number < 20; ++number) {
        Call({.collective = direction, .count = 200'003, .root = peer, .salt = number}, child.index, child.size)
            .run(comm.get());
        if (testing::Test::HasFailure()) return;
      }
    };
    std::thread sender(stream, Collective::send, (child.index + 1) % child.size);
    stream(Collective::recv, (child.index + child.size - 1) % child.size);
    sender.join();
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, PointToPoint, testing::Values(2, 3, 5), testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::process_testing
