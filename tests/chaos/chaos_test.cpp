// Random ranks are killed, stopped, resumed and cut off, and stores restarted, while the ranks call whatever a seed
// says. A few runs by default; tools/soak makes many.
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "tests/chaos/figures.hpp"
#include "tests/chaos/plan.hpp"
#include "tests/chaos/rank.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/store_daemon.hpp"

namespace hocket::chaos {
namespace {

using process_testing::ProcessGroup;
using process_testing::Ranks;

std::int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

Ranks ranks_of(const Plan& plan) {
  return plan.hosts.empty() ? Ranks(plan.size) : Ranks(plan.hosts.c_str());
}

std::set<std::string> files_in_shared_memory() {
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) found.insert(entry.path());
  return found;
}

// One run: injects the plan's faults, and compares what the ranks say with what was done to them.
class Run {
 public:
  Run(const Plan& plan, Figures& figures)
      : plan_(plan), figures_(figures), group_(ranks_of(plan), [&](auto& child) { be_rank(plan, child); }) {
    for (int rank = 0; rank < plan.size; ++rank) left_.insert(rank);
  }

  void go() {
    expect_all_to_work();
    for (const Injection& fault : plan_.faults) {
      if (testing::Test::HasFailure()) break;
      SCOPED_TRACE(std::string("after: ") + name_of(fault.fault));
      std::this_thread::sleep_for(fault.moment);
      inject(fault);
    }
    if (!testing::Test::HasFailure()) end();
  }

 private:
  // What the survivors of one fault are compared with.
  struct Expected {
    const Injection& fault;
    std::set<int> blamed;  // empty: any member
    hocket_result code;
    std::int64_t from;             // when it happened
    std::int64_t recovery_from;    // when the last of its events happened
    std::set<int> not_measured{};  // ranks that stood still meanwhile
  };

  void inject(const Injection& fault) {
    figures_.count(name_of(fault.fault), plan_.links());
    const int first = fault.victims.front(), last = fault.victims.back();
    const std::int64_t from = now();
    switch (fault.fault) {
      case Fault::pause: pause(first, fault); return;
      case Fault::cut: cut(fault); return;
      case Fault::stop: stop(fault); return;
      case Fault::kill_beside_pause:
        group_.signal(last, SIGSTOP);
        group_.signal(first, SIGKILL);
        std::this_thread::sleep_for(fault.distance);
        group_.signal(last, SIGCONT);
        left_.erase(first);
        expect_recovery({fault, {first}, HOCKET_PEER_LOST, from, now(), {last}});
        return;
      default: break;
    }
    for (const int victim : fault.victims) {
      if (fault.fault == Fault::kill_during_shrink && victim == last) std::this_thread::sleep_for(fault.distance);
      group_.signal(victim, SIGKILL);
      left_.erase(victim);
      dead_.insert(victim);
    }
    expect_recovery({fault, {fault.victims.begin(), fault.victims.end()}, HOCKET_PEER_LOST, from, now()});
  }

  void pause(int victim, const Injection& fault) const {
    group_.signal(victim, SIGSTOP);
    std::this_thread::sleep_for(fault.distance);
    group_.signal(victim, SIGCONT);
  }

  void cut(const Injection& fault) {
    const int victim = fault.victims.front();
    const std::int64_t from = now();
    group_.tell(victim, "cut " + std::to_string(fault.distance.count()));
    const std::string said = group_.hear(victim);
    EXPECT_TRUE(said.starts_with("cut ")) << said;
    if (said == "cut 1") expect_recovery({fault, {}, HOCKET_PEER_LOST, from, from});
  }

  void stop(const Injection& fault) {
    const int victim = fault.victims.front();
    const std::int64_t from = now();
    group_.signal(victim, SIGSTOP);
    left_.erase(victim);
    expect_recovery({fault, {victim}, HOCKET_TIMEOUT, from, from});
    group_.signal(victim, SIGCONT);
    std::string said = group_.hear(victim);
    if (said.starts_with("broke ")) said = group_.hear(victim);
    EXPECT_EQ(said, "excluded") << "rank " << victim << ", which had been stopped";
    EXPECT_EQ(group_.hear(victim), "ended");
    excluded_.insert(victim);
  }

  void expect_all_to_work() {
    for (const int rank : left_) {
      const std::string said = group_.hear(rank);
      EXPECT_TRUE(said.starts_with("works ")) << "rank " << rank << ": " << said;
    }
  }

  // Every rank that is left reports one break or several, and then works with all the others.
  void expect_recovery(const Expected& expected) {
    for (const int rank : left_) {
      SCOPED_TRACE("rank " + std::to_string(rank));
      const bool measured = !expected.not_measured.contains(rank);
      for (bool first = true;; first = false) {
        std::istringstream said(group_.hear(rank));
        std::string what, result;
        std::int64_t at = 0;
        said >> what >> at;
        if (what == "works") {
          int members = 0;
          said >> members;
          if (members != members_left()) continue;  // one that broke again
          EXPECT_FALSE(first) << "nothing had broken";
          if (measured) record(expected, "recovery", at - expected.recovery_from);
          break;
        }
        ASSERT_EQ(what, "broke") << said.str();
        int peer = -1;
        said >> result >> peer;
        if (!first) continue;
        if (measured) record(expected, "detection", at - expected.from);
        expect_cause(expected, result, peer);
      }
    }
  }

  void expect_cause(const Expected& expected, const std::string& result, int peer) const {
    EXPECT_EQ(result, hocket_result_name(expected.code)) << "blames rank " << peer;
    EXPECT_TRUE(expected.blamed.empty() ? left_.contains(peer) : expected.blamed.contains(peer))
        << result << " blames rank " << peer;
  }

  void record(const Expected& expected, const char* what, std::int64_t nanoseconds) const {
    figures_.add(name_of(expected.fault.fault), plan_.links(), what, static_cast<double>(nanoseconds) / 1e6);
  }

  int members_left() const {
    int members = 0;
    for (const int rank : left_) members |= 1 << rank;
    return members;
  }

  void end() {
    for (const int rank : left_) group_.tell(rank, "end");
    for (const int rank : left_) EXPECT_EQ(group_.hear(rank), "ended") << "rank " << rank;
    for (const std::set<int>& ranks : {left_, excluded_}) {
      for (const int rank : ranks) group_.tell(rank, "leave");
    }
    const auto outcomes = group_.wait();
    for (int rank = 0; rank < plan_.size; ++rank) {
      const bool lives = left_.contains(rank) || excluded_.contains(rank);
      EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)].status, lives ? 0 : -1) << "rank " << rank;
    }
  }

  const Plan& plan_;
  Figures& figures_;
  std::set<int> left_, dead_, excluded_;  // ranks
  ProcessGroup group_;
};

void run_creation(const Plan& plan, Figures& figures) {
  const Injection& fault = plan.faults.front();
  const int victim = fault.victims.front();
  ProcessGroup group(ranks_of(plan), [&](auto& child) { be_rank_of_creation(plan, child); });
  std::this_thread::sleep_for(fault.moment);
  const std::int64_t from = now();
  group.signal(victim, SIGKILL);
  figures.count(name_of(fault.fault), plan.links());
  for (int rank = 0; rank < plan.size; ++rank) {
    if (rank == victim) continue;
    const std::string line = group.hear(rank);
    std::istringstream said(line);
    std::string what, result, phase;
    std::int64_t at = 0;
    int peer = -1;
    said >> what >> at >> result >> peer >> phase;
    // Before ranks know each other, only a store that is gone or a rank that does not come can be seen.
    const bool unknown = phase == "in" && (result == "HOCKET_TIMEOUT" || result == "HOCKET_STORE_UNREACHABLE");
    EXPECT_TRUE(unknown || (result == "HOCKET_PEER_LOST" && peer == victim)) << "rank " << rank << ": " << line;
    const char* name = unknown ? "killed before it came" : name_of(fault.fault);
    figures.add(name, plan.links(), "detection", static_cast<double>(at - from) / 1e6);
  }
  group.expect_success(victim);
}

void run_store(const Plan& plan, Figures& figures) {
  ::setenv("HOCKET_SECRET", "what the ranks of this job know", 1);
  auto daemon = std::make_unique<Daemon>(std::vector<std::string>{"--port", "0"});
  const std::string port = std::to_string(daemon->port());
  ProcessGroup group(ranks_of(plan), [&](auto& child) {
    ::setenv("HOCKET_STORE", ("tcp://127.0.0.1:" + port).c_str(), 1);
    ::setenv("HOCKET_TRANSPORT", plan.transport.c_str(), 1);
    const process_testing::Comm comm;
    if (!comm) return;
    process_testing::Call({.count = 100}, child.index, child.size).run(comm.get());
  });
  std::this_thread::sleep_for(plan.faults.front().moment);
  daemon->signal(SIGKILL);
  daemon->wait();
  daemon = std::make_unique<Daemon>(std::vector<std::string>{"--port", port});
  EXPECT_EQ(std::to_string(daemon->port()), port);
  figures.count(name_of(plan.faults.front().fault), plan.links());
  group.expect_success();
  ::unsetenv("HOCKET_SECRET");
}

void run_plan(const Plan& plan, Figures& figures) {
  const int descriptors = process_testing::open_descriptors();
  switch (plan.faults.front().fault) {
    case Fault::kill_in_creation: run_creation(plan, figures); break;
    case Fault::restart_store: run_store(plan, figures); break;
    default: Run(plan, figures).go();
  }
  EXPECT_EQ(process_testing::open_descriptors(), descriptors) << "descriptors of the parent";
}

// 0: not set.
std::uint64_t number_in(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

TEST(Chaos, LeavesEverySurvivorWithRightResults) {
  std::uint64_t seed = number_in("CHAOS_SEED");
  if (seed == 0) GTEST_SKIP() << "runs where CHAOS_SEED is set, until the run of seed 3, which hangs, is understood";
  const std::uint64_t faults = number_in("CHAOS_FAULTS");
  const auto before = files_in_shared_memory();
  Figures figures;
  do {
    const Plan plan = plan_of(seed++);
    SCOPED_TRACE(plan.description() + "\nAgain: CHAOS_FAULTS=1 CHAOS_SEED=" + std::to_string(plan.seed));
    std::printf("%s\n", plan.description().c_str());
    std::fflush(stdout);
    run_plan(plan, figures);
  } while (!HasFailure() && static_cast<std::uint64_t>(figures.faults()) < (faults == 0 ? 30 : faults));
  figures.print();
  EXPECT_EQ(files_in_shared_memory(), before);
}

}  // namespace
}  // namespace hocket::chaos
