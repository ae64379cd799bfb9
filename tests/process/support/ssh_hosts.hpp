// Test hosts with an sshd each, and hocket-run on the first of them.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "tests/process/program.hpp"
#include "tests/process/support/test_hosts.hpp"

namespace hocket::process_testing {

// Three hosts: hocket-run starts on host 0, which is "localhost" to it; hosts 1 and 2 have an sshd each, with keys of
// the test's own. They share the machine's files.
class SshHosts : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Of a host, as hocket-run gets it.
  static std::string name(int host) { return host == 0 ? "localhost" : TestHosts::ipv4(host); }
  // "--hosts localhost:2,…" with two ranks on each host, how ssh gets there, and $F and $BENCH for them.
  std::string flags() const;
  // The client's command, as for --ssh.
  std::string ssh(const std::string& key = "client", int port = 2222, const std::string& known = "known") const;

  // Runs `command` on host 0, for the shell, as run_command() does. "$F" is the test's folder.
  Ran run(const std::string& command) const;
  // The same beside the test.
  std::future<Ran> start(const std::string& command) const;

  // A script for ranks: leaves its process number in $F/$RANK, then goes on.
  static std::string arrive() { return "echo $$ > $F/$RANK.part; mv $F/$RANK.part $F/$RANK; "; }
  // The process number of a rank that has arrived.
  pid_t wait_for_rank(int rank) const;
  void wait_for_ranks(int ranks) const;
  // Whether nothing is left on the host but its sshd; it may take a while.
  bool is_clean(int host) const;

  TemporaryFolder folder_;
  TestHosts hosts_{"--hosts 3 --families ipv4"};

 private:
  void make_keys() const;
  void start_sshd(int host);

  std::vector<pid_t> servers_ = {-1, -1, -1};  // by host
};

// Waits for something that happens soon; the deadline is only for when it never does.
bool eventually(const std::function<bool()>& condition, int seconds = 30);

}  // namespace hocket::process_testing
