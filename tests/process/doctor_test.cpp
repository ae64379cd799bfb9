// What hocket-doctor says of accidents that real ranks had, from the records that they wrote themselves.
#include <signal.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "src/spi/types.hpp"
#include "tests/process/support/doctor.hpp"

namespace hocket::process_testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_P(Doctor, SaysThatARankDied) {
  ProcessGroup group(3, with_records([](Child& child, Member& member) {
                       member.allreduces(3);
                       child.say("done");
                       (void)child.hear();
                       if (child.index != 1) {
                         EXPECT_EQ(member.allreduce(), HOCKET_PEER_LOST);
                       }
                     }));
  group.hear_from_all("done");
  group.signal(1, SIGKILL);
  for (const int index : {0, 2}) group.tell(index, "go on");
  group.expect_success(1);
  expect("dead", 1, "Rank 1 died first (process ");
  EXPECT_EQ(ask()[0]["without_record"], json::array({1}));
}

TEST_P(Doctor, SaysThatARankLeftByItself) {
  ProcessGroup group(3, with_records([](Child& child, Member& member) {
                       member.allreduces(3);
                       if (child.index == 2) std::_Exit(0);  // and destroys nothing
                       EXPECT_EQ(member.allreduce(), HOCKET_PEER_LOST);
                     }));
  group.expect_success();
  expect("dead", 2, "Rank 2 died first");
}

TEST_P(Doctor, SaysThatARankDestroyedItsCommunicator) {
  run(3, [](Child& child, Member& member) {
    member.allreduces(3);
    if (child.index == 2) return member.comm.reset();
    EXPECT_EQ(member.allreduce(), HOCKET_PEER_LOST);
  });
  expect("left", 2, "Rank 2 destroyed its communicator");
}

TEST_P(Doctor, SaysThatARankIsStopped) {
  ProcessGroup group(3, with_records([](Child& child, Member& member) {
                       member.allreduces(3);
                       child.say("done");
                       (void)child.hear();
                       if (child.index != 1) {
                         EXPECT_EQ(member.allreduce(), HOCKET_TIMEOUT);
                       }
                       while (hocket_comm_status(member.comm->get()) == HOCKET_OK) std::this_thread::yield();
                       child.say("over");
                       (void)child.hear();
                     }));
  group.hear_from_all("done");
  group.signal(1, SIGSTOP);
  for (const int index : {0, 2}) group.tell(index, "go on");
  for (const int index : {0, 2}) EXPECT_EQ(group.hear(index), "over");
  expect("stopped", 1, "is stopped, by a signal or a debugger");
  std::this_thread::sleep_for(std::chrono::seconds(2));  // how long it stands still is what its record tells
  group.signal(1, SIGCONT);
  group.tell(1, "go on");
  EXPECT_EQ(group.hear(1), "over");
  for (int index = 0; index < 3; ++index) group.tell(index, "leave");
  group.expect_success();
  expect("stopped", 1, "Rank 1 stood still");
}

TEST_P(Doctor, SaysThatARankNeverMadeTheCall) {
  run(3, [](Child& child, Member& member) {
    member.allreduces(5);
    if (child.index != 1) {
      EXPECT_EQ(member.allreduce(), HOCKET_TIMEOUT);
    }
    while (hocket_comm_status(member.comm->get()) == HOCKET_OK) std::this_thread::yield();
  });
  expect("never started", 1, "Rank 1 never called allreduce of 4 int32, sum number 6");
}

TEST_P(Doctor, SaysThatARankMadeAnotherCall) {
  run(3, [](Child& child, Member& member) {
    member.allreduces(5);
    if (child.index == 2) {
      EXPECT_EQ(hocket_broadcast(member.values.data(), member.values.data(), 4, HOCKET_INT32, 0, member.comm->get(),
                                 &member.call, nullptr),
                HOCKET_MISMATCH);
    } else {
      EXPECT_EQ(member.allreduce(), HOCKET_MISMATCH);
    }
  });
  expect_another_call(2, 6, "broadcast of 4 int32");
}

TEST_P(Doctor, SaysThatCountsDiffer) {
  run(3, [](Child& child, Member& member) {
    member.allreduces(2);
    EXPECT_EQ(member.allreduce(child.index == 0 ? 8 : 4), HOCKET_MISMATCH);
  });
  expect_another_call(0, 3, "allreduce of 8 int32");
}

TEST_P(Doctor, SaysThatRootsDiffer) {
  run(3, [](Child& child, Member& member) {
    const int root = child.index == 1 ? 2 : 0;
    (void)hocket_broadcast(member.values.data(), member.values.data(), 4, HOCKET_INT32, root, member.comm->get(),
                           &member.call, nullptr);  // over links some ranks need nothing of the one that is wrong
    while (hocket_comm_status(member.comm->get()) == HOCKET_OK) std::this_thread::yield();
  });
  expect_another_call(1, 1, "broadcast");
}

TEST_P(Doctor, SaysThatNobodySendsAMessage) {
  run(3, [](Child& child, Member& member) {
    member.allreduces(1);
    if (child.index == 0) {
      EXPECT_EQ(member.recv(2), HOCKET_TIMEOUT);
    }
    while (hocket_comm_status(member.comm->get()) == HOCKET_OK) std::this_thread::yield();
  });
  expect("no message", 2, "which rank 2 never sent");
}

TEST_P(Doctor, SaysThatNobodySendsToAReceiveFromAny) {
  run(2, [](Child& child, Member& member) {
    member.allreduces(1);
    std::int32_t source = -1;
    if (child.index == 0) {
      EXPECT_EQ(
          hocket_recv_any(member.values.data(), 4, HOCKET_INT32, &source, member.comm->get(), &member.call, nullptr),
          HOCKET_TIMEOUT);
    }
    while (hocket_comm_status(member.comm->get()) == HOCKET_OK) std::this_thread::yield();
  });
  expect("no message", 0, "from any rank, which nobody sent");
}

TEST_P(Doctor, SaysThatTwoReceivesWaitForEachOther) {
  run(3, [](Child& child, Member& member) {
    member.allreduces(1);
    if (child.index != 2) {
      EXPECT_EQ(member.recv(1 - child.index), HOCKET_TIMEOUT);
    }
    while (hocket_comm_status(member.comm->get()) == HOCKET_OK) std::this_thread::yield();
  });
  expect("deadlock", 0, "wait for each other: rank 0 in recv of 4 int32 from rank 1");
}

TEST_P(Doctor, SaysThatARankAborted) {
  run(3, [](Child& child, Member& member) {
    if (child.index == 2) {
      member.allreduces(1);  // which the others may still be in when they hear of the abort
      EXPECT_EQ(hocket_comm_abort(member.comm->get(), "the loss is not a number"), HOCKET_OK);
    }
    while (member.allreduce() == HOCKET_OK) {
    }
  });
  expect("aborted", 2, "the loss is not a number");
}

// On request, of ranks that hang: one waits, one has not come yet.
TEST_P(Doctor, SaysWhoIsBehindInAJobThatGoesOn) {
  ProcessGroup group(2, with_records([](Child& child, Member& member) {
                       member.call.timeout_ms = 60'000;
                       const auto write_when_asked = [&] {
                         while (child.hear() == "write") {
                           EXPECT_EQ(hocket_comm_record(member.comm->get(), nullptr), HOCKET_OK);
                           child.say("written");
                         }
                       };
                       member.allreduces(2);
                       child.say("done");
                       if (child.index == 0) {
                         std::thread asked(write_when_asked);
                         EXPECT_EQ(member.allreduce(), HOCKET_OK);
                         asked.join();
                       } else {
                         write_when_asked();
                         EXPECT_EQ(member.allreduce(), HOCKET_OK);
                       }
                     }));
  group.hear_from_all("done");
  // Rank 0 comes to its call, and has waited long enough to say for whom, some time later.
  for (const auto deadline = Deadline::after(std::chrono::seconds(60)); !deadline.passed();) {
    for (const int index : {0, 1}) group.tell(index, "write");
    group.hear_from_all("written");
    if (ask().at(0).at("kind") != "nothing") break;
  }
  expect("never started", 1, "Rank 1 never called allreduce of 4 int32, sum number 3");
  for (const int index : {0, 1}) group.tell(index, "go on");
  group.expect_success();
}

TEST_P(Doctor, FindsNothingWhereAllEndedWell) {
  ProcessGroup group(3, [this](Child&) {
    ::setenv("HOCKET_RECORD_DIR", folder_.path().c_str(), 1);
    ::setenv("HOCKET_RECORD_AT_END", "on", 1);
    Member member(GetParam());
    member.allreduces(1500);  // more than are kept
  });
  group.expect_success();
  expect("nothing", -1, "Nothing broke and nothing waits; rank ");
  const json record = json::parse(contents(some_record()));
  EXPECT_EQ(record["operations"].size(), 1024U);
  EXPECT_EQ(record["operations"].back()["number"], 1500);
  EXPECT_EQ(record["operations"].front()["number"], 1500 - 1023);
}

INSTANTIATE_TEST_SUITE_P(Over, Doctor, ::testing::Values("tcp", "auto"),
                         [](const auto& information) { return information.param; });

}  // namespace
}  // namespace hocket::process_testing
