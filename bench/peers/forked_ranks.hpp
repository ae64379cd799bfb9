// For harnesses that fork their ranks: memory that all share, and how they end.
#pragma once

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

namespace peers {

// Gloo has no ready way to take the maximum of many doubles cheaply, and the ranks are forked: they share this memory.
class SharedValues {
 public:
  explicit SharedValues(int ranks) : ranks_(ranks) {
    const std::size_t bytes = static_cast<std::size_t>(ranks) * most * sizeof(double);
    void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("No shared memory for the ranks' times.");
    values_ = static_cast<double*>(memory);
  }
  std::span<double> of(int rank) const { return {values_ + static_cast<std::size_t>(rank) * most, most}; }
  int ranks() const { return ranks_; }

  static constexpr std::size_t most = 100'000;

 private:
  int ranks_;
  double* values_;
};

// Returns the first failure's status; when a rank fails, it ends the others.
inline int wait_for(const std::vector<pid_t>& ranks) {
  int result = 0;
  for (std::size_t ended = 0; ended < ranks.size(); ++ended) {
    int status = 0;
    wait(&status);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (result == 0) result = code;
    if (code > 1) {
      for (const pid_t rank : ranks) kill(rank, SIGKILL);
    }
  }
  return result;
}

}  // namespace peers
