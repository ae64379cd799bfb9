// What communicators made from others cost, on links of their own and on their parent's: making one, the descriptors it
// keeps, and small and middling allreduces on it. Started by hocket-run; rank 0 prints a table for
// docs/performance/figures.md.
//
//     hocket-run -n 4 bench-children [children]
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <vector>

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

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The median of what the slowest rank took.
double slowest(hocket::Communicator& comm, std::vector<double> times) {
  comm.allreduce(times, hocket::Op::max);
  return median(times);
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
  constexpr std::size_t children_max = 10'000;
  std::size_t children = 32;
  if (argc > 1) {
    const std::string_view given = argv[1];
    const auto [end, problem] = std::from_chars(given.begin(), given.end(), children);
    const bool right = problem == std::errc() && end == given.end() && children >= 1 && children <= children_max;
    if (!right || argc > 2) {
      fmt::print(stderr, "bench-children: give one number of children from 1 to {}, not '{}', or nothing for 32.\n",
                 children_max, fmt::join(argv + 1, argv + argc, " "));
      return 2;
    }
  }
  hocket::Communicator world = hocket::Communicator::create();
  if (world.rank() == 0) {
    fmt::print(
        "| ranks | of the child | links | creation µs | descriptors | 4 B µs | 256 KiB µs "
        "|\n|---|---|---|---|---|---|---|\n");
  }
  for (const bool halves : {false, true}) {
    if (halves && world.size() < 4) continue;
    for (const bool share_links : {false, true}) measure(world, halves, share_links, children);
  }
  world.barrier();
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "bench-children: {}\n", error.what());
  return 1;
}
