// A barrier that says who is missing, and breaks nothing.
#include <algorithm>
#include <stdexcept>
#include <thread>

#include "bindings/torch/src/collectives.hpp"
#include "bindings/torch/src/failure.hpp"

namespace hocket_torch {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds longest_pause{10};
constexpr std::chrono::hours longest_wait{365 * 24};  // beyond it, times could overflow

bool is_set(c10d::Store& store, const std::string& key) {
  return store.check({key});
}

// False: nobody set it in time.
bool await(c10d::Store& store, const std::string& key, Clock::time_point deadline) {
  std::chrono::microseconds pause{100};
  while (!is_set(store, key)) {
    if (Clock::now() >= deadline) return false;
    check_signals();
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(2 * pause, longest_pause);
  }
  return true;
}

std::string text_of(const std::vector<std::uint8_t>& value) {
  return {value.begin(), value.end()};
}

}  // namespace

// Through the store, which needs none of the ranks: each says that it is here, rank 0 waits for all and says how it
// ended.
void monitored_barrier(Group& group, const c10d::BarrierOptions& options, bool wait_all_ranks) {
  const auto timeout = options.timeout >= std::chrono::milliseconds(0) ? options.timeout : group.timeout();
  const auto deadline = Clock::now() + std::min<std::chrono::milliseconds>(timeout, longest_wait);
  const std::string prefix = "monitored_barrier/" + std::to_string(group.next_monitored_barrier()) + "/";
  const std::string limit = std::to_string(timeout.count()) + " ms";
  if (group.rank() != 0) {
    // In the words that torch's users know.
    const std::string reached = "Rank " + std::to_string(group.rank()) +
                                " successfully reached monitoredBarrier, but received errors while waiting for " +
                                "send/recv from rank 0: ";
    group.store().set(prefix + std::to_string(group.rank()), std::vector<std::uint8_t>{1});
    if (!await(group.store(), prefix + "end", deadline)) {
      throw std::runtime_error(reached + "no answer within " + limit +
                               ". Rank 0 is late or dead, or waits for another rank: please check rank 0 logs for " +
                               "faulty rank.");
    }
    const std::string end = text_of(group.store().get(prefix + "end"));
    if (end != "passed") throw std::runtime_error(reached + end);
    return;
  }
  if (timeout == std::chrono::milliseconds(0)) throw std::runtime_error("Rank 0 timed out in monitoredBarrier: 0 ms");
  std::vector<int> missing;
  for (int rank = 1; rank < group.size() && (missing.empty() || wait_all_ranks); ++rank) {
    if (!await(group.store(), prefix + std::to_string(rank), deadline)) missing.push_back(rank);
  }
  std::string end = "passed";
  if (!missing.empty()) {
    end = missing.size() == 1 ? "Rank " : "Ranks ";
    for (const int rank : missing) end += (rank == missing.front() ? "" : ", ") + std::to_string(rank);
    end += " failed to pass monitoredBarrier in " + limit;
  }
  group.store().set(prefix + "end", std::vector<std::uint8_t>(end.begin(), end.end()));
  if (!missing.empty()) throw std::runtime_error(end);
}

}  // namespace hocket_torch
