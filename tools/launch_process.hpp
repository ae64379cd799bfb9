// The processes behind a launch: one rank, and the guard that outlives the launcher.
#pragma once

#include <sched.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/fd.hpp"
#include "src/spi/status.hpp"

namespace hocket::launch {

// Which of a job's ranks run on this host, and where rank 0 is.
struct Place {
  int first = 0;  // the lowest rank here
  int local = 1;  // ranks here
  int ranks = 1;  // ranks of the job
  std::string master_address = "127.0.0.1";
  std::uint16_t master_port = 0;
};

// What a process of a job is when it starts.
enum class Role {
  rank,      // of the job's first communicator
  newcomer,  // it has no rank, and joins others
  founder,   // rank 0 of a communicator of its own, which takes newcomers in
};

struct RankEnvironment {
  const Place& place;
  int local_rank = 0;
  Role role = Role::rank;
  const cpu_set_t* cores = nullptr;  // what it is bound to; null: nothing
  std::string secret = {};           // HOCKET_SECRET; empty: as it is
  std::string preload = {};          // put before what LD_PRELOAD names; empty: nothing
};

// Descriptors for a rank's standard streams; -1: /dev/null for input, inherited for the others.
struct Streams {
  int input = -1;
  int output = -1;
  int error = -1;
};

// A random one for all ranks, unless something about secrets is set already: then empty.
std::string secret_for_ranks();

// What a program is started with besides its streams.
struct Surroundings {
  std::vector<std::string> variables;  // NAME=value; the whole environment
  const cpu_set_t* cores = nullptr;    // what it is bound to; null: nothing
};
// This process's own environment.
std::vector<std::string> own_variables();

// Starts `command`, which is looked up in this process's PATH, at the head of a new process group. Dies with the
// calling process, whose thread must live as long; that may have other threads. Errors: NOT_FOUND (no such program),
// INVALID_ARGUMENT (not executable), OUT_OF_RESOURCES.
Result<pid_t> start_process(const std::vector<std::string>& command, const Streams& streams,
                            const Surroundings& surroundings);
// The same as a rank.
Result<pid_t> start_rank(const std::vector<std::string>& command, const RankEnvironment& environment,
                         const Streams& streams);

// A TCP port on 127.0.0.1 that nobody holds now, if possible outside the range from which the system hands out ports.
Result<std::uint16_t> free_port();

// A process that kills the process groups that it was told of when this process ends without having taken them back:
// PR_SET_PDEATHSIG reaches the ranks, but not what they have started.
class Guard {
 public:
  // Without a guard (out of resources) the launch works, with that much less protection.
  Guard();
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  void add(pid_t group) { tell(group); }
  void remove(pid_t group) { tell(-group); }

 private:
  void tell(pid_t message);

  pid_t pid_ = -1;
  UniqueFd pipe_;
};

}  // namespace hocket::launch
