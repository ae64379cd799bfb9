// Ranks that are real processes: forked from the test, watched by it, and never left behind.
//
// The body runs in each child with RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT set. It
// uses gtest's EXPECT macros as any test; a child in which one failed exits with 1. Each child has a channel of lines
// to and from the parent. The parent must have no threads when it forks.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <iosfwd>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/fd.hpp"

namespace hocket::process_testing {

// One end of a channel of lines.
class Channel {
 public:
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  // Nothing happens where the other end is gone.
  void say(std::string_view line);
  // The next line; "" where the other end is gone or `until` has passed.
  std::string hear(std::chrono::steady_clock::time_point until);
  // Whether the other end has said something that was not heard yet.
  bool has_news();

 private:
  UniqueFd socket_;
  std::string unread_;
};

// What the body knows about itself. `index` counts the processes; it is the rank unless the body changes RANK.
struct Child {
  int index = 0;
  int size = 0;
  Channel& parent;

  void say(std::string_view line) { parent.say(line); }
  std::string hear() { return parent.hear(std::chrono::steady_clock::time_point::max()); }
};

// How many ranks, and what hosts they take this machine for (HOCKET_HOST_ID).
struct Ranks {
  Ranks(int number) : size(number) {}  // all on one host, this one
  // A character for each rank, equal for those that share a host: "0011". Each host is one only within this Ranks.
  Ranks(const char* names) : size(static_cast<int>(std::string_view(names).size())), hosts(names) {}

  int size;
  std::string hosts;  // empty: one host
};
void PrintTo(const Ranks& ranks, std::ostream* out);  // "4", "0011": also names of tests

// How a process ended.
struct Outcome {
  int status = -1;  // exit status; -1 where a signal ended it
  int signal = 0;   // 0: none
};

// A TCP port of 127.0.0.1 that nobody listens on, below the range from which the system takes ports by itself. While it
// is reserved, no other test gets it, or one of those behind it, of which ranks take one where it is taken.
struct FreePort {
  int number = 0;
  UniqueFd reserved = {};
};
FreePort free_port();

class ProcessGroup {
 public:
  using Body = std::function<void(Child&)>;

  // Forks at once. What still runs after `limit`, with sanitizers a multiple of it, is killed and fails the test.
  ProcessGroup(const Ranks& ranks, const Body& body, std::chrono::seconds limit = std::chrono::seconds(90));
  // Kills what still runs.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  int size() const { return static_cast<int>(members_.size()); }
  pid_t process(int index) const { return members_[static_cast<std::size_t>(index)].process; }
  void signal(int index, int number) const;
  void tell(int index, std::string_view line);
  // The child's next line; a failure of the test and "" where none comes.
  std::string hear(int index);
  // Whether the child has said something that was not heard yet.
  bool has_news(int index) const { return members_[static_cast<std::size_t>(index)].channel->has_news(); }
  // hear() on every child, each of which must say `line`.
  void hear_from_all(std::string_view line);
  // Waits for all. A process that had to be killed is a failure of the test.
  std::vector<Outcome> wait();
  // wait(), and each must have ended with status 0, but `killed` by SIGKILL.
  void expect_success(int killed = -1);

 private:
  struct Member {
    pid_t process = -1;
    bool running = true;
    Outcome outcome;
    std::unique_ptr<Channel> channel;
  };
  bool reap(Member& member, bool block);

  FreePort port_;  // where the ranks meet
  std::vector<Member> members_;
  std::chrono::steady_clock::time_point limit_;
};

// Forks the ranks, waits for them and expects all to succeed.
void run_ranks(const Ranks& ranks, const ProcessGroup::Body& body);

// All descriptors open in this process, and all its threads.
int open_descriptors();
int running_threads();

// What tells apart the memory files that this process has mapped: those of ranks that share memory have some in common.
std::set<std::string> shared_memory_files();

// Waits until all threads of a process sleep, in two looks between which none has run. False where that does not come.
bool falls_asleep(pid_t process);

// TCP ports on which a process listens.
std::vector<int> listening_ports(pid_t process);

}  // namespace hocket::process_testing
