// Calls that refine the choice of later calls (HOCKET_REFINE), in running groups and with real times: whatever they
// are, the ranks stay in step.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/process/program.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr int calls_before_exchange = 24;  // the pause before the first round, and the round

void refine() {
  ::setenv("HOCKET_TRANSPORT", "tcp", 1);
  ::setenv("HOCKET_REFINE", "on", 1);
}

// A rank waits for each call, or calls in groups, or starts some and waits for the oldest.
enum class Habit { waits, groups, runs_ahead };

void make_calls(hocket_comm* comm, int index, int size, Habit habit) {
  constexpr std::size_t ahead = 40, calls = 160;
  std::mt19937 random(static_cast<unsigned>(index));
  std::vector<std::vector<float>> values(calls);
  std::vector<hocket_work*> works(calls, nullptr);
  for (std::size_t i = 0; i < calls; ++i) {
    if (random() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
    values[i].assign(i % 5 == 0 ? 7 : 2000, static_cast<float>(index + 1));
    const bool grouped = habit == Habit::groups && i % 4 != 0;
    if (grouped && i % 4 == 1) expect_result(hocket_group_start(), HOCKET_OK);
    expect_result(hocket_allreduce(values[i].data(), values[i].data(), values[i].size(), HOCKET_FLOAT32, HOCKET_SUM,
                                   comm, nullptr, habit == Habit::runs_ahead ? &works[i] : nullptr),
                  HOCKET_OK);
    if (grouped && i % 4 == 3) expect_result(hocket_group_end(nullptr), HOCKET_OK);
    if (habit == Habit::runs_ahead && i >= ahead) expect_result(hocket_work_wait(works[i - ahead], 0), HOCKET_OK);
    if (testing::Test::HasFailure()) break;
  }
  for (hocket_work* work : works) {
    if (work == nullptr) continue;
    expect_result(hocket_work_wait(work, 0), HOCKET_OK);
    hocket_work_release(work);
  }
  for (const auto& one : values) EXPECT_THAT(one, Each(static_cast<float>(size * (size + 1) / 2)));
}

TEST(Refine, RanksOfAnyHabitStayInStep) {
  run_ranks("0011", [](Child& child) {
    refine();
    const Comm comm;
    ASSERT_TRUE(comm) << hocket_last_error();
    make_calls(comm.get(), child.index, child.size, static_cast<Habit>(child.index % 3));
    make_calls(comm.get(), child.index, child.size, static_cast<Habit>((child.index + 1) % 3));
  });
}

// Who is missing at the exchange of times is named as in any call.
TEST(Refine, ARankThatIsSilentAtAnExchangeIsNamed) {
  ProcessGroup group(3, [](Child& child) {
    refine();
    const Comm comm;
    ASSERT_TRUE(comm) << hocket_last_error();
    std::vector<float> values(100, 1);
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    for (int i = 0; i < calls_before_exchange; ++i) {
      expect_result(hocket_allreduce(values.data(), values.data(), values.size(), HOCKET_FLOAT32, HOCKET_MAX,
                                     comm.get(), nullptr, nullptr),
                    HOCKET_OK);
    }
    if (child.index == 2) {
      child.hear();  // until the others have given up
      return;
    }
    options.timeout_ms = 300;
    expect_result(hocket_allreduce(values.data(), values.data(), values.size(), HOCKET_FLOAT32, HOCKET_MAX, comm.get(),
                                   &options, nullptr),
                  HOCKET_TIMEOUT);
    EXPECT_EQ(last_cause().peer, 2);
    expect_message_names("exchange of measured times");
    child.say("over");
  });
  for (const int other : {0, 1}) EXPECT_EQ(group.hear(other), "over");
  group.tell(2, "end");
  group.expect_success();
}

TEST(Refine, ADifferentCallAtAnExchangeIsNamed) {
  run_ranks(3, [](Child& child) {
    refine();
    const Comm comm;
    ASSERT_TRUE(comm) << hocket_last_error();
    std::vector<float> values(100, 1);
    for (int i = 0; i < calls_before_exchange; ++i) {
      expect_result(hocket_allreduce(values.data(), values.data(), values.size(), HOCKET_FLOAT32, HOCKET_MAX,
                                     comm.get(), nullptr, nullptr),
                    HOCKET_OK);
    }
    const hocket_result result =
        child.index == 0
            ? hocket_allreduce(values.data(), values.data(), values.size(), HOCKET_FLOAT32, HOCKET_MAX, comm.get(),
                               nullptr, nullptr)
            : hocket_alltoall(values.data(), values.data(), 30, HOCKET_FLOAT32, comm.get(), nullptr, nullptr);
    expect_result(result, HOCKET_MISMATCH);
    expect_message_names("exchange of measured times");
    expect_message_names("alltoall of 30 float32");
  });
}

TEST(Refine, SetDifferentlyIsRefusedByName) {
  run_ranks(3, [](Child& child) {
    ::setenv("HOCKET_REFINE", child.index == 1 ? "on" : "off", 1);
    hocket_comm* comm = nullptr;
    expect_result(hocket_comm_create(&comm, nullptr), HOCKET_MISMATCH);
    expect_message_names("rank 1 was created with HOCKET_REFINE=on");
  });
}

TEST(Refine, AWrongSettingIsNamed) {
  run_ranks(1, [](Child&) {
    ::setenv("HOCKET_REFINE", "yes", 1);
    hocket_comm* comm = nullptr;
    expect_result(hocket_comm_create(&comm, nullptr), HOCKET_INVALID_ENVIRONMENT);
    expect_message_names("HOCKET_REFINE is \"yes\"; it must be on or off");
  });
}

// What was compared, and what came of it, is there to be read.
TEST(Refine, VerdictsAreInTheLog) {
  const TemporaryFolder folder;
  std::ofstream(folder.file("table")) << "[2 ranks on 1 host]\nallreduce=one_shot\n";
  const Ran ran = run_command("HOCKET_REFINE=on HOCKET_LOG_LEVEL=info HOCKET_TUNING=" + folder.file("table") +
                              " $BENCH allreduce --ranks 2 --transport tcp -b 1K -e 1K -n 200 -w 100 --placement in");
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.error, HasSubstr("allreduce of 513 to 1024 bytes: "));
  EXPECT_THAT(ran.error, HasSubstr(" µs by one_shot, "));
}

}  // namespace
}  // namespace hocket::process_testing
