// Ranks killed at any moment. How long the others take to learn of it is measured and reported, not asserted. A few
// runs by default; tools/soak runs many.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/vector_call.hpp"

namespace hocket::process_testing {
namespace {

using Clock = std::chrono::steady_clock;  // the same in all processes

// What the ranks do when one of them is killed.
enum class Work { idle, barriers, one_shot, staged, single_copy, mapped, asynchronous, with_messages, creation };
constexpr Work all_work[] = {Work::idle,   Work::barriers,     Work::one_shot,      Work::staged,  Work::single_copy,
                             Work::mapped, Work::asynchronous, Work::with_messages, Work::creation};

const char* name_of(Work work) {
  constexpr const char* names[] = {"idle",   "barriers",     "one-shot",      "staged",  "single copy",
                                   "mapped", "asynchronous", "with messages", "creation"};
  return names[static_cast<std::size_t>(work)];
}

// Goes on until something fails; what it was.
hocket_result work_until_failure(Work work, Child& child, hocket_comm* comm) {
  const std::size_t count =
      work == Work::staged || work == Work::single_copy || work == Work::mapped ? 2'000'000 : 3000;
  const VectorCall call(count, work == Work::mapped ? Memory::registered : Memory::plain);
  hocket_work* message = nullptr;  // that never comes
  float value = 0;
  if (work == Work::with_messages) {
    const hocket_result posted =
        hocket_recv(&value, 1, HOCKET_FLOAT32, (child.index + 1) % child.size, comm, nullptr, &message);
    if (posted != HOCKET_OK) return posted;
  }
  hocket_result result = HOCKET_OK;
  for (int round = 0; result == HOCKET_OK; ++round) {
    if (round == 2) child.say("working");
    hocket_work* pending = nullptr;
    if (work == Work::idle && round >= 2) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      result = hocket_comm_status(comm);
    } else if (work == Work::barriers) {
      result = hocket_barrier(comm, nullptr, nullptr);
    } else if (work == Work::asynchronous) {
      result = call.issue(comm, &pending);
      if (result == HOCKET_OK) result = hocket_work_wait(pending, 0);
      hocket_work_release(pending);
    } else {
      result = call.issue(comm);
    }
  }
  hocket_work_release(message);
  return result;
}

void be_rank(Work work, Child& child, int victim) {
  ::setenv("HOCKET_SINGLE_COPY", work == Work::single_copy ? "on" : "off", 1);
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.timeout_ms = 20'000;
  hocket_comm* comm = nullptr;
  hocket_result result = hocket_comm_create(&comm, &options);
  const bool created = result == HOCKET_OK;
  if (created) result = work_until_failure(work, child, comm);
  const auto at = Clock::now().time_since_epoch().count();
  if (created || work != Work::creation) {
    expect_result(result, HOCKET_PEER_LOST);
    EXPECT_EQ(last_cause().peer, victim) << hocket_last_error();
  } else {  // before they know each other, a store that is gone or a rank that does not come is all that can be seen
    EXPECT_TRUE(result == HOCKET_PEER_LOST || result == HOCKET_TIMEOUT || result == HOCKET_STORE_UNREACHABLE)
        << hocket_last_error();
  }
  child.say("lost " + std::to_string(at));
  hocket_comm_destroy(comm);
}

using Times = std::map<std::string, std::vector<double>>;

void run_once(Work work, int size, int victim, std::chrono::microseconds moment, Times& times) {
  SCOPED_TRACE(std::string(name_of(work)) + ", rank " + std::to_string(victim) + " of " + std::to_string(size) +
               ", after " + std::to_string(moment.count()) + " us");
  ProcessGroup group(size, [&](Child& child) { be_rank(work, child, victim); });
  if (work != Work::creation) group.hear_from_all("working");
  std::this_thread::sleep_for(moment);
  const auto killed = Clock::now().time_since_epoch().count();
  group.signal(victim, SIGKILL);
  for (int index = 0; index < size; ++index) {
    if (index == victim) continue;
    std::string line = group.hear(index);
    if (line == "working") line = group.hear(index);
    if (!line.starts_with("lost ")) continue;
    const auto nanoseconds = static_cast<double>(std::stoll(line.substr(5)) - killed);
    times[name_of(work)].push_back(std::max(nanoseconds, 0.0) / 1e6);
  }
  group.expect_success(victim);
}

void report(Times& times) {
  std::printf("milliseconds from the kill to the failed call, each survivor counted\n");
  std::printf("%-14s %8s %8s %8s %8s %8s %10s\n", "", "number", "median", "90 %", "99 %", "longest", "over 100");
  for (auto& [name, values] : times) {
    std::sort(values.begin(), values.end());
    const auto at = [&, &sorted = values](double part) {
      return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
    };
    const auto late = values.end() - std::upper_bound(values.begin(), values.end(), 100.0);
    std::printf("%-14s %8zu %8.2f %8.2f %8.2f %8.2f %10td\n", name.c_str(), values.size(), at(0.5), at(0.9), at(0.99),
                values.back(), late);
  }
}

TEST(KillSoak, AnyRankAtAnyMoment) {
  const char* wanted = std::getenv("SOAK_RUNS");
  const int runs = wanted == nullptr ? 18 : std::atoi(wanted);
  std::mt19937 random(std::random_device{}());
  const auto any = [&](int from, int to) { return std::uniform_int_distribution<>(from, to)(random); };
  Times times;
  for (int run = 0; run < runs && !HasFailure(); ++run) {
    const int size = any(2, 6);
    run_once(all_work[static_cast<std::size_t>(run) % std::size(all_work)], size, any(0, size - 1),
             std::chrono::microseconds(any(0, 20'000)), times);
  }
  report(times);
}

}  // namespace
}  // namespace hocket::process_testing
