// Memory runs out at one rank while ranks make communicators: by creation, split, shrinking and joining. Whoever has no
// communicator then is told why, whoever has one learns that it is broken, and nobody waits for longer than its
// deadline.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/pressure/pressed_rank.hpp"
#include "tests/process/support/failure.hpp"

namespace hocket::pressure_testing {
namespace {

using process_testing::expect_result;
using process_testing::last_cause;

constexpr int ranks = 3;
constexpr std::int64_t timeout_ms = 800;

// Eight minutes, and some still find what is to be mended now and then (docs/internals/testing.md): not with every
// change.
class Makings : public testing::TestWithParam<Pressure> {
 protected:
  void SetUp() override {
    if (std::getenv("PRESSURE_MAKINGS") == nullptr) GTEST_SKIP() << "set PRESSURE_MAKINGS=1; tools/nightly does";
  }

  template <class Body>
  static void run(Body body) {
    run_pressed(ranks, GetParam(), [&](PressedRank& rank) {
      rank.renew();  // what a process keeps for good is there
      rank.destroy();
      const Resources before;
      body(rank);
      rank.destroy();
      before.expect_no_more();
    });
  }
};

// What ranks end with, and after how long; for people, if they ask.
class Histogram {
 public:
  explicit Histogram(const PressedRank& rank, std::string name) : rank_(rank), name_(std::move(name)) {}
  ~Histogram() {
    if (std::getenv("PRESSURE_FIGURES") == nullptr) return;
    for (const auto& [what, times] : counted_) {
      std::printf("rank %d, %s: %s, %zu times, %.0f ms at most\n", rank_.rank(), name_.c_str(), what.c_str(),
                  times.size(), *std::ranges::max_element(times));
    }
    std::fflush(stdout);
  }
  Histogram(const Histogram&) = delete;
  Histogram& operator=(const Histogram&) = delete;

  void add(hocket_result result, double milliseconds) {
    const hocket_cause cause = last_cause();
    std::string what = hocket_result_name(result);
    if (result != HOCKET_OK) {
      what += " seen by " + std::to_string(cause.rank) + " of " + std::to_string(cause.peer);
    }
    counted_[what].push_back(milliseconds);
  }

 private:
  const PressedRank& rank_;
  const std::string name_;
  std::map<std::string, std::vector<double>> counted_;
};

// All learn why; or by their deadline that somebody is missing, where the victim had not come yet, and said nothing.
void expect_told(const PressedRank& rank, hocket_result result, double milliseconds) {
  const hocket_cause cause = last_cause();
  if (result == HOCKET_PEER_LOST && !rank.is_victim()) {
    EXPECT_EQ(cause.peer, rank.victim()) << cause.message;
  } else if (result == HOCKET_TIMEOUT) {
    // Perhaps by another rank's deadline, which began to wait before this one.
    EXPECT_GE(milliseconds, 0.9 * static_cast<double>(timeout_ms)) << cause.message;
  } else {
    expect_result(result, HOCKET_OUT_OF_RESOURCES);
  }
}

// Has a communicator made under pressure for each allocation. `prepare` comes before, with memory, and `afterwards`
// once all know what the others have; given whether they have communicators.
enum class Survivors : std::uint8_t { need_all, go_on };

template <class Prepare, class Make, class Afterwards>
void press_making(PressedRank& rank, const std::string& name, Prepare prepare, Make make, Afterwards afterwards,
                  Survivors what = Survivors::need_all) {
  Histogram histogram(rank, name);
  rank.try_allocations(name, [&] {
    prepare();
    hocket_comm* made = nullptr;
    const auto began = std::chrono::steady_clock::now();
    hocket_result result = rank.under_pressure([&] { return make(&made); });
    if (result == HOCKET_OK) result = hocket_barrier(made, nullptr, nullptr);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
    histogram.add(result, took.count());
    if (result != HOCKET_OK) expect_told(rank, result, took.count());
    if (what == Survivors::need_all) {
      rank.expect_all_tell(result == HOCKET_OK);
    } else {
      rank.expect_others_tell(result == HOCKET_OK);
    }
    hocket_comm_destroy(made);
    afterwards(result == HOCKET_OK);
  });
}

TEST_P(Makings, Creations) {
  run([](PressedRank& rank) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    press_making(
        rank, "a creation",
        [&] {
          options = rank.next_options();
          options.timeout_ms = timeout_ms;
        },
        [&](hocket_comm** made) { return hocket_comm_create(made, &options); }, [](bool) {});
  });
}

// Where the victim has not begun, the others wait for it, and the parent breaks at their deadline.
TEST_P(Makings, Splits) {
  run([](PressedRank& rank) {
    for (const int shared : {0, 1}) {
      hocket_split_options options = HOCKET_SPLIT_OPTIONS_INIT;
      options.share_links = shared;
      options.timeout_ms = timeout_ms;
      press_making(
          rank, shared == 1 ? "a split that shares links" : "a split",
          [&] {
            if (rank.comm() == nullptr) rank.renew();
          },
          [&](hocket_comm** made) { return hocket_comm_split(rank.comm(), 0, 0, made, &options); },
          [&](bool) {
            const bool works = hocket_barrier(rank.comm(), nullptr, nullptr) == HOCKET_OK;
            rank.expect_all_tell(works);
            if (!works) rank.destroy();
          });
    }
  });
}

TEST_P(Makings, Shrinks) {
  run([](PressedRank& rank) {
    hocket_shrink_options options = HOCKET_SHRINK_OPTIONS_INIT;
    options.timeout_ms = 4000;
    options.patience_ms = 1000;
    press_making(
        rank, "a shrink",
        [&] {
          rank.renew();
          expect_result(hocket_barrier(rank.comm(), nullptr, nullptr), HOCKET_OK);
          if (rank.rank() == 0) hocket_comm_abort(rank.comm(), "the test says so");
          EXPECT_NE(hocket_barrier(rank.comm(), nullptr, nullptr), HOCKET_OK);
        },
        [&](hocket_comm** made) { return hocket_comm_shrink(rank.comm(), made, &options); },
        [&](bool) { rank.destroy(); }, Survivors::go_on);
  });
}

TEST_P(Makings, Joins) {
  run([](PressedRank& rank) {
    const bool is_member = rank.rank() < ranks - 1;
    hocket_join_options join = HOCKET_JOIN_OPTIONS_INIT;
    join.newcomers_min = join.newcomers_max = 1;
    join.timeout_ms = timeout_ms;
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    hocket_comm* members = nullptr;
    press_making(
        rank, "a join",
        [&] {
          options = rank.next_options();
          options.world_size = ranks - 1;
          if (is_member && members == nullptr) expect_result(hocket_comm_create(&members, &options), HOCKET_OK);
          options.timeout_ms = timeout_ms;  // of what is made without memory alone
        },
        [&](hocket_comm** made) { return hocket_comm_join(members, made, &join, &options); },
        [&](bool) {
          const hocket_result result = is_member ? hocket_barrier(members, nullptr, nullptr) : HOCKET_OK;
          const bool broken = rank.anybody_tells(result != HOCKET_OK);
          if (is_member) {
            EXPECT_EQ(result != HOCKET_OK, broken) << "the other member found it otherwise";
          }
          if (broken) hocket_comm_destroy(std::exchange(members, nullptr));
        });
    hocket_comm_destroy(members);
  });
}

std::vector<Pressure> pressures() {
  std::vector<Pressure> all;
  for (const char* transport : {"shm", "tcp"}) {
    for (const int victim : {0, 2}) {
      for (const Shortage shortage : {Shortage::of_one, Shortage::of_rest}) {
        all.push_back({transport, victim, shortage, Density::sparse});
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Memory, Makings, testing::ValuesIn(pressures()), testing::PrintToStringParamName());

}  // namespace
}  // namespace hocket::pressure_testing
