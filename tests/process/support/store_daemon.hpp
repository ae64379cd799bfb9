// hocket-store as a real process.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "src/base/fd.hpp"
#include "tests/process/program.hpp"

namespace hocket {

class Daemon {
 public:
  explicit Daemon(std::vector<std::string> arguments) {
    const std::string path = program_path("hocket-store");
    arguments.insert(arguments.begin(), path);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    output_ = UniqueFd(ends[0]);
    const UniqueFd theirs(ends[1]);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(theirs.get(), 1);
      ::dup2(theirs.get(), 2);
      ::execv(path.c_str(), pointers.data());
      ::_exit(127);
    }
  }
  ~Daemon() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  void signal(int number) { ::kill(pid_, number); }
  // Returns when the process runs no more.
  void stop() {
    ::kill(pid_, SIGSTOP);
    ::waitpid(pid_, nullptr, WUNTRACED);
  }
  // Exit status, or 128 + signal.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // What it prints (both streams) until the end of a line, or until its end.
  std::string line() { return read_until('\n'); }
  std::string rest() { return read_until('\0'); }
  // After the line that says so.
  std::uint16_t port() {
    const std::string said = line();
    EXPECT_THAT(said, testing::StartsWith("hocket-store listening on "));
    return static_cast<std::uint16_t>(std::stoi("0" + said.substr(said.rfind(':') + 1)));
  }

 private:
  std::string read_until(char end) {
    std::string text;
    for (char letter = 0; ::read(output_.get(), &letter, 1) == 1 && letter != end;) text += letter;
    return text;
  }

  pid_t pid_ = -1;
  UniqueFd output_;
};

}  // namespace hocket
