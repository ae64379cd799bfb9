// Callbacks that are refused, and those of communicators that break.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "hocket/hocket.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/callback_chain.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/works.hpp"

namespace hocket::process_testing {
namespace {

TEST(CallbackErrors, OneAtATimeAndNoNulls) {
  ProcessGroup group(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    Told told;
    expect_result(hocket_work_on_complete(nullptr, Told::tell, &told), HOCKET_INVALID_ARGUMENT);
    expect_message_names("work is null");
    if (child.index == 1) {
      EXPECT_EQ(child.hear(), "come");
    }
    hocket_work* work = nullptr;
    expect_result(hocket_barrier(comm.get(), nullptr, &work), HOCKET_OK);
    expect_result(hocket_work_on_complete(work, nullptr, &told), HOCKET_INVALID_ARGUMENT);
    expect_message_names("function is null");
    if (child.index == 0) {
      expect_result(hocket_work_on_complete(work, Told::tell, &told), HOCKET_OK);
      expect_result(hocket_work_on_complete(work, Told::tell, &told), HOCKET_INVALID_ARGUMENT);
      expect_message_names("one at a time");
      child.say("asked");
      told.wait_for(1);
    }
    expect_result(hocket_work_wait(work, 0), HOCKET_OK);
    expect_result(hocket_work_release(work), HOCKET_OK);
  });
  EXPECT_EQ(group.hear(0), "asked");
  group.tell(1, "come");
  group.expect_success();
}

// The worst that a rank can do to the others: the way named, or else it leaves without its part in the barriers.
void break_with(hocket_comm* comm, const std::string& how) {
  if (how == "abort") expect_result(hocket_comm_abort(comm, "enough"), HOCKET_OK);
  if (how == "mismatch") {
    int value = 0;
    expect_result(hocket_allreduce(&value, &value, 1, HOCKET_INT32, HOCKET_SUM, comm, nullptr, nullptr),
                  HOCKET_MISMATCH);
  }
}

// Rank 0 goes on when the other one has its communicator, too: else it may be gone before.
void say_it_is_made(Child& child) {
  if (child.index == 1) return child.say("made");
  EXPECT_EQ(child.hear(), "begin");
}
void hear_it_is_made(ProcessGroup& group) {
  EXPECT_EQ(group.hear(1), "made");
  group.tell(0, "begin");
}

// What is pending on rank 0 when the other rank does its worst, or rank 0 its own: each function is called once, with
// the cause, and a call that it starts is refused with it.
class CallbacksOfTheBroken : public testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(CallbacksOfTheBroken, AreCalledOnceWithTheCause) {
  const std::string how = std::get<1>(GetParam());
  ProcessGroup group(Ranks(std::get<0>(GetParam())), [how](Child& child) {
    auto comm = std::make_unique<Comm>();
    ASSERT_TRUE(*comm);
    say_it_is_made(child);
    if (child.index == 1) {
      EXPECT_EQ(child.hear(), "now");
      return break_with(comm->get(), how);
    }
    std::vector<std::unique_ptr<Told>> told;
    std::vector<hocket_work*> works(20);
    std::atomic<int> refused{0};
    for (hocket_work*& work : works) {
      told.push_back(std::make_unique<Told>());
      expect_result(hocket_barrier(comm->get(), nullptr, &work), HOCKET_OK);
    }
    for (std::size_t i = 1; i < works.size(); ++i) {
      expect_result(hocket_work_on_complete(works[i], Told::tell, told[i].get()), HOCKET_OK);
    }
    std::function<void(hocket_result)> first = [&refused, handle = comm->get()](hocket_result) {
      hocket_work* next = nullptr;
      if (hocket_barrier(handle, nullptr, &next) != HOCKET_OK && next == nullptr) ++refused;
    };
    expect_result(hocket_work_on_complete(
                      works[0],
                      [](hocket_result result, void* context) {
                        (*static_cast<std::function<void(hocket_result)>*>(context))(result);
                      },
                      &first),
                  HOCKET_OK);
    child.say("ready");
    if (how == "destroy") {
      comm.reset();
      child.say("destroyed");
    }
    for (std::size_t i = 1; i < works.size(); ++i) told[i]->wait_for(1);
    while (refused == 0) std::this_thread::yield();
    const hocket_result expected = how == "leave"      ? HOCKET_PEER_LOST
                                   : how == "mismatch" ? HOCKET_MISMATCH
                                                       : HOCKET_ABORTED;
    for (hocket_work* work : works) {
      expect_result(hocket_work_test(work), expected);
      expect_result(hocket_work_release(work), HOCKET_OK);
    }
    comm.reset();
    for (std::size_t i = 1; i < works.size(); ++i) {
      EXPECT_EQ(told[i]->times, 1);
      EXPECT_EQ(told[i]->result, expected);
    }
    EXPECT_EQ(refused, 1);
  });
  hear_it_is_made(group);
  EXPECT_EQ(group.hear(0), "ready");
  if (how == "destroy") {
    EXPECT_EQ(group.hear(0), "destroyed");
  }
  group.tell(1, "now");
  group.expect_success();
}

INSTANTIATE_TEST_SUITE_P(Hosts, CallbacksOfTheBroken,
                         testing::Combine(testing::Values("00", "01"),
                                          testing::Values("abort", "leave", "mismatch", "destroy")),
                         [](const auto& given) {
                           return std::string(std::get<0>(given.param)) + std::get<1>(given.param);
                         });

}  // namespace
}  // namespace hocket::process_testing
