// Messages: every rank passes on what it receives from its left neighbour, until each value is back at its owner.
#include <array>
#include <cstdint>
#include <cstdio>
#include <hocket/hocket.hpp>

int main() try {
  hocket::Communicator comm = hocket::Communicator::create();
  const int rank = comm.rank(), size = comm.size();
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;

  std::array<std::int64_t, 1> mine = {rank}, arrived = {0};
  std::int64_t sum = 0;
  for (int step = 0; step < size; ++step) {
    // Both halves start together, so no rank has to receive before another one may send.
    comm.sendrecv(mine, right, arrived, left);
    sum += arrived[0];
    mine = arrived;
  }

  std::printf("rank %d of %d: got %lld back, and saw a sum of %lld\n", rank, size, static_cast<long long>(mine[0]),
              static_cast<long long>(sum));
  return mine[0] == rank && sum == std::int64_t{size} * (size - 1) / 2 ? 0 : 1;
} catch (const hocket::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
