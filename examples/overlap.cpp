// Overlap: an allreduce is on its way while the rank computes something else.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <hocket/hocket.hpp>
#include <vector>

// Stands for whatever a program computes meanwhile: the number of primes below `limit`.
static int primes_below(int limit) {
  int found = 0;
  for (int number = 2; number < limit; ++number) {
    int divisor = 2;
    while (divisor * divisor <= number && number % divisor != 0) ++divisor;
    if (divisor * divisor > number) ++found;
  }
  return found;
}

int main() try {
  hocket::Communicator comm = hocket::Communicator::create();
  std::vector<float> data(std::size_t{1} << 20, static_cast<float>(comm.rank() + 1));

  // The call returns at once. `data` belongs to Hocket until the work is complete.
  hocket::Work work = comm.allreduce_async(data, data, hocket::Op::sum);
  const int primes = primes_below(100000);
  work.wait();

  const auto sum = static_cast<float>(comm.size() * (comm.size() + 1) / 2);
  const auto wrong = std::ranges::count_if(data, [sum](float value) { return value != sum; });
  std::printf("rank %d of %d: %d primes counted during an allreduce, %d wrong sums\n", comm.rank(), comm.size(), primes,
              static_cast<int>(wrong));
  return wrong == 0 && primes == 9592 ? 0 : 1;
} catch (const hocket::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
