// hocket-doctor --job: what it says of ranks that run, whom it asks through their store.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "src/spi/types.hpp"
#include "tests/process/support/doctor.hpp"
#include "tests/process/support/store_daemon.hpp"

namespace hocket::process_testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* secret = "nobody can guess this text";

class DoctorOfAJob : public Doctor {
 protected:
  // Ranks of the job "work" that report to that store. Empty: to one that rank 0 serves.
  static ProcessGroup::Body that_report(const std::string& store, const Body& body) {
    return [store, body](Child& child) {
      ::setenv("HOCKET_REPORT", "on", 1);
      ::setenv("HOCKET_JOB", "work", 1);
      if (!store.empty()) ::setenv("HOCKET_STORE", store.c_str(), 1);
      Member member(GetParam());
      ASSERT_TRUE(*member.comm);
      member.call.timeout_ms = 600'000;
      member.allreduces(2);
      child.say("ready");
      body(child, member);
    };
  }
  static std::string url_of(Daemon& daemon) { return "tcp://127.0.0.1:" + std::to_string(daemon.port()); }
  static Ran doctor(const std::string& store, const std::string& environment = "",
                    const std::string& options = "--json") {
    const std::string where = store.empty() ? "" : " --store " + store;
    return run_command(environment + " '" + program_path("hocket-doctor") + "' --job work " + options + where);
  }
  // Asks until it says something else than that nothing waits.
  static json ask_job(const std::string& store, const std::string& environment = "",
                      const std::string& options = "--json") {
    json said;
    for (const auto deadline = Deadline::after(std::chrono::seconds(60)); !deadline.passed();) {
      const Ran ran = doctor(store, environment, options);
      said = json::parse(ran.out, nullptr, false);
      if (ran.status == 1) return said.at(0);
    }
    ADD_FAILURE() << "it found nothing: " << said;
    return {{"kind", ""}, {"rank", -1}, {"sentence", ""}};
  }
  static void end(ProcessGroup& group) {
    for (int index = 0; index < group.size(); ++index) group.signal(index, SIGKILL);
    (void)group.wait();
  }
  [[noreturn]] static void hang() {
    for (;;) ::pause();
  }
  // Rank 1 does not come.
  static void come_without_rank_1(Child& child, Member& member) {
    if (child.index == 1) hang();
    (void)member.allreduce();
  }
};

TEST_P(DoctorOfAJob, SaysWhatHappensNow) {
  Daemon daemon({"--port", "0"});
  const std::string store = url_of(daemon);
  ProcessGroup group(3, that_report(store, come_without_rank_1));
  group.hear_from_all("ready");
  const json said = ask_job(store);
  EXPECT_EQ(said["kind"], "never started");
  EXPECT_EQ(said["rank"], 1);
  EXPECT_THAT(said["sentence"].get<std::string>(), HasSubstr("Rank 1 never called allreduce of 4 int32, sum number 3"));
  EXPECT_EQ(said["without_record"], json::array());
  EXPECT_EQ(said["name"], "work");
  const Ran drawn = doctor(store, "", "--calls 5");
  EXPECT_THAT(drawn.out, HasSubstr("communicator \"work\""));
  end(group);
}

TEST_P(DoctorOfAJob, SaysThatARankIsStopped) {
  Daemon daemon({"--port", "0"});
  const std::string store = url_of(daemon);
  ProcessGroup group(3, that_report(store, come_without_rank_1));
  group.hear_from_all("ready");
  (void)ask_job(store);  // all report
  group.signal(1, SIGSTOP);
  const json said = ask_job(store, "", "--json --patience 2");
  EXPECT_EQ(said["kind"], "stopped");
  EXPECT_EQ(said["rank"], 1);
  EXPECT_EQ(said["without_record"], json::array({1}));
  end(group);
}

TEST_P(DoctorOfAJob, AsksThroughTheStoreOfRank0) {
  std::string meeting;
  ProcessGroup group(2, that_report("", [](Child& child, Member& member) {
                       if (child.index == 0) child.say(std::getenv("MASTER_PORT"));
                       come_without_rank_1(child, member);
                     }));
  group.hear_from_all("ready");
  const std::string environment = "MASTER_ADDR=127.0.0.1 MASTER_PORT=" + group.hear(0);
  EXPECT_EQ(ask_job("", environment)["kind"], "never started");
  end(group);
}

TEST_P(DoctorOfAJob, IsToldNothingWithoutTheSecret) {
  ::setenv("HOCKET_SECRET", secret, 1);
  Daemon daemon({"--port", "0"});
  const std::string store = url_of(daemon);
  ProcessGroup group(2, that_report(store, come_without_rank_1));
  group.hear_from_all("ready");
  EXPECT_EQ(ask_job(store)["kind"], "never started");
  const Ran stranger = doctor(store, "HOCKET_SECRET='another text that is long enough'");
  EXPECT_EQ(stranger.status, 2);
  EXPECT_EQ(stranger.out, "");
  EXPECT_THAT(stranger.error, HasSubstr("secret"));
  ::unsetenv("HOCKET_SECRET");
  end(group);
}

// Ranks go on without the store, and report to the next one.
TEST_P(DoctorOfAJob, MayLoseTheStoreMeanwhile) {
  std::optional<Daemon> daemon(std::vector<std::string>{"--port", "0"});
  const std::string store = url_of(*daemon), port = store.substr(store.rfind(':') + 1);
  ProcessGroup group(2, that_report(store, [](Child& child, Member& member) {
                       while (child.hear() == "call") {
                         member.allreduces(100);
                         child.say("called");
                       }
                     }));
  const auto call = [&] {
    for (int index = 0; index < 2; ++index) group.tell(index, "call");
    group.hear_from_all("called");
  };
  group.hear_from_all("ready");
  daemon.reset();
  call();
  EXPECT_EQ(doctor(store, "timeout 30").status, 2);
  daemon.emplace(std::vector<std::string>{"--port", port});
  (void)daemon->port();
  const auto deadline = Deadline::after(std::chrono::seconds(60));
  while (doctor(store).status == 2 && !deadline.passed()) std::this_thread::yield();
  const Ran ran = doctor(store);
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_EQ(json::parse(ran.out).at(0).at("kind"), "nothing");
  daemon->stop();  // it answers nobody, and is connected still
  call();
  for (int index = 0; index < 2; ++index) group.tell(index, "leave");
  group.expect_success();
}

TEST(DoctorOfNoJob, SaysWhatToDo) {
  Daemon daemon({"--port", "0"});
  const std::string program = "'" + program_path("hocket-doctor") + "' ";
  const Ran nobody = run_command(program + "--job work --store tcp://127.0.0.1:" + std::to_string(daemon.port()));
  EXPECT_EQ(nobody.status, 2);
  EXPECT_THAT(nobody.error, HasSubstr("no rank of job \"work\" reports to the store"));
  EXPECT_THAT(nobody.error, HasSubstr("HOCKET_REPORT=on"));
  const Ran nowhere = run_command("env -u HOCKET_STORE -u MASTER_ADDR -u MASTER_PORT " + program + "--job work");
  EXPECT_EQ(nowhere.status, 2);
  EXPECT_THAT(nowhere.error, HasSubstr("give --store"));
  const Ran nothing = run_command(program);
  EXPECT_EQ(nothing.status, 2);
  EXPECT_THAT(nothing.error, HasSubstr("--job"));
}

INSTANTIATE_TEST_SUITE_P(Over, DoctorOfAJob, ::testing::Values("tcp", "auto"),
                         [](const auto& information) { return information.param; });

}  // namespace
}  // namespace hocket::process_testing
