// hocket-doctor --trace: the operations and steps of real ranks on one time axis, also where clocks differ.
#include <cmath>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "src/spi/types.hpp"
#include "tests/process/support/doctor.hpp"

namespace hocket::process_testing {
namespace {

using nlohmann::json;

class DoctorTrace : public Doctor {
 protected:
  // Three ranks that record so many steps: two allreduces of 1,000 int32, by a ring, and a message from rank 0 to 2.
  void run_and_record(const std::string& steps) const {
    ProcessGroup group(3, [this, &steps](Child& child) {
      ::setenv("HOCKET_RECORD_DIR", folder_.path().c_str(), 1);
      ::setenv("HOCKET_RECORD_AT_END", "on", 1);
      ::setenv("HOCKET_ALGORITHM", "ring", 1);
      if (!steps.empty()) ::setenv("HOCKET_RECORD_STEPS", steps.c_str(), 1);
      Member member("tcp");
      member.call.timeout_ms = 60'000;
      for (int call = 0; call < 2; ++call) ASSERT_EQ(member.allreduce(1000), HOCKET_OK);
      if (child.index == 0) {
        EXPECT_EQ(hocket_send(member.values.data(), 4, HOCKET_INT32, 2, member.comm->get(), &member.call, nullptr),
                  HOCKET_OK);
      } else if (child.index == 2) {
        EXPECT_EQ(member.recv(0), HOCKET_OK);
      }
      ASSERT_EQ(member.allreduce(4), HOCKET_OK);  // nobody leaves before the message has come
    });
    group.expect_success();
  }
  std::string file_of(int rank) const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      if (entry.path().string().ends_with(".rank" + std::to_string(rank) + ".json")) return entry.path().string();
    }
    return "";
  }
  json trace() const {
    const std::string file = folder_.file("trace");
    const Ran ran = run_command("'" + program_path("hocket-doctor") + "' --json --trace '" + file + "' '" +
                                folder_.path().string() + "'");
    EXPECT_EQ(ran.status, 0) << ran.error;
    return json::parse(contents(file)).at("traceEvents");
  }
  // Of a rank's process name, in microseconds.
  static double clock_error(const json& events, int rank) {
    for (const json& event : events) {
      if (event["name"] != "process_name" || event["pid"] != rank) continue;
      const auto name = event["args"]["name"].get<std::string>();
      return std::stod(name.substr(name.find("clock error ") + 12));
    }
    return -1;
  }
  // When each slice of a rank began, by the first slice of rank 0.
  static std::vector<double> times_of(const json& events, int rank) {
    double origin = INFINITY;
    std::vector<double> times;
    for (const json& event : events) {
      if (event["ph"] != "X") continue;
      if (event["pid"] == 0) origin = std::min(origin, event["ts"].get<double>());
      if (event["pid"] == rank) times.push_back(event["ts"]);
    }
    for (double& time : times) time -= origin;
    return times;
  }
  // As if the rank ran on a host of its own, whose clock is this much ahead.
  void move_clock(int rank, std::int64_t ahead) const {
    json record = json::parse(contents(file_of(rank)));
    const auto move = [ahead](json& time) {
      if (!time.is_null()) time = time.get<std::int64_t>() + ahead;
    };
    record["clock"]["kernel"] = "that of rank " + std::to_string(rank);
    move(record["clock"]["steady_ns"]);
    for (json& operation : record["operations"]) {
      move(operation["began_ns"]);
      if (operation.contains("ended_ns")) move(operation["ended_ns"]);
    }
    if (record.contains("steps")) {
      for (json& step : record["steps"]) {
        move(step[6]);
        move(step[7]);
      }
    }
    std::ofstream(file_of(rank)) << record;
  }
};

TEST_F(DoctorTrace, HasAllStepsAndWhereMessagesWent) {
  run_and_record("1000");
  const json events = trace();
  std::map<std::string, std::uint64_t> bytes;  // of the allreduces' steps, by what they do and whose they are
  std::map<int, std::pair<double, double>> arrows;
  int messages_to_2 = 0;
  for (const json& event : events) {
    const auto name = event["name"].get<std::string>();
    if (event.value("cat", "") == "step") {
      EXPECT_TRUE(event["args"]["ended"]) << event;
      const std::string key = std::to_string(event["pid"].get<int>()) + " " + name;
      bytes[key] += event["args"]["bytes"].get<std::uint64_t>();
      messages_to_2 += event["pid"] == 0 && name == "send to 2" ? 1 : 0;
    }
    if (event["ph"] == "s") arrows[event["id"]].first = event["ts"];
    if (event["ph"] == "f") arrows[event["id"]].second = event["ts"];
  }
  // A ring sends to the right only, two thirds of a third for each of three ranks, twice.
  EXPECT_GE(bytes["0 send to 1"], 2U * 4 * 1000 * 4 / 3 - 64);
  EXPECT_EQ(bytes["1 send to 0"], 0U);
  EXPECT_EQ(messages_to_2, 1);
  EXPECT_EQ(bytes["2 recv from 0"], 16U);
  EXPECT_GE(arrows.size(), 12U);
  for (const auto& [number, ends] : arrows) EXPECT_GE(ends.second, ends.first) << number;
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(clock_error(events, rank), 0) << "one host has one clock";
}

TEST_F(DoctorTrace, AlignsClocksByMessagesAndSaysHowWell) {
  run_and_record("1000");
  const json before = trace();
  move_clock(1, 3'600'000'000'000);
  move_clock(2, -7'200'000'000'000);
  const json after = trace();
  for (const int rank : {1, 2}) {
    const double error = clock_error(after, rank);
    EXPECT_GT(error, 0);
    EXPECT_LT(error, 60e6);
    const auto right = times_of(before, rank), found = times_of(after, rank);
    ASSERT_EQ(right.size(), found.size());
    for (std::size_t i = 0; i < right.size(); ++i) EXPECT_NEAR(found[i], right[i], error + 0.01);
  }
}

TEST_F(DoctorTrace, AlignsClocksByCallsWhereThereAreNoSteps) {
  run_and_record("");
  const json before = trace();
  EXPECT_FALSE(json::parse(contents(file_of(0))).contains("steps"));
  move_clock(1, 3'600'000'000'000);
  const json after = trace();
  const double error = clock_error(after, 1);
  EXPECT_GT(error, 0);
  EXPECT_NEAR(times_of(after, 1).at(0), times_of(before, 1).at(0), error + 0.01);
}

TEST_F(DoctorTrace, KeepsTheLatestStepsThatWereAskedFor) {
  run_and_record("5");
  const json steps = json::parse(contents(file_of(0))).at("steps");
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_EQ(steps.back()[1], 3);
  (void)trace();
}

TEST_F(DoctorTrace, ANumberOfStepsIsANumber) {
  run_ranks(1, [](Child&) {
    ::setenv("HOCKET_RECORD_STEPS", "all", 1);
    EXPECT_EQ(create_in_vain(), HOCKET_INVALID_ENVIRONMENT);
    expect_message_names("HOCKET_RECORD_STEPS");
  });
}

}  // namespace
}  // namespace hocket::process_testing
