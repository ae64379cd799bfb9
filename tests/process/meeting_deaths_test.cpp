// Ranks that are killed while they meet, at each of their requests to the store: the next meeting under the same name
// comes up, and so does this one where a successor comes in time.
#include <signal.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <string>
#include <thread>

#include "src/base/process_identity.hpp"
#include "src/base/random.hpp"
#include "src/comm/rendezvous.hpp"
#include "src/store/open_store.hpp"
#include "tests/conformance/watched_store.hpp"
#include "tests/process/program.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/store_daemon.hpp"
#include "tests/support/redis_server.hpp"

namespace hocket::process_testing {
namespace {

using comm::Options;
using comm::Rendezvous;

Deadline generous() {
  return Deadline::after(std::chrono::seconds(30));
}

// Stands for the ring over which ranks speak when they have met: none leaves before all have read what they need.
// `others` tells, by rank, which process published.
Status close_ring(Store& store, const Rendezvous& rendezvous, const Options& options,
                  const std::map<Rank, ProcessIdentity>& others) {
  const auto key = [&](Rank rank) { return fmt::format("ring/{}/{}", rendezvous.group(), rank); };
  Status status = store.set(key(options.rank), "", generous());
  for (const auto& [rank, process] : others) {
    for (bool lives = true; status.ok(); lives = process.is_alive() != false) {
      const auto found = store.peek(key(rank), generous());
      if (found.ok() && *found) break;
      status = found.status();
      if (status.ok() && !lives) status = Status(Code::peer_lost, fmt::format("rank {} is not in the ring", rank));
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return status;
}

// What a rank does until it has met the others; `watched` is `store`.
Status meet(Store& watched, Store& store, const Options& options, std::uint64_t token = random_number()) {
  auto rendezvous = Rendezvous::join(watched, options, generous(), {}, token);
  if (!rendezvous.ok()) return rendezvous.status();
  const std::string address = fmt::format("{} {}", options.rank, ProcessIdentity::own().serialise());
  const std::vector<Rank> wanted{(options.rank + 1) % options.size, (options.rank + options.size - 1) % options.size};
  const auto infos =
      (*rendezvous)->exchange({.build = comm::BuildIdentity::own(), .endpoints = {{"tcp", address}}}, wanted);
  Status status = infos.status();
  std::map<Rank, ProcessIdentity> others;
  for (std::size_t i = 0; i < wanted.size() && status.ok(); ++i) {
    const std::string told = (*infos)[i].endpoints.front().address, rank = fmt::format("{} ", wanted[i]);
    EXPECT_TRUE(told.starts_with(rank)) << told;
    others.emplace(wanted[i], ProcessIdentity::parse(told.substr(rank.size())).value());
  }
  if (status.ok()) status = close_ring(store, **rendezvous, options, others);
  if (!status.ok() && (*rendezvous)->superseded()) return meet(watched, store, options, token);
  if (!status.ok()) status = (*rendezvous)->fail(status);
  // Those who knew a rank that has died come again, as those of a job that is started again.
  if (status.code() == Code::peer_lost) return meet(watched, store, options);
  if (!status.ok()) return status;
  (*rendezvous)->finish();
  return {};
}

// Meets; kills itself before the request of that number, counted from 0, unless it has met before.
void meet_as(Child& child, const std::string& url, Rank rank, Rank size, std::optional<int> dies_before) {
  const auto opened = open_store(url, generous());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  int request = 0;
  WatchedStore store(**opened, [&] {
    if (request++ == dies_before) ::raise(SIGKILL);
  });
  const Status met = meet(store, **opened, {.rank = rank, .size = size});
  child.say(met.ok() ? "met" : met.message());
}

void expect_meeting(const std::string& url, Rank size) {
  ProcessGroup group(size, [&](Child& child) { meet_as(child, url, child.index, size, std::nullopt); });
  group.hear_from_all("met");
  group.expect_success();
}

// Three ranks, of which one dies before its request of that number.
ProcessGroup meeting_with_a_death(const std::string& url, Rank victim, int dies_before) {
  return ProcessGroup(3, [&](Child& child) {
    meet_as(child, url, child.index, 3, child.index == victim ? std::optional(dies_before) : std::nullopt);
  });
}

// Waits for the process to end. True: by itself.
bool ended_well(pid_t process) {
  siginfo_t ended{};
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOWAIT), 0);
  return ended.si_code == CLD_EXITED;
}

class MeetingDeaths : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string problem = GetParam() == std::string("redis") ? RedisServer::problem() : "";
    if (!problem.empty()) GTEST_SKIP() << problem;
  }
  // A store that lasts longer than all jobs.
  std::string url() {
    if (GetParam() == std::string("file")) return "file://" + folder_.file("store");
    if (GetParam() == std::string("redis")) return redis_.emplace().url();
    daemon_.emplace(std::vector<std::string>{"--port", "0"});
    return "tcp://127.0.0.1:" + std::to_string(daemon_->port());
  }

 private:
  const TemporaryFolder folder_;
  std::optional<Daemon> daemon_;
  std::optional<RedisServer> redis_;
};

TEST_P(MeetingDeaths, HarmNoLaterMeeting) {
  const std::string store = url();
  for (Rank victim = 0; victim < 3; ++victim) {
    bool lived = false;
    for (int request = 0; !lived && !HasFailure(); ++request) {
      SCOPED_TRACE(fmt::format("rank {} died before its request {}", victim, request));
      ProcessGroup group = meeting_with_a_death(store, victim, request);
      lived = ended_well(group.process(victim));
      for (int index = 0; index < 3 && !lived; ++index) group.signal(index, SIGKILL);
      (void)group.wait();
      expect_meeting(store, request % 2 == 0 ? 2 : 3);
    }
  }
}

// The others either meet the successor or, where they knew the dead one already, say who is missing.
TEST_P(MeetingDeaths, LetASuccessorTakeThePlace) {
  const std::string store = url();
  for (Rank victim = 0; victim < 3; ++victim) {
    bool lived = false;
    for (int request = 0; !lived && !HasFailure(); ++request) {
      SCOPED_TRACE(fmt::format("rank {} died before its request {}", victim, request));
      ProcessGroup group = meeting_with_a_death(store, victim, request);
      lived = ended_well(group.process(victim));
      ProcessGroup successor(1, [&](Child& child) {
        if (!lived) meet_as(child, store, victim, 3, std::nullopt);
      });
      for (Rank rank = 0; rank < 3; ++rank) {
        if (rank == victim) continue;
        EXPECT_THAT(group.hear(rank), testing::AnyOf("met", testing::HasSubstr(fmt::format("rank {}", victim))));
      }
      successor.signal(0, SIGKILL);  // if it waits: for the next start of the others
      (void)successor.wait();
      (void)group.wait();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(In, MeetingDeaths, testing::Values("file", "tcp", "redis"),
                         [](const auto& store) { return std::string(store.param); });

}  // namespace
}  // namespace hocket::process_testing
