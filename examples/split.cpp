// Split: the even ranks and the odd ranks each get a communicator of their own, and sum within it.
#include <array>
#include <cstdint>
#include <cstdio>
#include <hocket/hocket.hpp>
#include <optional>

int main() try {
  hocket::Communicator world = hocket::Communicator::create();
  const int rank = world.rank();

  // Ranks of one color share a child; the key orders them in it.
  std::optional<hocket::Communicator> half = world.split(rank % 2, rank);

  std::array<std::int64_t, 1> sum = {rank};
  half->allreduce(sum, hocket::Op::sum);

  std::int64_t expected = 0;
  for (int member = 0; member < half->size(); ++member) expected += 2 * member + rank % 2;
  std::printf("rank %d is rank %d of the %d %s ranks, whose sum is %lld\n", rank, half->rank(), half->size(),
              rank % 2 == 0 ? "even" : "odd", static_cast<long long>(sum[0]));
  return sum[0] == expected && half->rank() == rank / 2 ? 0 : 1;
} catch (const hocket::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
