// The rules of groups and of messages to oneself, on communicators of one rank and between threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "hocket/hocket.hpp"

namespace {

using testing::Each;
using testing::HasSubstr;

class GroupsAlone : public testing::Test {
 protected:
  void expect_invalid(hocket_result result, const char* text) {
    EXPECT_EQ(result, HOCKET_INVALID_ARGUMENT);
    EXPECT_THAT(hocket_last_error(), HasSubstr(text));
  }
  hocket_result send(const std::vector<int>& values, int peer = 0) {
    return hocket_send(values.data(), values.size(), HOCKET_INT32, peer, comm(), nullptr, nullptr);
  }
  hocket_result recv(std::vector<int>& values, int peer = 0) {
    return hocket_recv(values.data(), values.size(), HOCKET_INT32, peer, comm(), nullptr, nullptr);
  }
  hocket_comm* comm() { return comms_[0].handle(); }

  std::vector<hocket::Communicator> comms_ = hocket::Communicator::create_local(1);
  std::vector<int> first_{1, 2, 3}, second_{4, 5}, to_first_ = std::vector<int>(3), to_second_ = std::vector<int>(2);
};

TEST_F(GroupsAlone, MessagesToOneselfArePairedInTheirOrder) {
  hocket::Group group;
  EXPECT_EQ(recv(to_first_), HOCKET_OK);
  EXPECT_EQ(send(first_), HOCKET_OK);
  EXPECT_EQ(send(second_), HOCKET_OK);
  EXPECT_EQ(recv(to_second_), HOCKET_OK);
  EXPECT_THAT(to_first_, Each(0)) << "nothing moves before the end";
  group.end();
  EXPECT_EQ(to_first_, first_);
  EXPECT_EQ(to_second_, second_);
  EXPECT_EQ(comms_[0].counters().operations, 2u);
}

TEST_F(GroupsAlone, MessagesToOneselfNeedBothHalves) {
  expect_invalid(send(first_), "peer is 0, which is this rank");
  expect_invalid(recv(to_first_), "a group that holds both");
  for (const bool sends : {true, false}) {
    hocket::Group group;
    EXPECT_EQ(sends ? send(first_) : recv(to_first_), HOCKET_OK);
    EXPECT_THAT([&] { group.end(); }, testing::ThrowsMessage<hocket::Error>(HasSubstr("has no counterpart")));
  }
  hocket::Group group;
  EXPECT_EQ(send(first_), HOCKET_OK);
  EXPECT_EQ(recv(to_second_), HOCKET_OK);
  EXPECT_THAT([&] { group.end(); },
              testing::ThrowsMessage<hocket::Error>(HasSubstr("send of 3 int32, but recv of 2 int32")));
  EXPECT_THAT(to_second_, Each(0));
}

TEST_F(GroupsAlone, SendrecvWithOneselfIsACopy) {
  hocket::Communicator& comm = comms_[0];
  comm.sendrecv(first_, 0, to_first_, 0);
  EXPECT_EQ(to_first_, first_);
  EXPECT_STREQ(hocket::last_call().transport, "none");
  hocket::Work work = comm.sendrecv_async(second_, 0, to_second_, 0);
  EXPECT_TRUE(work.test()) << "a rank that is alone completes what it starts";
  EXPECT_EQ(to_second_, second_);
  std::vector<int> nothing;
  comm.sendrecv(nothing, 0, nothing, 0);
  const auto call = [&](const int* send, size_t count, int to, int* recv, size_t recvcount, int from) {
    return hocket_sendrecv(send, count, to, recv, recvcount, from, HOCKET_INT32, comm.handle(), nullptr, nullptr);
  };
  expect_invalid(call(first_.data(), 3, 0, to_first_.data(), 2, 0), "send of 3 int32, but recv of 2 int32");
  expect_invalid(call(first_.data(), 2, 0, first_.data() + 1, 2, 0), "send and recv overlap");
  expect_invalid(call(first_.data(), 3, 1, to_first_.data(), 3, 0), "to is 1");
  expect_invalid(call(first_.data(), 3, 0, to_first_.data(), 3, -1), "from is -1");
  expect_invalid(call(nullptr, 3, 0, to_first_.data(), 3, 0), "send is null");
  expect_invalid(call(first_.data(), 3, 0, nullptr, 3, 0), "recv is null");
  comm.require_working();
}

TEST_F(GroupsAlone, NestAndTheOutermostEndStarts) {
  hocket::Group outer;
  EXPECT_EQ(recv(to_first_), HOCKET_OK);
  {
    hocket::Group inner;
    EXPECT_EQ(send(first_), HOCKET_OK);
    comms_[0].sendrecv(second_, 0, to_second_, 0);
    const hocket::Work none = inner.end_async();
    EXPECT_EQ(none.handle(), nullptr);
  }
  EXPECT_THAT(to_second_, Each(0));
  hocket::Work work = outer.end_async();
  work.wait();
  EXPECT_EQ(to_first_, first_);
  EXPECT_EQ(to_second_, second_);
}

TEST_F(GroupsAlone, OfNothingAreDoneAtOnce) {
  hocket::Group().end();
  hocket::Work work = hocket::Group().end_async();
  EXPECT_TRUE(work.test());
}

TEST_F(GroupsAlone, RefuseWhatMakesNoSense) {
  expect_invalid(hocket_group_end(nullptr), "no open group");
  expect_invalid(hocket_group_cancel(), "no open group");
  hocket::Group group;
  hocket_work* work = nullptr;
  expect_invalid(hocket_send(first_.data(), 3, HOCKET_INT32, 0, comm(), nullptr, &work), "work must be null");
  EXPECT_EQ(work, nullptr);
  EXPECT_EQ(recv(to_first_), HOCKET_OK);
  EXPECT_THAT([&] { group.end(); }, testing::ThrowsMessage<hocket::Error>(HasSubstr("work must be null")));
}

TEST_F(GroupsAlone, LeftByAnExceptionStartNothing) {
  hocket::Group outer;
  try {
    hocket::Group inner;
    comms_[0].sendrecv(first_, 0, to_first_, 0);
    throw 1;
  } catch (int) {
  }
  comms_[0].sendrecv(second_, 0, to_second_, 0);
  try {
    outer.end();
    FAIL() << "a cancelled group started";
  } catch (const hocket::Error& error) {
    EXPECT_EQ(error.result(), HOCKET_ABORTED);
  }
  EXPECT_THAT(to_first_, Each(0));
  EXPECT_THAT(to_second_, Each(0));
  comms_[0].sendrecv(second_, 0, to_second_, 0);  // none is open any more
  EXPECT_EQ(to_second_, second_);
}

TEST_F(GroupsAlone, OutliveTheCommunicatorsOfTheirCalls) {
  hocket::Group group;
  comms_[0].sendrecv(first_, 0, to_first_, 0);
  comms_[0].allreduce(first_, to_first_, hocket::Op::sum);
  comms_.clear();
  EXPECT_THAT([&] { group.end(); }, testing::ThrowsMessage<hocket::Error>(HasSubstr("was destroyed before")));
  std::thread([this] {  // ends with a group open
    comms_ = hocket::Communicator::create_local(1);
    EXPECT_EQ(hocket_group_start(), HOCKET_OK);
    comms_[0].allreduce(first_, to_first_, hocket::Op::sum);
  })
      .join();
  EXPECT_THAT(to_first_, Each(0));
}

TEST(GroupsOfThreads, ExchangeWithAllAtOnce) {
  std::vector<hocket::Communicator> comms = hocket::Communicator::create_local(4);
  std::vector<std::thread> threads;
  for (hocket::Communicator& comm : comms) {
    threads.emplace_back([&comm] {
      std::vector<int> mine(20'000, comm.rank()), sums(3);
      const std::vector<int> three(3, 1);
      std::vector<std::vector<int>> theirs(4, std::vector<int>(mine.size()));
      hocket::Group group;
      for (int peer = 0; peer < 4; ++peer) comm.send(mine, peer);
      comm.allreduce(three, sums, hocket::Op::sum);
      for (int peer = 4; peer-- > 0;) comm.recv(theirs[static_cast<std::size_t>(peer)], peer);
      group.end();
      for (int peer = 0; peer < 4; ++peer) EXPECT_THAT(theirs[static_cast<std::size_t>(peer)], Each(peer));
      EXPECT_THAT(sums, Each(4));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
