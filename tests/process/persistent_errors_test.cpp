// What persistent operations refuse, and how they end.
#include <gtest/gtest.h>

#include <vector>

#include "hocket/hocket.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/works.hpp"

namespace hocket::process_testing {
namespace {

TEST(PersistentErrors, OfStatesAndArguments) {
  ProcessGroup group(2, [](Child& child) {
    float value = 1;
    const hocket_call_options options = persistent();
    Handle work;
    {
      const Comm comm;
      ASSERT_TRUE(comm);
      const auto allreduce = [&](hocket_work** out, const hocket_call_options* given) {
        return hocket_allreduce(&value, &value, 1, HOCKET_FLOAT32, HOCKET_SUM, comm.get(), given, out);
      };
      expect_result(allreduce(nullptr, &options), HOCKET_INVALID_ARGUMENT);
      expect_message_names("work is null, but a persistent call");
      expect_result(hocket_allreduce(nullptr, &value, 1, HOCKET_FLOAT32, HOCKET_SUM, comm.get(), &options, work.out()),
                    HOCKET_INVALID_ARGUMENT);
      EXPECT_EQ(work.get(), nullptr);
      expect_result(hocket_sendrecv(&value, 1, 0, &value, 1, 0, HOCKET_FLOAT32, comm.get(), &options, nullptr),
                    HOCKET_INVALID_ARGUMENT);
      expect_message_names("work is null, but a persistent call");
      expect_result(hocket_recv_any(&value, 1, HOCKET_FLOAT32, nullptr, comm.get(), &options, work.out()),
                    HOCKET_UNSUPPORTED);
      expect_message_names("recv: a receive from any rank cannot be persistent");
      EXPECT_EQ(work.get(), nullptr);
      expect_result(hocket_group_start(), HOCKET_OK);
      expect_result(allreduce(work.out(), &options), HOCKET_INVALID_ARGUMENT);
      expect_message_names("options.persistent has no meaning inside a group");
      expect_result(hocket_group_end(nullptr), HOCKET_INVALID_ARGUMENT);
      expect_result(hocket_work_start(nullptr), HOCKET_INVALID_ARGUMENT);
      expect_message_names("work is null");
      {
        Handle once;
        expect_result(allreduce(once.out(), nullptr), HOCKET_OK);
        expect_result(hocket_work_start(once.get()), HOCKET_INVALID_ARGUMENT);
        expect_message_names("work is not persistent");
        expect_result(hocket_work_wait(once.get(), 0), HOCKET_OK);
      }
      expect_result(allreduce(work.out(), &options), HOCKET_OK);
      if (child.index == 0) {
        expect_result(hocket_work_start(work.get()), HOCKET_OK);  // the other rank does not begin before it is told
        expect_result(hocket_work_start(work.get()), HOCKET_INVALID_ARGUMENT);
        expect_message_names("work is still running");
        expect_result(hocket_work_run(work.get()), HOCKET_INVALID_ARGUMENT);
        child.say("refused");
        expect_result(hocket_work_wait(work.get(), 0), HOCKET_OK);
      } else {
        EXPECT_EQ(child.hear(), "go on");
        expect_result(hocket_work_run(work.get()), HOCKET_OK);
      }
      EXPECT_EQ(value, 4);  // doubled by the first work too
    }
    expect_result(hocket_work_test(work.get()), HOCKET_OK);
    expect_result(hocket_work_start(work.get()), HOCKET_INVALID_ARGUMENT);
    expect_message_names("communicator of work was destroyed");
  });
  EXPECT_EQ(group.hear(0), "refused");
  group.tell(1, "go on");
  group.expect_success();
}

TEST(PersistentErrors, OfACommunicatorThatBroke) {
  for (const char* places : {"00", "01"}) {
    run_ranks(Ranks(places), [](Child&) {
      const Comm comm;
      ASSERT_TRUE(comm);
      std::vector<float> values(100000, 1);
      const hocket_call_options options = persistent();
      Handle work;
      expect_result(hocket_allreduce(values.data(), values.data(), values.size(), HOCKET_FLOAT32, HOCKET_SUM,
                                     comm.get(), &options, work.out()),
                    HOCKET_OK);
      work.start_and_wait();
      expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_OK);
      expect_result(hocket_comm_abort(comm.get(), "enough"), HOCKET_OK);
      expect_result(hocket_work_start(work.get()), HOCKET_ABORTED);
      expect_result(hocket_work_run(work.get()), HOCKET_ABORTED);
      expect_message_names("enough");
    });
  }
}

}  // namespace
}  // namespace hocket::process_testing
