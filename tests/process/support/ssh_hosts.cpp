#include "tests/process/support/ssh_hosts.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

namespace hocket::process_testing {
namespace {

constexpr const char* sshd = "/usr/sbin/sshd";
constexpr int port = 2222;

// Runs in the process that becomes sshd. Its folder in /run, and what is to be hidden from its host, are its own.
[[noreturn]] void become_sshd(const TestHosts& hosts, int host, const std::string& config, const std::string& log,
                              const std::string& hidden) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  hosts.enter(host);
  const bool well = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                    mount("tmpfs", "/run", "tmpfs", 0, nullptr) == 0 && mkdir("/run/sshd", 0755) == 0 &&
                    mount("tmpfs", hidden.c_str(), "tmpfs", 0, nullptr) == 0;
  const int to = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(to, STDERR_FILENO);
  if (well) execl(sshd, sshd, "-D", "-e", "-f", config.c_str(), nullptr);
  _exit(99);
}

bool listens(const TestHosts& hosts, int host) {
  const auto listening = fmt::format("{:04X} 00000000:0000 0A", port);
  for (const pid_t pid : hosts.processes_on(host)) {
    if (contents(fmt::format("/proc/{}/net/tcp", pid)).find(listening) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

bool eventually(const std::function<bool()>& condition, int seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

void SshHosts::SetUp() {
  if (!hosts_) GTEST_SKIP() << hosts_.problem();
  if (geteuid() != 0) GTEST_SKIP() << "sshd needs root";
  if (access(sshd, X_OK) != 0) GTEST_SKIP() << "there is no sshd (tools/setup installs openssh-server)";
  make_keys();
  std::filesystem::create_directories(folder_.file("hidden/there"));
  for (const int host : {1, 2}) start_sshd(host);
}

void SshHosts::TearDown() {
  if (HasFailure()) std::printf("%s%s", contents(folder_.file("log1")).c_str(), contents(folder_.file("log2")).c_str());
  for (int host = 0; hosts_ && host < 3; ++host) {
    for (const pid_t pid : hosts_.processes_on(host)) kill(pid, SIGKILL);
  }
  for (const pid_t server : servers_) {
    if (server > 0) waitpid(server, nullptr, 0);
  }
}

void SshHosts::make_keys() const {
  const std::string& at = folder_.path().string();
  const Ran made = run_command("cd " + at +
                               " && for key in client stranger host; do "
                               "ssh-keygen -q -t ed25519 -N '' -C test -f $key || exit 1; done");
  ASSERT_EQ(made.status, 0) << made.error;
  for (const char* file : {"known", "wrong"}) {
    std::ofstream known(folder_.file(file));
    for (const int host : {1, 2}) {
      known << fmt::format("[{}]:{} {}", name(host), port,
                           contents(folder_.file(file == std::string("known") ? "host.pub" : "client.pub")));
    }
  }
}

void SshHosts::start_sshd(int host) {
  const std::string config = folder_.file(fmt::format("config{}", host));
  std::ofstream(config) << fmt::format(
      "Port {}\nListenAddress 0.0.0.0\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n"
      "PermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nSetEnv HOCKET_HOST_ID=h{}\n",
      port, folder_.file("host"), folder_.file("client.pub"), host);
  const pid_t pid = fork();
  if (pid == 0) become_sshd(hosts_, host, config, folder_.file(fmt::format("log{}", host)), folder_.file("hidden"));
  servers_[static_cast<std::size_t>(host)] = pid;
  ASSERT_TRUE(eventually([&] { return listens(hosts_, host) || waitpid(pid, nullptr, WNOHANG) == pid; }));
  ASSERT_EQ(kill(pid, 0), 0) << "sshd did not start: " << contents(folder_.file(fmt::format("log{}", host)));
}

std::string SshHosts::ssh(const std::string& key, int to, const std::string& known) const {
  return fmt::format("ssh -F none -p {} -i {} -o UserKnownHostsFile={} -o StrictHostKeyChecking=yes", to,
                     folder_.file(key), folder_.file(known));
}

std::string SshHosts::flags() const {
  return fmt::format("--hosts {}:2,{}:2,{}:2 --ssh '{}' --env F --env BENCH ", name(0), name(1), name(2), ssh());
}

Ran SshHosts::run(const std::string& command) const {
  const std::string script = folder_.file(fmt::format("script-{}", std::hash<std::string>()(command)));
  std::ofstream(script) << "unset HOCKET_SECRET; export F='" << folder_.path().string() << "' RUN='"
                        << program_path("hocket-run") << "' BENCH='" << program_path("hocket-bench") << "'\n"
                        << command << "\n";
  return run_command(hosts_.on(0) + "sh " + script);
}

std::future<Ran> SshHosts::start(const std::string& command) const {
  return std::async(std::launch::async, [this, command] { return run(command); });
}

pid_t SshHosts::wait_for_rank(int rank) const {
  const std::string file = folder_.file(std::to_string(rank));
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(file); })) << "rank " << rank << " did not start";
  return std::atoi(contents(file).c_str());
}

void SshHosts::wait_for_ranks(int ranks) const {
  for (int rank = 0; rank < ranks; ++rank) (void)wait_for_rank(rank);
}

bool SshHosts::is_clean(int host) const {
  const auto others = [&] {
    std::vector<pid_t> processes = hosts_.processes_on(host);
    std::erase(processes, servers_[static_cast<std::size_t>(host)]);
    return processes;
  };
  if (eventually([&] { return others().empty(); }, 15)) return true;
  for (const pid_t pid : others())
    std::printf("left on host %d: %s\n", host, contents(fmt::format("/proc/{}/cmdline", pid)).c_str());
  return false;
}

}  // namespace hocket::process_testing
