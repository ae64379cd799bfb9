// An elastic job as a person starts it, whose processes a test kills from outside.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <ios>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/process/program.hpp"

namespace hocket {

class ElasticRun {
 public:
  // hocket-run with these arguments, in which "$SGD" is hocket-sgd.
  explicit ElasticRun(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program_path("hocket-run"));
    for (std::string& argument : arguments) {
      if (const auto at = argument.find("$SGD"); at != std::string::npos) {
        argument.replace(at, 4, program_path("hocket-sgd"));
      }
    }
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const std::string log = folder_.file("log");
    launcher_ = ::fork();
    if (launcher_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (std::freopen(log.c_str(), "a", stdout) == nullptr || std::freopen(log.c_str(), "a", stderr) == nullptr) {
      ::_exit(99);
    }
    ::execv(pointers[0], pointers.data());
    ::_exit(99);
  }
  ~ElasticRun() {
    if (launcher_ <= 0) return;
    ::kill(launcher_, SIGKILL);
    ::waitpid(launcher_, nullptr, 0);
  }
  ElasticRun(const ElasticRun&) = delete;
  ElasticRun& operator=(const ElasticRun&) = delete;

  std::string said() const { return contents(folder_.file("log")); }
  // How often it has been said.
  int count(const std::string& text) const {
    const std::string all = said();
    int found = 0;
    for (std::size_t at = 0; (at = all.find(text, at)) != std::string::npos; at += text.size()) ++found;
    return found;
  }

  // What a file of /proc says; nothing where the process has just ended.
  static std::string fact(const std::string& file) {
    try {
      return contents(file);
    } catch (const std::ios_base::failure&) {
      return {};
    }
  }
  // The processes that run the program now, by their place (LOCAL_RANK).
  std::map<int, pid_t> processes() const {
    std::map<int, pid_t> found;
    const std::string number = std::to_string(launcher_);
    std::istringstream children(contents("/proc/" + number + "/task/" + number + "/children"));
    for (pid_t child = 0; children >> child;) {
      const std::string entry = "/proc/" + std::to_string(child);
      std::istringstream variables(fact(entry + "/environ"));
      const bool is_rank = fact(entry + "/comm") != contents("/proc/" + number + "/comm");  // not before exec
      for (std::string one; is_rank && std::getline(variables, one, '\0');) {
        if (one.starts_with("LOCAL_RANK=")) found[std::stoi(one.substr(11))] = child;
      }
    }
    return found;
  }
  // The process in that place, once there is one that is not `before`.
  pid_t process(int place, pid_t before = -1) const {
    pid_t found = -1;
    EXPECT_TRUE(eventually([&] {
      const auto all = processes();
      const auto at = all.find(place);
      if (at != all.end() && at->second != before) found = at->second;
      return found > 0;
    })) << "no process in place "
        << place << "\n"
        << said();
    return found;
  }
  void expect_said(const std::string& text, int times = 1) const {
    ASSERT_TRUE(eventually([&] { return count(text) >= times; })) << text << "\n" << said();
  }

  // Its exit status, or 128 + signal.
  int wait() {
    int status = 0;
    const bool ended = eventually([&] { return ::waitpid(launcher_, &status, WNOHANG) == launcher_; });
    EXPECT_TRUE(ended) << said();
    if (!ended) return -1;
    launcher_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  // Waits for something that comes; the deadline is only for when it never does.
  static bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120 * sanitizer_slowness);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
  }

 private:
  const TemporaryFolder folder_;
  pid_t launcher_ = -1;
};

}  // namespace hocket
