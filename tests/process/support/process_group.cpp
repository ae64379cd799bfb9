#include "tests/process/support/process_group.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <stdexcept>
#include <thread>

#include "tests/support/slowness.hpp"

namespace hocket::process_testing {
namespace {

using Clock = std::chrono::steady_clock;

void set(const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), 1);
}

void set_environment(int rank, const Ranks& ranks, int port) {
  const int size = ranks.size;
  for (const char* name : {"HOCKET_RANK", "HOCKET_WORLD_SIZE", "HOCKET_STORE", "HOCKET_JOB"}) ::unsetenv(name);
  set("RANK", std::to_string(rank));
  set("WORLD_SIZE", std::to_string(size));
  set("LOCAL_RANK", std::to_string(rank));
  set("MASTER_ADDR", "127.0.0.1");
  set("MASTER_PORT", std::to_string(port));
  if (!ranks.hosts.empty()) set("HOCKET_HOST_ID", std::string("host ") + ranks.hosts[static_cast<std::size_t>(rank)]);
}

// A child that ends would free what GoogleTest knows of thousands of tests, and so copy most pages that it shares with
// its parent. It leaves before, behind all else that exit() does. Sanitizers look for leaks later.
int status_of_child = -1;  // in any other process
[[maybe_unused]] const bool children_leave_early = [] {
  if (sanitizer_slowness > 1) return false;
  (void)testing::UnitTest::GetInstance();  // what was made before is freed later
  return std::atexit([] {
           if (status_of_child < 0) return;
           std::fflush(nullptr);
           ::_exit(status_of_child);
         }) == 0;
}();

[[noreturn]] void be_child(Child child, const ProcessGroup::Body& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  {
    const testing::ScopedTrace trace(__FILE__, __LINE__, "process " + std::to_string(child.index));
    try {
      body(child);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "the body threw: " << error.what();
    }
  }
  std::fflush(nullptr);
  status_of_child = testing::Test::HasFailure() ? 1 : 0;
  std::exit(status_of_child);
}

int poll_span(Clock::time_point until) {
  if (until == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
}

}  // namespace

// ---- Channel

void Channel::say(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  std::size_t sent = 0;
  while (sent < text.size()) {
    const auto n = ::send(socket_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    sent += static_cast<std::size_t>(n);
  }
}

std::string Channel::hear(Clock::time_point until) {
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    pollfd interest{socket_.get(), POLLIN, 0};
    const int ready = ::poll(&interest, 1, poll_span(until));
    if (ready == 0) return "";
    char bytes[4096];
    const auto n = ready < 0 ? -1 : ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return "";
    unread_.append(bytes, static_cast<std::size_t>(n));
  }
}

bool Channel::has_news() {
  pollfd interest{socket_.get(), POLLIN, 0};
  return !unread_.empty() || ::poll(&interest, 1, 0) == 1;
}

// ---- ProcessGroup

ProcessGroup::ProcessGroup(const Ranks& ranks, const Body& body, std::chrono::seconds limit)
    : port_(free_port()), limit_(Clock::now() + limit * sanitizer_slowness) {
  std::fflush(nullptr);  // or children print what is still in the buffer once more
  for (int index = 0; index < ranks.size; ++index) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair failed");
    UniqueFd mine(ends[0]);
    UniqueFd theirs(ends[1]);
    const pid_t process = ::fork();
    if (process < 0) throw std::runtime_error("fork failed");
    if (process == 0) {
      members_.clear();  // the parent's ends of the older children's channels
      mine.reset();
      port_.reserved.reset();
      set_environment(index, ranks, port_.number);
      Channel channel(std::move(theirs));
      be_child({index, ranks.size, channel}, body);
    }
    members_.push_back({process, true, {}, std::make_unique<Channel>(std::move(mine))});
  }
}

ProcessGroup::~ProcessGroup() {
  for (Member& member : members_) {
    if (!member.running) continue;
    ::kill(member.process, SIGKILL);
    reap(member, true);
  }
}

bool ProcessGroup::reap(Member& member, bool block) {
  int status = 0;
  pid_t found;
  do {
    found = ::waitpid(member.process, &status, block ? 0 : WNOHANG);
  } while (found < 0 && errno == EINTR);
  if (found != member.process) return false;
  member.running = false;
  member.outcome = {WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0};
  return true;
}

void ProcessGroup::signal(int index, int number) const {
  ::kill(process(index), number);
  if (number == SIGSTOP) {  // takes effect later: wait until every thread has stopped
    siginfo_t info{};
    ::waitid(P_PID, static_cast<id_t>(process(index)), &info, WSTOPPED);
  }
}

void ProcessGroup::tell(int index, std::string_view line) {
  members_[static_cast<std::size_t>(index)].channel->say(line);
}

std::string ProcessGroup::hear(int index) {
  const std::string line = members_[static_cast<std::size_t>(index)].channel->hear(limit_);
  EXPECT_NE(line, "") << "process " << index << " ended or hung before it said what was expected of it";
  return line;
}

void ProcessGroup::hear_from_all(std::string_view line) {
  for (int index = 0; index < size(); ++index) EXPECT_EQ(hear(index), line) << "process " << index;
}

std::vector<Outcome> ProcessGroup::wait() {
  std::vector<Outcome> outcomes;
  for (Member& member : members_) {
    while (member.running && !reap(member, false) && Clock::now() < limit_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (member.running) {
      ADD_FAILURE() << "process " << outcomes.size() << " hung and was killed";
      ::kill(member.process, SIGKILL);
      reap(member, true);
    }
    outcomes.push_back(member.outcome);
  }
  return outcomes;
}

void ProcessGroup::expect_success(int killed) {
  const auto outcomes = wait();
  for (int index = 0; index < size(); ++index) {
    const Outcome& outcome = outcomes[static_cast<std::size_t>(index)];
    EXPECT_EQ(outcome.signal, index == killed ? SIGKILL : 0) << "process " << index;
    EXPECT_EQ(outcome.status, index == killed ? -1 : 0) << "process " << index;
  }
}

void PrintTo(const Ranks& ranks, std::ostream* out) {
  *out << (ranks.hosts.empty() ? std::to_string(ranks.size) : ranks.hosts);
}

void run_ranks(const Ranks& ranks, const ProcessGroup::Body& body) {
  ProcessGroup(ranks, body).expect_success();
}

}  // namespace hocket::process_testing
