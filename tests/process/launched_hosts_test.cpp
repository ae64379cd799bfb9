// Launchers of other projects that start ranks on several hosts: where these meet, and what keeps strangers out, comes
// from the launcher. Hosts are network namespaces, and what stands in for ssh enters them.
#include <fstream>

#include "tests/process/support/launched.hpp"
#include "tests/process/support/test_hosts.hpp"

namespace hocket::process_testing {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr char beside_mpi[] = HOCKET_SOURCE_FOLDER "/tests/process/support/beside_mpi.py " HOCKET_LIBRARY " ";

// Two hosts, and the scripts that get ranks onto them.
class LaunchedHosts : public testing::Test {
 protected:
  TestHosts hosts_{"--hosts 2 --families ipv4"};
  const TemporaryFolder folder_;
  // A rank has the identity of its host, which a launcher would carry from the first host to all.
  const std::string rank_ = script("rank", "HOCKET_HOST_ID=$(stat -L -c %i /proc/self/ns/net) exec \"$@\"");

  void SetUp() override {
    if (!hosts_) GTEST_SKIP() << hosts_.problem();
  }

  std::string script(const std::string& name, const std::string& text) const {
    std::ofstream(folder_.file(name)) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(folder_.file(name), std::filesystem::perms::owner_all);
    return folder_.file(name);
  }

  // Called as ssh is, with the address of a host.
  std::string like_ssh() const {
    return script("ssh",
                  "while case $1 in -*) true;; *) false;; esac; do shift; done\nhost=$1; shift\ncase $host in\n" +
                      TestHosts::ipv4(0) + ") " + hosts_.on(0) + "sh -c \"$*\";;\n" + TestHosts::ipv4(1) + ") " +
                      hosts_.on(1) + "sh -c \"$*\";;\nesac");
  }

  // Two ranks on the first host, further ones on the second.
  std::string mpirun(const std::string& mpi, int ranks) const {
    const std::string a = TestHosts::ipv4(0), b = TestHosts::ipv4(1), number = " -n " + std::to_string(ranks) + " ";
    if (mpi == "mpich") {
      return hosts_.on(0) + "mpirun.mpich -launcher ssh -launcher-exec " + like_ssh() + " -localhost " + a +
             " -hosts " + a + "," + b + " -ppn 2" + number + rank_;
    }
    return hosts_.on(0) + "mpirun.openmpi --allow-run-as-root --oversubscribe --mca plm_rsh_agent " + like_ssh() +
           " --mca oob_tcp_if_include eth0 --mca btl self,tcp --mca btl_tcp_if_include eth0 --host " + a + ":2," + b +
           ":2" + number + rank_;
  }
};

class MpirunHosts : public LaunchedHosts, public testing::WithParamInterface<std::string> {
 protected:
  const std::string& mpi_ = GetParam();

  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a plain program cannot load a library that needs a sanitizer's runtime";
#endif
    LaunchedHosts::SetUp();
    if (!is_there("mpirun." + mpi_)) GTEST_SKIP() << "needs mpirun." << mpi_;
    if (!is_there("python3")) GTEST_SKIP() << "needs python3";
  }

  // `when` communicators are made.
  void expect_fine_beside_mpi(const std::string& when) const {
    const std::string library = mpi_ == "mpich" ? "libmpich.so.12 " : "libmpi.so.40 ";
    const Ran ran = run_as_launched(mpirun(mpi_, 3) + " python3 " + beside_mpi + library + when);
    EXPECT_EQ(ran.status, 0) << ran.out << ran.error;
    for (const char* rank : {"0", "1", "2"}) {
      EXPECT_THAT(ran.out, HasSubstr("rank " + std::string(rank) + ": fine")) << ran.error;
    }
  }
};

TEST_P(MpirunHosts, NeedNoVariable) {
  expect_measured(run_as_launched(mpirun(mpi_, 3) + measure), 3);
}

// Whoever can reach the store that rank 0 serves, and has another secret or none, learns no more than that.
TEST_P(MpirunHosts, AreClosedToStrangers) {
  const std::string stranger =
      script("stranger",
             "export RANK=1 WORLD_SIZE=3 HOCKET_TIMEOUT_MS=400\n"
             "while [ $(ss -tlnH | grep -c :210) -lt 3 ]; do sleep 0.05; done\n"  // of the store and the ranks there
             "for port in $(ss -tlnH | grep -o ':210[0-9]*' | sort -u); do\n"
             "  export HOCKET_STORE=tcp://127.0.0.1$port\n"
             "  \"$@\" 2>&1; echo status $?; HOCKET_SECRET=which.is.another.one \"$@\" 2>&1; echo status $?\ndone");
  const Ran ran = run_as_launched("export HOCKET_TCP_PORTS=21000-21099\n" + mpirun(mpi_, 3) + " python3 " + beside_mpi +
                                  "none alone $0.done > $0.ranks 2>&1 & " + hosts_.on(0) + "timeout 60 " + stranger +
                                  measure + "; touch $0.done; wait $!; status=$?; cat $0.ranks; exit $status");
  EXPECT_EQ(ran.status, 0) << ran.out << ran.error;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("it has a secret, but this process has none"),
                             HasSubstr("it does not know this process's secret"), Not(HasSubstr("status 0"))));
}

// The store that rank 0 serves listens where the ranks' own connections do, and on no other interface.
TEST_P(MpirunHosts, ListenWhereTheEnvironmentAllows) {
  const std::string look = script("look",
                                  "while [ $(ss -tlnH | grep -c :210) -lt 6 ]; do sleep 0.05; done\n"  // two at each
                                  "ss -tlnH | grep -o '[^ ]*:210[0-9]*'");
  const Ran ran =
      run_as_launched("export HOCKET_TCP_PORTS=21000-21099 HOCKET_SOCKET_IFNAME=eth0\n" + mpirun(mpi_, 3) +
                      " python3 " + beside_mpi + "none alone $0.done > $0.ranks 2>&1 & " + hosts_.on(0) +
                      "timeout 60 " + look + "; touch $0.done; wait $!; status=$?; cat $0.ranks; exit $status");
  EXPECT_EQ(ran.status, 0) << ran.out << ran.error;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("127.0.0.1:210"), HasSubstr(TestHosts::ipv4(0) + ":210")));
  EXPECT_THAT(ran.out, AllOf(Not(HasSubstr("*:210")), Not(HasSubstr("0.0.0.0:210")), Not(HasSubstr("[::]:210"))));
}

TEST_P(MpirunHosts, WhereOneRankMeetsElsewhereSaySo) {
  const std::string mixed =
      script("mixed", "[ \"$PMI_RANK$OMPI_COMM_WORLD_RANK\" = 2 ] && export MASTER_PORT=29500 MASTER_ADDR=" +
                          TestHosts::ipv4(0) + " HOCKET_SECRET=that.one.rank.has\nHOCKET_TIMEOUT_MS=2000 exec \"$@\"");
  const Ran ran = run_as_launched(mpirun(mpi_, 3) + " " + mixed + measure);
  EXPECT_NE(ran.status, 0);
  EXPECT_THAT(ran.error, AllOf(HasSubstr("not all ranks came to the launcher's"), HasSubstr("MASTER_ADDR")));
}

TEST_P(MpirunHosts, TakeTheSecretThatIsSetFirst) {
  const std::string own =
      script("own", "export HOCKET_SECRET=what.is.known.to.rank.${PMI_RANK:-$OMPI_COMM_WORLD_RANK}.alone\n\"$@\"");
  const Ran ran = run_as_launched("export HOCKET_TIMEOUT_MS=3000\n" + mpirun(mpi_, 3) + " " + own + measure);
  EXPECT_NE(ran.status, 0);
  EXPECT_THAT(ran.error, HasSubstr("the same HOCKET_SECRET"));
}

// MPI_Init may come before or after, and the launcher is told that all went well.
TEST_P(MpirunHosts, MayUseMpiLater) {
  expect_fine_beside_mpi("before");
}

TEST_P(MpirunHosts, MayUseMpiAlready) {
  expect_fine_beside_mpi("after");
}

INSTANTIATE_TEST_SUITE_P(Of, MpirunHosts, testing::Values("openmpi", "mpich"),
                         [](const auto& mpi) { return mpi.param; });

// ---- Slurm

constexpr int cannot = 77;
constexpr char with_slurm[] = HOCKET_SOURCE_FOLDER "/tests/process/support/with_slurm ";

class SlurmHosts : public LaunchedHosts {
 protected:
  // `command` has no single quotes; $RANK_SCRIPT is what comes before a rank.
  Ran run(const std::string& command) const {
    return run_as_launched("export RANK_SCRIPT=" + rank_ + "\n" + with_slurm + "--set " + hosts_.name() + " '" +
                           command + "'");
  }
};

TEST(Slurm, NeedsNoVariableOnOneHost) {
  for (const char* way : {"none", "pmi2", "pmix"}) {
    const Ran ran = run_as_launched(std::string(with_slurm) + "'srun -n 3 --mpi=" + way + measure + "'");
    if (ran.status == cannot) GTEST_SKIP() << ran.error;
    expect_measured(ran, 3);
  }
}

TEST_F(SlurmHosts, NeedNoVariableBelowAKeySpace) {
  for (const char* way : {"pmi2", "pmix"}) {
    const Ran ran = run("srun -N 2 -n 3 --mpi=" + std::string(way) + " $RANK_SCRIPT" + measure);
    if (ran.status == cannot) GTEST_SKIP() << ran.error;
    expect_measured(ran, 3);
  }
}

TEST_F(SlurmHosts, MeetOnTheFirstOfTheListAndNeedASecret) {
  const Ran ran = run("srun -N 2 -n 3 --mpi=none $RANK_SCRIPT" + std::string(measure) + "2>&1; echo without $?; " +
                      "HOCKET_SECRET=that.srun.passes.on srun -N 2 -n 3 --mpi=none $RANK_SCRIPT" + measure);
  if (ran.status == cannot) GTEST_SKIP() << ran.error;
  expect_measured(ran, 3);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("HOCKET_SECRET"), HasSubstr("--mpi=pmi2"), HasSubstr("without 2")));
}

// ---- torchrun

// PyTorch 1.13 fails with Python 3.11 where it may choose itself which outputs it redirects: those of a rank 9.
constexpr char torchrun[] = "torchrun --no_python --monitor_interval 0.2 -r 9:1 -t 9:1 ";

TEST(Torchrun, NeedsNoVariableOnOneHost) {
  if (!is_there("torchrun")) GTEST_SKIP() << "needs torchrun";
  expect_measured(
      run_as_launched(torchrun + std::string("--master_port $((20000 + $$ % 10000)) --nproc_per_node 3") + measure), 3);
}

TEST_F(LaunchedHosts, OfTorchrunNeedASecretAlone) {
  if (!is_there("torchrun")) GTEST_SKIP() << "needs torchrun";
  const auto on = [&](int host) {
    return hosts_.on(host) + torchrun + "--nnodes 2 --nproc_per_node 2 --node_rank " + std::to_string(host) +
           " --master_addr " + TestHosts::ipv4(0) + " --master_port 29500 " + rank_ + measure;
  };
  expect_measured(run_as_launched("export HOCKET_SECRET=that.every.call.of.torchrun.needs\n" + on(1) +
                                  "> $0.second & " + on(0) + "; status=$?; wait $! && exit $status"),
                  4);
}

// ---- Kubernetes

// A pod has a host's network and a name of its own, and finds its fellows by the names of their service.
class Pods : public LaunchedHosts {
 protected:
  // As kubelet writes it for the pod; names of other pods are what its name service would know.
  void write_hosts_file(int pod, bool subdomain) const {
    const std::string number = std::to_string(pod), domain = ".ranks.space.svc.cluster.local";
    std::ofstream file(folder_.file("hosts-" + number));
    file << "127.0.0.1 localhost\n"
         << TestHosts::ipv4(pod) << "\t" << (subdomain ? "job-" + number + domain + " " : "") << "job-" << number
         << "\n";
    if (pod != 0) file << TestHosts::ipv4(0) << " job-0" << domain << "\n";
  }

  Ran run(bool subdomain) const {
    std::string command;
    for (const int pod : {1, 0}) {
      write_hosts_file(pod, subdomain);
      const std::string number = std::to_string(pod);
      command += "JOB_COMPLETION_INDEX=" + number + " " + hosts_.on(pod) +
                 "unshare --mount --uts sh -c 'mount --bind " + folder_.file("hosts-" + number) +
                 " /etc/hosts && hostname job-" + number + " && exec \"$@\"' pod " + rank_ + measure +
                 (pod == 0 ? "; status=$?; wait $! && exit $status" : "& ");
    }
    return run_as_launched("umask 077; mkdir " + folder_.file("data") + "; echo what.the.job.s.secret.is > " +
                           folder_.file("data/secret") + "; ln -s data/secret " + folder_.file("secret") +
                           "\nexport WORLD_SIZE=2 HOCKET_SECRET_FILE=" + folder_.file("secret") + "\n" + command);
  }
};

TEST_F(Pods, OfAnIndexedJobNeedTheirNumberAndASecret) {
  expect_measured(run(true), 2);
}

TEST_F(Pods, WithoutASubdomainAreToldOfIt) {
  const Ran ran = run(false);
  EXPECT_NE(ran.status, 0);
  EXPECT_THAT(ran.error, AllOf(HasSubstr("job-1"), HasSubstr("subdomain"), HasSubstr("MASTER_ADDR")));
}

}  // namespace
}  // namespace hocket::process_testing
