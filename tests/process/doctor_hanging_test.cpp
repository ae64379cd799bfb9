// What hocket-doctor says of ranks that hang and are asked by a signal, and of those that are behind or ahead.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "src/spi/types.hpp"
#include "tests/process/support/doctor.hpp"

namespace hocket::process_testing {
namespace {

using nlohmann::json;

[[noreturn]] void hang() {
  for (;;) ::pause();
}

void never_return(void*, const void*, const void*, size_t, hocket_dtype, void*) {
  hang();
}

void keep_left(void*, const void*, const void*, size_t, hocket_dtype, void*) {}

class DoctorOfHanging : public Doctor {
 protected:
  // Ranks that write on SIGUSR2, and hang at the end of `body` or in it.
  ProcessGroup::Body that_hang(const Body& body) const {
    return [this, body](Child& child) {
      ::setenv("HOCKET_RECORD_SIGNAL", "USR2", 1);
      with_records([&](Child& hanging, Member& member) {
        member.call.timeout_ms = 600'000;
        member.call.function = hanging.index == 1 ? never_return : keep_left;
        member.call.commutative = 1;
        member.allreduces(2);
        hanging.say("ready");
        body(hanging, member);
        hang();
      })(child);
    };
  }

  std::size_t records() const {
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      found += entry.path().extension() == ".json" ? 1 : 0;
    }
    return found;
  }
  // Signals all until their records tell of that: some may not have come to their call yet, or not waited for long.
  void ask_until(const std::string& kind, ProcessGroup& group) const {
    group.hear_from_all("ready");
    for (const auto deadline = Deadline::after(std::chrono::seconds(60)); !deadline.passed();) {
      for (int index = 0; index < group.size(); ++index) group.signal(index, SIGUSR2);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // only so that they are not asked all the time
      if (records() == static_cast<std::size_t>(group.size()) && ask().at(0).at("kind") == kind) return;
    }
    ADD_FAILURE() << "the records never told of " << kind;
  }
  static void end(ProcessGroup& group) {
    for (int index = 0; index < group.size(); ++index) group.signal(index, SIGKILL);
    (void)group.wait();
  }
};

TEST_P(DoctorOfHanging, SaysWhereAProgramHangsThatIsAskedByASignal) {
  ProcessGroup group(3, that_hang([](Child& child, Member& member) {
                       if (child.index != 1) (void)member.allreduce();
                     }));
  ask_until("never started", group);
  expect("never started", 1, "Rank 1 never called allreduce of 4 int32, sum number 3");
  EXPECT_EQ(json::parse(contents(some_record()))["reason"], "signal");
  EXPECT_EQ(ask()[0]["without_record"], json::array());
  end(group);
}

// Its thread hangs in the middle of the call, in a function of the program's.
TEST_P(DoctorOfHanging, SaysThatARankIsSlowInACallThatItHasBegun) {
  ProcessGroup group(2, that_hang([](Child&, Member& member) {
                       std::vector<int> values(1 << 20);
                       (void)hocket_allreduce(values.data(), values.data(), values.size(), HOCKET_INT32, HOCKET_USER,
                                              member.comm->get(), &member.call, nullptr);
                     }));
  ask_until("slow", group);
  expect("slow", 1, "Rank 1 was slow: it began allreduce of 1048576 int32");
  end(group);
}

// Rank 0 needs nothing of rank 1 in the call in which that hangs, but in the next one. Both run over links.
TEST_P(DoctorOfHanging, SaysThatACallIsQueuedBehindOneThatHangs) {
  ProcessGroup group(2, that_hang([](Child& child, Member& member) {
                       hocket_comm* const comm = member.comm->get();
                       hocket_work* work[2] = {};
                       EXPECT_EQ(hocket_reduce(member.values.data(), member.values.data(), 4, HOCKET_INT32, HOCKET_USER,
                                               1, comm, &member.call, &work[0]),
                                 HOCKET_OK);
                       EXPECT_EQ(hocket_allreduce(member.values.data(), member.values.data(), 4, HOCKET_INT32,
                                                  HOCKET_USER, comm, &member.call, &work[1]),
                                 HOCKET_OK);
                       if (child.index == 0) (void)hocket_work_wait(work[1], 0);
                     }));
  ask_until("queued", group);
  expect("queued", 1, "Rank 1 has called allreduce of 4 int32, user number 4, but the call waits for others before it");
  end(group);
}

TEST_P(DoctorOfHanging, SaysThatRanksWaitForEachOtherAlsoInSeveralCalls) {
  ProcessGroup group(
      3, that_hang([](Child& child, Member& member) {
        std::vector<int> values(4);
        hocket_work* also = nullptr;
        if (child.index == 0) {
          EXPECT_EQ(hocket_recv(values.data(), 4, HOCKET_INT32, 1, member.comm->get(), &member.call, &also), HOCKET_OK);
        }
        (void)member.recv(child.index == 0 ? 2 : 0);
      }));
  ask_until("deadlock", group);
  expect("deadlock", 0, "Ranks wait for each other: rank 0 in recv of 4 int32 from rank ");
  end(group);
}

// The other one's record is of a time when it still waited, which nobody can see where the hosts' clocks differ.
TEST_P(DoctorOfHanging, SaysThatARankIsFarAhead) {
  ProcessGroup group(2, that_hang([](Child& child, Member& member) {
                       if (child.index == 0) (void)child.hear();
                       for (int call = 0; call < 1500; ++call) {  // more than are recorded
                         ASSERT_EQ(hocket_broadcast(member.values.data(), member.values.data(), 4, HOCKET_INT32, 0,
                                                    member.comm->get(), &member.call, nullptr),
                                   HOCKET_OK);
                       }
                       child.say("done");
                     }));
  ask_until("never started", group);
  expect("never started", 0, "Rank 0 never called broadcast of 4 int32");
  group.tell(0, "go on");
  group.hear_from_all("done");
  for (const auto deadline = Deadline::after(std::chrono::seconds(60)); !deadline.passed();) {
    group.signal(0, SIGUSR2);
    if (ask().at(0).at("kind") == "ahead") break;
  }
  expect("ahead", 0, "Rank 0 is at call number 1502, long past broadcast of 4 int32");
  end(group);
}

INSTANTIATE_TEST_SUITE_P(Over, DoctorOfHanging, ::testing::Values("tcp", "auto"),
                         [](const auto& information) { return information.param; });

}  // namespace
}  // namespace hocket::process_testing
