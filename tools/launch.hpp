// Starts a program as several ranks, here or on other hosts, and looks after them: what hocket-run and hocket-bench
// --ranks share.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tools/launch_hosts.hpp"

namespace hocket::launch {

// What becomes of the ranks' standard output and error.
enum class Output {
  labelled,  // whole lines, each after "[rank] "
  whole,     // whole lines, without a label
  progress,  // the same for standard output; errors go to this process's own, where a line of progress overwrites
             // itself
};

// A job that goes on when ranks die.
struct Elastic {
  int least = 1;     // with fewer ranks it ends
  int most = 1;      // processes at a time; those above Options::ranks are newcomers from the beginning
  int restarts = 0;  // processes that may be started in place of others, over the whole job
};

struct Options {
  std::string caller = "hocket-run";  // begins every message
  int ranks = 1;
  std::vector<std::string> command;  // the program, looked up in PATH, and its arguments
  Output output = Output::labelled;
  std::string binding = "none";           // of `bindings`
  bool shared_heap = false;               // ranks get large allocations from memory that others can map
  bool input_to_rank_0 = false;           // rank 0 reads this process's standard input; everybody else reads /dev/null
  std::chrono::milliseconds grace{5000};  // from SIGTERM to SIGKILL
  bool only_sigterm = false;              // ranks get SIGTERM in place of SIGINT and SIGHUP
  std::optional<Hosts> hosts = {};        // where the ranks run; nothing: here
  std::optional<Elastic> elastic = {};    // nothing: all ranks are ended when one fails; with hosts, always nothing
};

// This process's own command without --ranks and its value: what it starts as each rank.
std::vector<std::string> own_command(int argc, const char* const* argv);

// Runs the ranks until all have ended, and returns the exit status for the caller: 0 if every rank ended well, else the
// status of the first that failed (128 + signal if a signal killed it; 127 or 126 if the program could not be started).
// Which rank failed, and how, is said on standard error.
//
// Each rank gets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR=127.0.0.1 and MASTER_PORT (a free port);
// HOCKET_RANK and HOCKET_WORLD_SIZE, which would overrule them, are removed. All get one random HOCKET_SECRET, unless
// that, HOCKET_SECRET_FILE, HOCKET_INSECURE or HOCKET_STORE is set here. Each is the head of a process group of its
// own, and every process in it ends with the run: when a rank fails, when SIGINT, SIGTERM or SIGHUP arrives
// (forwarded), when all ranks have ended, and when this process is killed.
//
// In an elastic job, ranks get HOCKET_STORE, which this process serves, and newcomers HOCKET_NEWCOMER in place of RANK
// and WORLD_SIZE. The status is 0 if the ranks that are left end well, else that of the rank after whose death too few
// were left.
//
// On several hosts, ranks get HOCKET_STORE, which this process serves, and MASTER_ADDR is rank 0's host; 255 is the
// status where a host cannot be reached or is lost. Stopping this process by Ctrl-Z is turned off then.
//
// The calling process must have one thread. Its signal mask is changed while the ranks run.
int run(const Options& options);

}  // namespace hocket::launch
