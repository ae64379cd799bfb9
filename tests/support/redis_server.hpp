// redis-server, from Debian, on a port of 127.0.0.1.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/store/open_store.hpp"
#include "tests/process/program.hpp"

namespace hocket {

class RedisServer {
 public:
  // Why there can be none; empty: nothing.
  static std::string problem() {
    const Deadline past(Deadline::Clock::now());
    if (open_store("redis://127.0.0.1:1", past).status().code() == Code::unsupported) {
      return "this build was made without hiredis (libhiredis-dev)";
    }
    return ::access(program, X_OK) == 0 ? "" : "there is no redis-server (of the package of that name)";
  }

  // Serves on some port, with these options besides.
  explicit RedisServer(std::vector<std::string> options = {}) : options_(std::move(options)) {
    std::random_device random;
    for (int attempt = 0; attempt < 20 && !serves(); ++attempt) {
      end();
      port_ = 20000 + static_cast<int>(random() % 12000);
      start();
    }
    if (!serves()) throw std::runtime_error("redis-server does not start");
  }
  ~RedisServer() { end(); }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
  // Starts a server on that port, as at first. It has nothing of what the one before held.
  void start() {
    const std::string port = std::to_string(port_), folder = folder_.path().string();
    std::vector<std::string> words{program, "--port",    port,  "--bind", "127.0.0.1", "--save",
                                   "",      "--logfile", "log", "--dir",  folder};
    words.insert(words.end(), options_.begin(), options_.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
      ::execv(program, pointers.data());
      ::_exit(127);
    }
  }
  void signal(int number) const { ::kill(process_, number); }
  void end() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
    process_ = -1;
  }

 private:
  static constexpr const char* program = "/usr/bin/redis-server";

  // Waits until it does, or has ended.
  bool serves() {
    while (process_ > 0 && ::waitpid(process_, nullptr, WNOHANG) == 0) {
      if (contents(folder_.file("log")).find("Ready to accept connections") != std::string::npos) return true;
      ::usleep(2000);
    }
    process_ = -1;
    return false;
  }

  const TemporaryFolder folder_;
  const std::vector<std::string> options_;
  int port_ = 0;
  pid_t process_ = -1;
};

}  // namespace hocket
