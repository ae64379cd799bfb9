// A rank that aborts ends the calls of all others.
#include <signal.h>

#include <chrono>
#include <thread>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

TEST(Abort, FromAnotherThreadEndsAReceiveAndAllRanks) {
  for (const Rank aborting : {0, 1}) {
    SCOPED_TRACE("rank " + std::to_string(aborting) + " aborts");
    run_ranks(3, [&](Child& child) {
      const Comm comm;
      ASSERT_TRUE(comm);
      Call({.count = 10}, child.index, child.size).run(comm.get());
      std::thread aborter;
      if (child.index == aborting) {
        aborter = std::thread([&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          EXPECT_EQ(hocket_comm_abort(comm.get(), "no more cheese"), HOCKET_OK);
        });
      }
      // Rank 0 waits for a message that nobody sends; the others wait for rank 0.
      float value = 0;
      const hocket_result result = child.index == 0
                                       ? hocket_recv(&value, 1, HOCKET_FLOAT32, 1, comm.get(), nullptr, nullptr)
                                       : hocket_barrier(comm.get(), nullptr, nullptr);
      if (aborter.joinable()) aborter.join();
      expect_result(result, HOCKET_ABORTED);
      expect_message_names("no more cheese");
      expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_ABORTED, "a later call");
      EXPECT_EQ(hocket_comm_abort(comm.get(), "another reason"), HOCKET_OK) << "aborting twice is allowed";
      expect_result(hocket_comm_status(comm.get()), HOCKET_ABORTED);
      expect_message_names("no more cheese");
    });
  }
}

TEST(Abort, EndsAsynchronousWork) {
  ProcessGroup group(2, [](Child& child) {
    const Comm comm;
    ASSERT_TRUE(comm);
    std::vector<float> values(1000);
    hocket_work* work = nullptr;
    ASSERT_EQ(hocket_recv(values.data(), values.size(), HOCKET_FLOAT32, 1 - child.index, comm.get(), nullptr, &work),
              HOCKET_OK);
    EXPECT_EQ(hocket_work_test(work), HOCKET_IN_PROGRESS);
    child.say("receiving");
    EXPECT_EQ(child.hear(), "go on");
    if (child.index == 0) {
      EXPECT_EQ(hocket_comm_abort(comm.get(), nullptr), HOCKET_OK);
    }
    expect_result(hocket_work_wait(work, 0), HOCKET_ABORTED);
    hocket_work_release(work);
  });
  group.hear_from_all("receiving");
  for (const int index : {0, 1}) group.tell(index, "go on");
  group.expect_success();
}

}  // namespace
}  // namespace hocket::process_testing
