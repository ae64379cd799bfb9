#include "tools/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "src/base/fd.hpp"
#include "tools/signals.hpp"

namespace hocket::launch {
namespace {

// A signal that arrived and asks this process to end; 0: none.
int wish_to_end(const Signals& signals) {
  int number = signals.next();
  while (number == SIGCHLD) number = signals.next();
  return number;
}

Result<pid_t> start(std::vector<std::string>& arguments, const sigset_t& mask, int error) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &mask);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t process = 0;
  const int failed = ::posix_spawnp(&process, pointers[0], &actions, &attributes, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    return Status(Code::invalid_argument, fmt::format("Cannot start {}: {}.", arguments[0], std::strerror(failed)));
  }
  return process;
}

// Ends this process's children and waits for them; what they leave behind becomes a child and ends likewise. First
// politely, after two seconds by force, and for ten at most: only a process that hangs inside the system takes longer.
void end_children() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  constexpr int pause_ms = 10, polite = 200, rounds = 1000;
  for (int round = 0; round < rounds; ++round) {
    std::ifstream children("/proc/thread-self/children");
    for (pid_t child = 0; children >> child;) ::kill(child, round < polite ? SIGTERM : SIGKILL);
    pid_t ended = 0;
    while ((ended = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (ended < 0) return;
    ::poll(nullptr, 0, pause_ms);
  }
}

// What there is to read now. False at the end.
bool read_on(int fd, std::string& text) {
  char piece[4096];
  ssize_t got = 0;
  while ((got = ::read(fd, piece, sizeof(piece))) > 0) text.append(piece, static_cast<std::size_t>(got));
  return got < 0;
}

}  // namespace

Result<Ended> run_program(std::vector<std::string> arguments) {
  const Signals signals;
  int ends[2];
  if (!signals || ::pipe2(ends, O_CLOEXEC) != 0) {
    return Status(Code::out_of_resources,
                  fmt::format("Cannot watch {}: {}; raise the limit (ulimit -n).", arguments[0], std::strerror(errno)));
  }
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  const auto process = start(arguments, signals.before(), write_end.get());
  if (!process) return process.status();
  write_end.reset();
  Ended ended;
  int status = 0;
  bool speaks = true;
  for (;;) {
    ended.interrupted = wish_to_end(signals);
    if (ended.interrupted != 0) {
      end_children();
      return ended;
    }
    if (::waitpid(*process, &status, WNOHANG) != 0)
      break;  // after the signals were read: SIGCHLD from now on ends poll
    pollfd watched[] = {{signals.fd(), POLLIN, 0}, {read_end.get(), POLLIN, 0}};
    ::poll(watched, speaks ? 2 : 1, -1);
    speaks = speaks && read_on(read_end.get(), ended.said);
  }
  read_on(read_end.get(), ended.said);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  while (!ended.said.empty() && ended.said.back() == '\n') ended.said.pop_back();
  return ended;
}

}  // namespace hocket::launch
