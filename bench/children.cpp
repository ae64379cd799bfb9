// What communicators made from others cost, on links of their own and on their parent's: making one, the descriptors it
// keeps, and small and middling allreduces on it. Started by hocket-run; rank 0 prints a table for
// docs/performance/figures.md.
//
//     hocket-run -n 4 bench-children [children]
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <vector>

#include "bench/median.hpp"
#include "bench/small_program.hpp"
#include "hocket/hocket.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point began) {
  return std::chrono::duration<double, std::micro>(Clock::now() - began).count();
}

int open_descriptors() {
  const std::filesystem::directory_iterator entries("/proc/self/fd");
  return static_cast<int>(std::distance(begin(entries), end(entries)));
}

// The median of what the slowest rank took.
double slowest(hocket::Communicator& comm, std::vector<double> times) {
  comm.allreduce(times, hocket::Op::max);
  return hocket::bench::median_of(times);
}

double allreduce_us(hocket::Communicator& parent, hocket::Communicator& child, std::size_t bytes, std::size_t rounds) {
  std::vector<float> values(bytes / sizeof(float));
  std::vector<double> times(rounds);
  for (std::size_t round = 0; round < rounds / 10 + 1; ++round) child.allreduce(values, hocket::Op::sum);
  parent.barrier();
  for (double& time : times) {
    const auto began = Clock::now();
    child.allreduce(values, hocket::Op::sum);
    time = us_since(began);
  }
  return slowest(parent, times);
}

// Children of all ranks, or of every other one.
void measure(hocket::Communicator& parent, bool halves, bool share_links, std::size_t children) {
  const hocket::SplitOptions options{.share_links = share_links};
  std::vector<hocket::Communicator> made;
  std::vector<double> times(children);
  const int before = open_descriptors();
  for (double& time : times) {
    parent.barrier();
    const auto began = Clock::now();
    made.push_back(*parent.split(halves ? parent.rank() % 2 : 0, 0, options));
    time = us_since(began);
  }
  const double descriptors = static_cast<double>(open_descriptors() - before) / static_cast<double>(children);
  const double create = slowest(parent, times);
  hocket::Communicator& child = made.front();
  const double small = allreduce_us(parent, child, 4, 2000);
  const double middling = allreduce_us(parent, child, std::size_t{256} << 10, 100);
  const int size = child.size();
  if (parent.rank() != 0) return;
  fmt::print("| {} | {} | {} | {:.0f} | {:.1f} | {:.2f} | {:.0f} |\n", parent.size(), size,
             share_links ? "its parent's" : "its own", create, descriptors, small, middling);
}

}  // namespace

int main(int argc, char** argv) try {
  const auto children = hocket::bench::only_number("bench-children", "children", 32, 10'000, argc, argv);
  if (!children) return 2;
  hocket::Communicator world = hocket::Communicator::create();
  if (world.rank() == 0) {
    fmt::print(
        "| ranks | of the child | links | creation µs | descriptors | 4 B µs | 256 KiB µs "
        "|\n|---|---|---|---|---|---|---|\n");
  }
  for (const bool halves : {false, true}) {
    if (halves && world.size() < 4) continue;
    for (const bool share_links : {false, true}) measure(world, halves, share_links, *children);
  }
  world.barrier();
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "bench-children: {}\n", error.what());
  return 1;
}
