// Hosts of their own for the ranks of a test, with links that can be cut, slowed and made lossy: a set of
// tools/test-hosts, which says how they are made.
//
//   TestHosts hosts("--hosts 3 --rate 100mbit");
//   if (!hosts) GTEST_SKIP() << hosts.problem();
//   ProcessGroup group(3, [&](Child& child) { hosts.enter(child.index); … });
//   hosts.change("cut", 2);
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "src/base/fd.hpp"

namespace hocket::process_testing {

class TestHosts {
 public:
  // `options` are those of `tools/test-hosts make`. What fails for another reason than a missing right fails the test.
  explicit TestHosts(const std::string& options);
  ~TestHosts();
  TestHosts(const TestHosts&) = delete;
  TestHosts& operator=(const TestHosts&) = delete;

  explicit operator bool() const { return !namespaces_.empty(); }
  // Why there are no hosts.
  const std::string& problem() const { return problem_; }

  // Moves this process, which must have one thread, to a host. MASTER_ADDR becomes the address of host 0,
  // HOCKET_HOST_ID the host's name, and there is a HOCKET_SECRET, as hosts need one.
  void enter(int host) const;
  // Of a host: "10.77.0.2", "fd77::2", "fe80::77:0:2".
  static std::string ipv4(int host, int network = 0);
  static std::string ipv6(int host, int network = 0);
  static std::string link_local(int host, int network = 0);

  const std::string& name() const { return name_; }
  // What a shell puts before a command that is to run on a host.
  std::string on(int host) const;
  // Numbers of the processes that run on a host.
  std::vector<pid_t> processes_on(int host) const;

  // `tools/test-hosts VERB NAME HOST REST`: cut, lose, rate, heal, exec.
  void change(const std::string& verb, int host, const std::string& rest = "") const;

 private:
  const std::string name_;
  std::string problem_;
  std::string master_;
  UniqueFd user_namespace_;  // empty where this process may enter the others without
  std::vector<UniqueFd> namespaces_;
};

}  // namespace hocket::process_testing
