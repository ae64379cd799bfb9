// What creating a communicator of many ranks takes, and destroying one, apart from the start of their processes.
// Started by hocket-run; rank 0 prints a table.
//
//     hocket-run -n 128 bench-creation-parts [rounds]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "bench/median.hpp"
#include "bench/small_program.hpp"
#include "hocket/hocket.hpp"

namespace {

using Clock = std::chrono::steady_clock;  // one for all ranks, since they share a host

// Waits for a moment that is the same on all ranks, with nothing between them then but what is to be measured.
void begin_together(std::optional<hocket::Communicator>& among, bool keep) {
  constexpr std::chrono::milliseconds to_come_to_rest{500};
  std::vector<std::int64_t> moment{(Clock::now() + to_come_to_rest).time_since_epoch().count()};
  among->broadcast(moment, 0);
  if (!keep) among.reset();
  std::this_thread::sleep_until(Clock::time_point(Clock::duration(moment[0])));
}

double ms_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

double slowest(hocket::Communicator& comm, double ms) {
  std::vector<double> worst{ms};
  comm.allreduce(worst, hocket::Op::max);
  return worst[0];
}

void measure(std::size_t rounds) {
  std::optional<hocket::Communicator> comm = hocket::Communicator::create();
  std::vector<double> creations, destructions;
  for (std::size_t round = 0; round < rounds; ++round) {
    begin_together(comm, false);
    auto began = Clock::now();
    comm = hocket::Communicator::create();
    creations.push_back(slowest(*comm, ms_since(began)));
    begin_together(comm, true);
    began = Clock::now();
    comm.reset();
    const double destruction = ms_since(began);
    comm = hocket::Communicator::create();
    destructions.push_back(slowest(*comm, destruction));
  }
  if (comm->rank() != 0) return;
  fmt::print(
      "| ranks | creation ms, median / worst | destruction ms |\n|--:|--:|--:|\n| {} | {:.1f} / {:.1f} | {:.1f} / "
      "{:.1f} |\n",
      comm->size(), hocket::bench::median_of(creations), std::ranges::max(creations),
      hocket::bench::median_of(destructions), std::ranges::max(destructions));
}

}  // namespace

int main(int argc, char** argv) try {
  const auto rounds = hocket::bench::only_number("bench-creation-parts", "rounds", 5, 1000, argc, argv);
  if (!rounds) return 2;
  measure(*rounds);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "bench-creation-parts: {}\n", error.what());
  return 1;
}
