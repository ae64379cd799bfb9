// What an agreement costs: the first one on a communicator, which makes its connections, the next ones, and one during
// which a rank dies. Starts the ranks itself, and prints a table for docs/performance/figures.md.
//
//     bench-agreement 4 16 64
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/median.hpp"
#include "hocket/hocket.hpp"

namespace {

using Clock = std::chrono::steady_clock;

constexpr int ranks_max = 256, repeats = 50, runs = 5, nobody = -1;

struct Times {
  double first_ms = 0, next_ms = 0;
};

double agree_ms(hocket::Communicator& comm) {
  const auto began = Clock::now();
  (void)comm.agree(1);
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

// One rank. The victim dies in place of its first agreement, but for one before in which all connect.
Times measure(const hocket::Options& options, int victim) {
  hocket::Communicator comm = hocket::Communicator::create(options);
  Times times;
  comm.barrier();
  times.first_ms = agree_ms(comm);
  comm.barrier();
  if (comm.rank() == victim) ::raise(SIGKILL);
  if (victim != nobody) {
    times.next_ms = agree_ms(comm);
    return times;
  }
  std::vector<double> next;
  for (int i = 0; i < repeats; ++i) {
    comm.barrier();
    next.push_back(agree_ms(comm));
  }
  comm.allreduce(next, hocket::Op::max);
  times.next_ms = hocket::bench::median_of(next);
  return times;
}

// What the slowest rank took.
Times run(int size, const std::string& transport, int victim, Times* shared) {
  std::string folder = (std::filesystem::temp_directory_path() / "bench-agreement-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder could be made");
  for (int rank = 0; rank < size; ++rank) {
    shared[rank] = {};
    if (::fork() != 0) continue;
    try {
      shared[rank] = measure(
          {.world_size = size, .rank = rank, .store = "file://" + folder + "/store", .transport = transport}, victim);
    } catch (const std::exception& error) {
      fmt::print(stderr, "bench-agreement: rank {}: {}\n", rank, error.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  int status = 0, failed = 0;
  for (int rank = 0; rank < size; ++rank) failed += ::wait(&status) > 0 && status != 0 ? 1 : 0;
  std::filesystem::remove_all(folder);
  if (failed != (victim == nobody ? 0 : 1)) throw std::runtime_error("a rank has failed");
  Times slowest;
  for (int rank = 0; rank < size; ++rank) {
    slowest.first_ms = std::max(slowest.first_ms, shared[rank].first_ms);
    slowest.next_ms = std::max(slowest.next_ms, shared[rank].next_ms);
  }
  return slowest;
}

void print_row(int size, const std::string& transport, Times* shared) {
  std::vector<double> first, next, leader_dies, other_dies;
  for (int i = 0; i < runs; ++i) {
    const Times whole = run(size, transport, nobody, shared);
    first.push_back(whole.first_ms);
    next.push_back(whole.next_ms);
    leader_dies.push_back(run(size, transport, 0, shared).next_ms);
    other_dies.push_back(run(size, transport, size - 1, shared).next_ms);
  }
  fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n", size, transport, hocket::bench::median_of(first),
             hocket::bench::median_of(next), hocket::bench::median_of(leader_dies),
             hocket::bench::median_of(other_dies));
  (void)std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<int> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
  if (sizes.empty() || *std::ranges::min_element(sizes) < 2 || *std::ranges::max_element(sizes) > ranks_max) {
    fmt::print(stderr, "bench-agreement: give numbers of ranks from 2 to {}.\n", ranks_max);
    return 2;
  }
  void* const memory =
      ::mmap(nullptr, ranks_max * sizeof(Times), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory could be shared");
  fmt::print("| ranks | transport | first: ms | next: ms | rank 0 dies: ms | the last rank dies: ms |\n");
  fmt::print("|--:|---|--:|--:|--:|--:|\n");
  for (const int size : sizes) {
    for (const char* transport : {"shm", "tcp"}) print_row(size, transport, static_cast<Times*>(memory));
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "bench-agreement: {}\n", error.what());
  return 1;
}
