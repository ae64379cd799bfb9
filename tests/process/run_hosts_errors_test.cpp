// hocket-run on several hosts where one cannot be reached, or where nobody reads what ranks say.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>

#include <chrono>

#include "tests/process/support/ssh_hosts.hpp"

namespace hocket::process_testing {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class HocketRunHostsErrors : public SshHosts {
 protected:
  // Where host 2 is the trouble.
  void expect_refusal(const std::string& flags, const std::string& reason) {
    const Ran ran = run("$RUN -n 4 --host-timeout 2 " + flags + " touch $F/started");
    EXPECT_EQ(ran.status, 255) << flags;
    EXPECT_THAT(ran.error, StartsWith("hocket-run: cannot start ranks on 10.77.0.")) << flags;
    EXPECT_THAT(ran.error, HasSubstr(reason)) << flags;
    EXPECT_FALSE(std::filesystem::exists(folder_.file("started"))) << flags;
    for (const int host : {0, 1, 2}) EXPECT_TRUE(is_clean(host));
  }
  // A pipe, to its last page: writing to it to find out would go on while that one has room.
  static bool is_full(int pipe) {
    pollfd writable{.fd = pipe, .events = POLLOUT, .revents = 0};
    return ::poll(&writable, 1, 0) == 0;
  }
  std::string by(const std::string& ssh) const { return "--hosts localhost," + name(2) + " --ssh '" + ssh + "'"; }
};

TEST_F(HocketRunHostsErrors, SshSaysWhyAHostCannotBeReached) {
  expect_refusal(by(ssh("client", 2223)), "Connection refused");
  expect_refusal(by(ssh("stranger")), "Permission denied (publickey)");
  expect_refusal(by(ssh("client", 2222, "wrong")), "Host key verification failed");
}

// On the first host of the list, and after an agent was started on another.
TEST(HocketRunHostsStart, AnSshThatDoesNotExistIsNamed) {
  for (const char* hosts : {"10.77.0.2", "10.77.0.2,10.77.0.3", "localhost,10.77.0.2"}) {
    const Ran ran = run_command("exec $RUN -n 2 --hosts " + std::string(hosts) + " --ssh /no/such echo started");
    EXPECT_EQ(ran.status, 127) << hosts;
    EXPECT_THAT(ran.error, StartsWith("hocket-run: Cannot start '/no/such'")) << hosts;
    EXPECT_EQ(ran.out, "") << hosts;
  }
}

TEST_F(HocketRunHostsErrors, AHostThatDoesNotAnswerIsNamed) {
  expect_refusal("--hosts localhost,10.77.0.9 --ssh '" + ssh() + "'", "10.77.0.9: ssh: connect to host 10.77.0.9");
  expect_refusal(by(ssh()) + " --remote-program /no/such", "(--remote-program says where hocket-run is there)");
  std::ofstream(folder_.file("silent")) << "#!/bin/sh\nexec sleep 60\n";
  std::filesystem::permissions(folder_.file("silent"), std::filesystem::perms::owner_all);
  expect_refusal(by(folder_.file("silent")), "10.77.0.3: no answer within 4 s");
}

TEST_F(HocketRunHostsErrors, AWorkingDirectoryThatAHostLacksIsNamed) {
  const Ran ran = run("cd $F/hidden/there; $RUN -n 2 " + by(ssh()) + " sleep 60");
  EXPECT_EQ(ran.status, 126);
  EXPECT_THAT(ran.error, HasSubstr("hocket-run: on 10.77.0.3: Cannot enter the working directory '" +
                                   folder_.file("hidden/there") + "': No such file or directory. Start from one"));
}

TEST_F(HocketRunHostsErrors, ASlowReaderLosesNothing) {
  const Ran ran = run("{ $RUN " + flags() + "seq 200000; echo $? >&2; } | { sleep 1; wc -l; }");
  EXPECT_EQ(ran.error, "0\n");
  EXPECT_THAT(ran.out, HasSubstr("1200000"));
}

// Its ranks, too, may say something before they end.
TEST_F(HocketRunHostsErrors, ASignalEndsThemWhileNobodyReads) {
  auto running = start("mkfifo $F/out; sleep 90 < $F/out & echo $$ > $F/run; exec $RUN --grace 60 " + flags() +
                       "sh -c 'trap \"head -c 3000000 /dev/zero; exit 0\" TERM; " + arrive() +
                       "while :; do echo $RANK; done' > $F/out");
  wait_for_ranks(6);
  const int fd = ::open(folder_.file("out").c_str(), O_WRONLY | O_NONBLOCK);
  ASSERT_TRUE(eventually([&] { return is_full(fd); }));
  ::close(fd);
  kill(std::atoi(contents(folder_.file("run")).c_str()), SIGTERM);
  EXPECT_EQ(running.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_EQ(running.get().status, 143);
  for (const int host : {1, 2}) EXPECT_TRUE(is_clean(host));
}

// What is told of deaths goes past what waits for the reader.
TEST_F(HocketRunHostsErrors, AFailureEndsTheOthersWhileNobodyReads) {
  auto running = start("mkfifo $F/out; sleep 90 < $F/out & exec $RUN " + flags() + "sh -c '" + arrive() +
                       "test $RANK = 4 || exec yes $RANK; exec sleep 90' > $F/out");
  wait_for_ranks(6);
  const int fd = ::open(folder_.file("out").c_str(), O_WRONLY | O_NONBLOCK);
  ASSERT_TRUE(eventually([&] { return is_full(fd); }));
  kill(wait_for_rank(4), SIGKILL);
  for (const int host : {1, 2}) EXPECT_TRUE(is_clean(host));
  for (const pid_t pid : hosts_.processes_on(0)) {
    if (contents("/proc/" + std::to_string(pid) + "/cmdline").starts_with("sleep")) kill(pid, SIGKILL);
  }
  ::close(fd);
  (void)running.get();
}

}  // namespace
}  // namespace hocket::process_testing
