// Ranks of one host that die or stop at known points of their work: in the midst of a buffer, while they connect, while
// they make their memory. Everyone else learns of it by name, and nothing of the dead one stays.
#include <sys/syscall.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/forbid.hpp"
#include "tests/process/support/process_group.hpp"
#include "tests/process/support/vector_call.hpp"

namespace hocket::process_testing {
namespace {

constexpr std::size_t large = 3'000'000;  // floats: many rounds

// Where in an allreduce the victim touches the trap, and with it dies or stops.
struct FaultsShmPoint {
  const char* name;
  const char* single_copy;  // HOCKET_SINGLE_COPY
  std::size_t count;
  Memory memory;
  bool output;     // in its output, not its input
  double part;     // of the buffer that is before the trap
  int more_ranks;  // than there are cores; 0: a few
};

void PrintTo(const FaultsShmPoint& point, std::ostream* out) {
  *out << point.name;
}

std::vector<FaultsShmPoint> points() {
  using enum Memory;
  return {
      {"small_before_it_announces", "off", 5000, plain, false, 0, 0},
      {"small_after_it_announced", "off", 5000, plain, true, 0, 0},
      {"staged_first_round_in", "off", large, plain, false, 0, 0},
      {"staged_middle_round_in", "off", large, plain, false, 0.5, 0},
      {"staged_last_round_in", "off", large, plain, false, 0.999, 0},
      {"staged_first_round_out", "off", large, plain, true, 0, 0},
      {"staged_middle_round_out", "off", large, plain, true, 0.5, 0},
      {"single_copy_first_round", "on", large, plain, true, 0, 0},
      {"single_copy_middle_round", "on", large, plain, true, 0.5, 0},
      {"mapped_first_part", "off", large, registered, false, 0, 0},
      {"mapped_middle_part", "off", large, registered, false, 0.5, 0},
      {"mapped_output", "off", large, registered, true, 0.5, 0},
      {"staged_with_more_ranks_than_cores", "off", large, plain, true, 0.5, 1},
      {"mapped_with_more_ranks_than_cores", "off", large, registered, false, 0, 1},
      {"mapped_middle_with_more_ranks_than_cores", "off", large, registered, true, 0.5, 1},
  };
}

int ranks_at(const FaultsShmPoint& point, int few) {
  const auto cores = static_cast<int>(std::thread::hardware_concurrency());
  return point.more_ranks > 0 ? std::max(cores, 2) + point.more_ranks : few;
}

void set_trap(const FaultsShmPoint& point, const VectorCall& call, int signal) {
  std::byte* const begin = point.output ? call.recv() : call.send();
  const auto before = static_cast<std::size_t>(point.part * static_cast<double>(call.bytes()));
  Trap::set(begin + before / page_bytes * page_bytes, begin + call.bytes(), signal);
}

std::size_t mapped_segments() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:hocket") != std::string::npos ? 1 : 0;
  return count;
}

// Files that this process has open and that have a name which could outlive it.
std::vector<std::string> named_files() {
  std::vector<std::string> found;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string file = std::filesystem::read_symlink(entry.path(), gone).string();
    for (const char* place : {"/tmp/", "/dev/shm/", "/var/tmp/", "/run/"}) {
      if (file.starts_with(place) && !file.ends_with("(deleted)")) found.push_back(file);
    }
  }
  return found;
}

// ---- killed

class KilledIn : public testing::TestWithParam<std::tuple<FaultsShmPoint, int>> {};

TEST_P(KilledIn, TheMidstOfItsWorkIsNamedByAllOthers) {
  const auto& [point, few] = GetParam();
  const int size = ranks_at(point, few);
  const int victim = size / 2;
  ProcessGroup group(size, [&, &where = point](Child& child) {
    ::setenv("HOCKET_SINGLE_COPY", where.single_copy, 1);
    const auto files = named_files();
    const int descriptors = open_descriptors();
    const std::size_t segments = mapped_segments();
    {
      const Comm comm;
      ASSERT_TRUE(comm);
      EXPECT_EQ(named_files(), files) << "nothing has a name that could stay behind";
      const VectorCall call(where.count, where.memory);
      ASSERT_EQ(call.issue(comm.get()), HOCKET_OK) << hocket_last_error();
      call.expect_sum(child.size);
      if (child.index == victim) set_trap(where, call, SIGKILL);
      hocket_result result;
      do {
        result = call.issue(comm.get());
        if (child.index == victim) ::kill(::getpid(), SIGKILL);  // others were faster: it had nothing left to touch
      } while (result == HOCKET_OK);
      expect_result(result, HOCKET_PEER_LOST);
      EXPECT_EQ(last_cause().peer, victim) << hocket_last_error();
      expect_message_names("rank " + std::to_string(victim));
      expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_PEER_LOST, "a later call");
    }
    EXPECT_EQ(open_descriptors(), descriptors);
    EXPECT_EQ(mapped_segments(), segments);
  });
  group.expect_success(victim);
}

std::string name_of_point(const testing::TestParamInfo<KilledIn::ParamType>& of) {
  return std::string(std::get<0>(of.param).name) + "_of_" + std::to_string(std::get<1>(of.param));
}

std::vector<std::tuple<FaultsShmPoint, int>> points_and_sizes() {
  std::vector<std::tuple<FaultsShmPoint, int>> all;
  for (const FaultsShmPoint& point : points()) {
    for (const int few : {2, 4}) {
      if (point.more_ranks == 0 || few == 4) all.emplace_back(point, few);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Ranks, KilledIn, testing::ValuesIn(points_and_sizes()), name_of_point);

// ---- killed while the group comes together

// From here on this process dies of a system call, where its argument number `argument` is at least `least`.
void die_of(long system_call, unsigned argument, std::uint32_t least) {
  struct sigaction action {};
  action.sa_handler = [](int) { ::kill(::getpid(), SIGKILL); };
  ::sigaction(SIGSYS, &action, nullptr);
  change_system_call(system_call, SECCOMP_RET_TRAP, argument, least);
}

struct Stage {
  const char* name;
  long system_call;
  unsigned argument;
  std::uint32_t least;
};

void PrintTo(const Stage& stage, std::ostream* out) {
  *out << stage.name;
}

class KilledAtCreation : public testing::TestWithParam<Stage> {};

TEST_P(KilledAtCreation, EndsThatOfAllOthers) {
  for (const int size : {2, 4}) {
    for (const int victim : {0, size - 1}) {
      SCOPED_TRACE("victim " + std::to_string(victim) + " of " + std::to_string(size));
      ProcessGroup group(size, [&](Child& child) {
        if (child.index == victim) die_of(GetParam().system_call, GetParam().argument, GetParam().least);
        hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
        // Rank 0 takes the store with it: whoever still needs that waits for another one until the deadline.
        options.timeout_ms = victim == 0 ? 2'000 : 60'000;
        hocket_comm* comm = nullptr;
        const auto begin = std::chrono::steady_clock::now();
        const hocket_result result = hocket_comm_create(&comm, &options);
        EXPECT_EQ(comm, nullptr);
        if (victim != 0 || result != HOCKET_STORE_UNREACHABLE) {
          expect_result(result, HOCKET_PEER_LOST);
          // Known: a rank that connects late may find another one gone, which the victim's end has ended already.
          if (GetParam().name != std::string("connected")) {
            EXPECT_EQ(last_cause().peer, victim) << hocket_last_error();
          }
          EXPECT_NE(last_cause().peer, child.index) << hocket_last_error();
        }
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50)) << "only the deadline ended it";
      });
      group.expect_success(victim);
      if (HasFailure()) return;
    }
  }
}

// Only a window asks for MADV_POPULATE_WRITE, which is 23.
INSTANTIATE_TEST_SUITE_P(Stages, KilledAtCreation,
                         testing::Values(Stage{"connected", SYS_pidfd_open, 0, 0}, Stage{"window", SYS_madvise, 2, 23}),
                         [](const auto& of) { return std::string(of.param.name); });

// ---- stopped

class StoppedIn : public testing::TestWithParam<std::tuple<FaultsShmPoint, int>> {};

// The others' deadline passes while one is stopped at this point; it comes back later, and finds out too.
TEST_P(StoppedIn, TheMidstOfItsWorkIsNamedByAllOthers) {
  const auto& [point, few] = GetParam();
  const int size = ranks_at(point, few);
  const int victim = size / 2;
  ProcessGroup group(size, [&, &where = point](Child& child) {
    ::setenv("HOCKET_SINGLE_COPY", where.single_copy, 1);
    const Comm comm;
    ASSERT_TRUE(comm);
    const VectorCall call(where.count, where.memory);
    ASSERT_EQ(call.issue(comm.get()), HOCKET_OK) << hocket_last_error();
    child.say("warm");
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.timeout_ms = child.index == victim ? 60'000 : 1500;
    if (child.index == victim) set_trap(where, call, SIGSTOP);
    hocket_result result = call.issue(comm.get(), nullptr, &options);
    if (child.index == victim && !Trap::sprung()) ::kill(::getpid(), SIGSTOP);  // others had left it nothing to touch
    // Whoever has all it needs may finish this call; the next one ends with the cause.
    if (result == HOCKET_OK) result = hocket_barrier(comm.get(), &options, nullptr);
    expect_result(result, HOCKET_TIMEOUT);
    const hocket_cause cause = last_cause();
    EXPECT_EQ(cause.peer, victim) << cause.message;
    EXPECT_STRNE(cause.operation, "");
    EXPECT_GE(cause.elapsed_seconds, 1.4) << cause.message;
    expect_result(hocket_barrier(comm.get(), nullptr, nullptr), HOCKET_TIMEOUT, "a later call");
    child.say("told");
    (void)child.hear();  // stays until all have looked
  });
  group.hear_from_all("warm");
  for (int index = 0; index < size; ++index) {
    if (index == victim) continue;
    EXPECT_EQ(group.hear(index), "told");
  }
  group.signal(victim, SIGCONT);
  EXPECT_EQ(group.hear(victim), "told");
  for (int index = 0; index < size; ++index) group.tell(index, "leave");
  group.expect_success();
}

std::vector<std::tuple<FaultsShmPoint, int>> points_of_stops() {
  using enum Memory;
  std::vector<std::tuple<FaultsShmPoint, int>> all;
  for (const int few : {2, 4}) {
    all.emplace_back(FaultsShmPoint{"before_it_announces", "off", 5000, plain, false, 0, 0}, few);
    all.emplace_back(FaultsShmPoint{"staged", "off", large, plain, false, 0.5, 0}, few);
    all.emplace_back(FaultsShmPoint{"single_copy", "on", large, plain, true, 0.5, 0}, few);
    all.emplace_back(FaultsShmPoint{"mapped", "off", large, registered, false, 0.5, 0}, few);
  }
  all.emplace_back(FaultsShmPoint{"mapped_with_more_ranks_than_cores", "off", large, registered, false, 0, 1}, 4);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Ranks, StoppedIn, testing::ValuesIn(points_of_stops()), name_of_point);

}  // namespace
}  // namespace hocket::process_testing
