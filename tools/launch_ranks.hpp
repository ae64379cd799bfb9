// The ranks of a launch as it sees them, wherever they run.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "src/spi/status.hpp"

namespace hocket::launch {

// The end of a rank, or of a host with all ranks that were left there.
struct End {
  int rank = -1;         // -1: of a host
  int wait_status = 0;   // as from waitpid(2)
  std::string host;      // where the rank ran; empty: here
  std::string sentence;  // of a host: what happened, without a full stop
};

class Ranks {
 public:
  virtual ~Ranks() = default;

  // Starts the ranks, or begins to. Errors: NOT_FOUND (no such program), INVALID_ARGUMENT, OUT_OF_RESOURCES.
  virtual Status start() = 0;
  // Appends what progress() waits for.
  virtual void watch(std::vector<pollfd>& watched) const = 0;
  // Until progress() is to be called although nothing has happened; -1: never.
  virtual int wait_ms() const = 0;
  // Does what there is to do, and returns what has ended since.
  virtual std::vector<End> progress() = 0;
  // Sends a signal to all ranks that are left, and to what they have started.
  virtual void signal(int number) = 0;
  // Ranks that have not ended. Those that are still to be started count.
  virtual int running() const = 0;
  // Whether a rank, or something that one has started, is left.
  virtual bool alive() const = 0;
  // How long after a rank's failure its cause may still be told, by ranks of other hosts.
  virtual int settling_ms() const = 0;

  // These are for elastic jobs; ranks on other hosts do not have them.
  // Starts another process in the place of a rank that has ended, of which nothing is left then: a newcomer, or one
  // that founds a communicator of its own. Errors: as start().
  virtual Status start_again(int rank, bool founds) {
    (void)rank, (void)founds;
    return {Code::unsupported, "ranks on other hosts are not started again"};
  }
  // A place where no process runs.
  virtual std::optional<int> free_place() const { return std::nullopt; }
  virtual void kill_one(int rank) { (void)rank; }
  // The rank that runs and is this process, or has started it.
  virtual std::optional<int> rank_of(pid_t process) const {
    (void)process;
    return std::nullopt;
  }
};

}  // namespace hocket::launch
