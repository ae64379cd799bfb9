// hocket-run on several hosts, which are network namespaces with a real sshd each.
#include <gmock/gmock.h>
#include <signal.h>

#include <algorithm>
#include <sstream>

#include "tests/process/support/ssh_hosts.hpp"
#include "tests/support/certificates.hpp"

namespace hocket::process_testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string sorted_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::ranges::sort(lines);
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

class HocketRunHosts : public SshHosts {};

TEST_F(HocketRunHosts, EveryRankKnowsItsPlace) {
  const Ran ran =
      run("cd $F; export HOCKET_JOB=mine NAMED='two words' OTHER=x; $RUN " + flags() +
          "--env NAMED sh -c 'echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR $HOCKET_JOB "
          "\"$NAMED\" $(hostname -I)'");
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_EQ(ran.error, "");
  std::string expected;
  for (int rank = 0; rank < 6; ++rank) {
    expected += "[" + std::to_string(rank) + "] " + std::to_string(rank) + "/6 " + std::to_string(rank % 2) +
                "/2 10.77.0.1 mine two words " + TestHosts::ipv4(rank / 2) + "\n";
  }
  EXPECT_EQ(sorted_lines(ran.out), expected);
}

TEST_F(HocketRunHosts, RemoteRanksGetNoMoreThanTheyShould) {
  const Ran ran = run("cd $F; export OTHER=x HOCKET_HOST_ID=here; $RUN -n 2 --no-label --hosts " + name(1) +
                      " --ssh '" + ssh() + "' sh -c 'pwd; echo $MASTER_ADDR $HOCKET_HOST_ID $OTHER; cat'");
  EXPECT_EQ(ran.status, 0) << ran.error;
  const std::string folder = folder_.path().string() + "\n", own = "10.77.0.2 h1\n";
  EXPECT_EQ(sorted_lines(ran.out), folder + folder + own + own);
}

TEST_F(HocketRunHosts, RanksReduceTogether) {
  const Ran ran = run("$RUN " + flags() + "$BENCH allreduce -e 64K --seconds 0.02");
  EXPECT_EQ(ran.status, 0) << ran.error;
  EXPECT_THAT(ran.out, HasSubstr("6 ranks")) << ran.error;
  for (const int host : {0, 1, 2}) EXPECT_TRUE(is_clean(host));
}

TEST_F(HocketRunHosts, TheStoreIsWhereTheHostsReachIt) {
  const std::string show = "sh -c 'echo $HOCKET_STORE'";
  for (const char* address : {"eth0", "10.77.0.1"}) {
    const Ran ran = run("$RUN --no-label --address " + std::string(address) + " " + flags() + show);
    EXPECT_THAT(ran.out, StartsWith("tcp://10.77.0.1:")) << ran.error;
  }
  EXPECT_THAT(run("$RUN --no-label " + flags() + show).out, StartsWith("tcp://10.77.0.1:"));
  const Ran wrong = run("$RUN --address 10.9.9.9 " + flags() + show);
  EXPECT_EQ(wrong.status, 255);
  EXPECT_THAT(wrong.error, HasSubstr("--address: '10.9.9.9' is neither an address nor an interface of this host"));
  const Ran given = run("export HOCKET_STORE=file://$F/store HOCKET_SECRET=0123456789abcdef; $RUN " + flags() +
                        "$BENCH barrier --seconds 0.02");
  EXPECT_EQ(given.status, 0) << given.error;
}

TEST_F(HocketRunHosts, TlsTravelsWithTheRanks) {
  const hocket::testing_support::Authority authority(folder_.path(), "ca");
  const hocket::testing_support::CertificateFiles files = authority.sign("rank");
  const Ran ran =
      run("export HOCKET_TLS_CERT=" + files.certificate + " HOCKET_TLS_KEY=" + files.key +
          " HOCKET_TLS_CA=" + files.authority + "; $RUN " + flags() + "$BENCH allreduce -e 4K --seconds 0.02");
  EXPECT_EQ(ran.status, 0) << ran.error;
}

TEST_F(HocketRunHosts, ReturnsTheStatusOfTheRankThatFailed) {
  const Ran ran = run("$RUN " + flags() + "sh -c 'test $RANK = 5 && { echo because >&2; exit 7; }; exec sleep 90'");
  EXPECT_EQ(ran.status, 7);
  EXPECT_EQ(ran.error, "[5] because\nhocket-run: rank 5 on 10.77.0.3 exited with status 7; ending the other 5.\n");
  const Ran missing = run("$RUN " + flags() + "./no/such");
  EXPECT_EQ(missing.status, 127);
  EXPECT_THAT(missing.error, HasSubstr(": Cannot start './no/such': there is no such program there"));
  for (const int host : {0, 1, 2}) EXPECT_TRUE(is_clean(host));
}

// The others notice, and fail in turn: the one that was killed is the cause.
TEST_F(HocketRunHosts, NamesARankThatWasKilled) {
  auto running = start("$RUN " + flags() + "sh -c '" + arrive() + "exec $BENCH allreduce -e 64K --seconds 60'");
  wait_for_ranks(6);
  kill(wait_for_rank(3), SIGKILL);
  const Ran ran = running.get();
  EXPECT_EQ(ran.status, 137);
  EXPECT_THAT(ran.error, HasSubstr("hocket-run: rank 3 on 10.77.0.2 was killed by signal 9 (Killed)"));
  for (const int host : {0, 1, 2}) EXPECT_TRUE(is_clean(host));
}

TEST_F(HocketRunHosts, NoCommandLineHoldsTheSecret) {
  auto running = start("$RUN " + flags() + "sh -c 'echo $HOCKET_SECRET > $F/secret$RANK; " + arrive() +
                       "while [ ! -e $F/go ]; do sleep 0.05; done'");
  wait_for_ranks(6);
  const std::string secret = contents(folder_.file("secret0")).substr(0, 64);
  EXPECT_EQ(secret.size(), 64u);
  EXPECT_EQ(contents(folder_.file("secret5")), secret + "\n");
  int connections = 0;
  for (const auto& process : std::filesystem::directory_iterator("/proc")) {
    const std::string line = contents((process.path() / "cmdline").string());
    EXPECT_THAT(line, Not(HasSubstr(secret)));
    connections += line.find("--agent") != std::string::npos && line.find("BatchMode") != std::string::npos;
  }
  EXPECT_GE(connections, 2) << "those of other tests may run, too";
  std::ofstream(folder_.file("go")) << "go\n";
  EXPECT_EQ(running.get().status, 0);
}

TEST_F(HocketRunHosts, PassesSignalsOn) {
  auto running = start("echo $$ > $F/run; exec $RUN " + flags() + "sh -c 'trap \"echo got >&2; exit 0\" INT; " +
                       arrive() + "while :; do sleep 0.05; done'");
  wait_for_ranks(6);
  kill(std::atoi(contents(folder_.file("run")).c_str()), SIGINT);
  const Ran ran = running.get();
  EXPECT_EQ(ran.status, 130);
  EXPECT_THAT(ran.error, HasSubstr("hocket-run: stopped by signal 2 (Interrupt); ending 6 ranks.\n"));
  for (int rank = 0; rank < 6; ++rank) EXPECT_THAT(ran.error, HasSubstr("[" + std::to_string(rank) + "] got\n"));
  for (const int host : {0, 1, 2}) EXPECT_TRUE(is_clean(host));
}

TEST_F(HocketRunHosts, AKilledLauncherTakesEverythingWithIt) {
  auto running = start("echo $$ > $F/run; exec $RUN --grace 0.5 " + flags() +
                       "sh -c 'trap \"\" TERM HUP; sleep 300 & " + arrive() + "while :; do sleep 1; done'");
  wait_for_ranks(6);
  kill(std::atoi(contents(folder_.file("run")).c_str()), SIGKILL);
  EXPECT_EQ(running.get().status, 137);
  for (const int host : {0, 1, 2}) EXPECT_TRUE(is_clean(host));
}

TEST_F(HocketRunHosts, AKilledAgentIsNamed) {
  auto running = start("$RUN " + flags() + "sh -c '" + arrive() + "exec sleep 90'");
  wait_for_ranks(6);
  const std::string stat = contents("/proc/" + std::to_string(wait_for_rank(2)) + "/stat");
  kill(std::atoi(stat.c_str() + stat.rfind(')') + 4), SIGKILL);  // the rank's parent
  const Ran ran = running.get();
  EXPECT_EQ(ran.status, 255);
  EXPECT_THAT(ran.error, HasSubstr("hocket-run: lost 10.77.0.2: "));
  EXPECT_THAT(ran.error, HasSubstr("; ending the other 4."));
  for (const int host : {0, 1, 2}) EXPECT_TRUE(is_clean(host));
}

// Both sides find out by themselves: the link stays cut.
TEST_F(HocketRunHosts, ACutLinkEndsTheRanksOfBothSides) {
  auto running = start("$RUN --host-timeout 5 --grace 0.5 " + flags() + "sh -c '" + arrive() + "exec sleep 90'");
  wait_for_ranks(6);
  const pid_t beyond = wait_for_rank(5);
  hosts_.change("cut", 2);
  const Ran ran = running.get();
  EXPECT_EQ(ran.status, 255);
  EXPECT_THAT(ran.error, HasSubstr("hocket-run: lost 10.77.0.3: "));
  EXPECT_THAT(ran.error, HasSubstr("; ending the other 4."));
  for (const int host : {0, 1}) EXPECT_TRUE(is_clean(host));
  EXPECT_TRUE(eventually([&] { return kill(beyond, 0) != 0; }));
}

}  // namespace
}  // namespace hocket::process_testing
