#include "bench/kill.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>

#include "src/base/host_identity.hpp"

namespace hocket::bench {
namespace {

// From the victim's word to its death: by then the others wait for it in the operation.
constexpr std::chrono::milliseconds notice{20};

double us_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

// A sum to which every rank adds another number, by what it was before.
bool sum_is_right(Communicator& comm) {
  std::int64_t sum[] = {0}, expected = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const std::int64_t part = std::int64_t{comm.previous_rank(rank)} * comm.previous_rank(rank) + 1;
    expected += part;
    if (rank == comm.rank()) sum[0] = part;
  }
  comm.allreduce(std::span(sum), Op::sum);
  return sum[0] == expected;
}

}  // namespace

void Killing::before_operation(hocket_comm* comm, Place place) {
  if (over_ || ++operations_ != kill_.iteration) return;
  std::int64_t at = (Clock::now() + notice).time_since_epoch().count();
  check(hocket_broadcast(&at, &at, 1, HOCKET_INT64, kill_.rank, comm, nullptr, nullptr));
  dies_at_ = Clock::time_point(Clock::duration(at));
  if (place.rank != kill_.rank) return;
  std::this_thread::sleep_until(*dies_at_);
  ::kill(::getpid(), SIGKILL);
}

Survival Killing::survive(Communicator& comm, std::string during) {
  const auto detected = Clock::now();
  Communicator left = comm.shrink();
  const auto shrunk = Clock::now();
  const bool right = sum_is_right(left);
  const auto recovered = Clock::now();
  comm = std::move(left);
  const double mine[] = {us_between(*dies_at_, detected), us_between(detected, shrunk),
                         us_between(*dies_at_, recovered), right ? 1.0 : 0.0};
  std::vector<double> all(comm.rank() == 0 ? std::size(mine) * static_cast<std::size_t>(comm.size()) : 0);
  comm.gather(std::span(mine), all, 0);
  Survival survival{.kill = kill_, .ranks = comm.size(), .during = std::move(during)};
  for (std::size_t i = 0; i < all.size(); i += std::size(mine)) {
    survival.detection_us.push_back(all[i]);
    survival.shrink_us.push_back(all[i + 1]);
    survival.recovery_us.push_back(all[i + 2]);
    survival.right = survival.right && all[i + 3] != 0;
  }
  dies_at_.reset();
  over_ = true;
  return survival;
}

bool share_a_clock(Communicator& comm) {
  const std::int64_t mine[] = {static_cast<std::int64_t>(std::hash<std::string>()(HostIdentity::own().boot))};
  std::vector<std::int64_t> all(static_cast<std::size_t>(comm.size()));
  comm.allgather(std::span(mine), all);
  return std::ranges::all_of(all, [&](std::int64_t one) { return one == all.front(); });
}

}  // namespace hocket::bench
