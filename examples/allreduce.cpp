// The first program: every rank contributes its number, and all ranks get the sum.
#include <array>
#include <cstdio>
#include <hocket/hocket.hpp>

int main() try {
  // Rank, number of ranks and meeting point come from the launcher.
  hocket::Communicator comm = hocket::Communicator::create();

  std::array<float, 1> value = {static_cast<float>(comm.rank() + 1)};
  comm.allreduce(value, hocket::Op::sum);

  const int expected = comm.size() * (comm.size() + 1) / 2;
  std::printf("rank %d of %d: the sum is %g\n", comm.rank(), comm.size(), static_cast<double>(value[0]));
  return value[0] == static_cast<float>(expected) ? 0 : 1;
} catch (const hocket::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
