// bench-message-rate with MPI, for each of its implementations: it prints the same table.
// The C API alone: the old C++ bindings in these headers do not compile without warnings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int in_flight = 64;
constexpr std::uint64_t last_row = std::uint64_t{1} << 63;  // added to the numbers of a pair's last row

// Each message has a cache line of its own.
struct alignas(64) Message {
  std::uint64_t number = 0;
};

void pass(std::vector<Message>& messages, std::vector<MPI_Request>& requests, int peer, bool sends) {
  for (int i = 0; i < in_flight; ++i) {
    std::uint64_t* const data = &messages[i].number;
    sends ? MPI_Isend(data, 1, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD, &requests[i])
          : MPI_Irecv(data, 1, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(in_flight, requests.data(), MPI_STATUSES_IGNORE);
}

// Millions of messages a second of this pair.
double measure(int rank, std::chrono::milliseconds duration) {
  const int peer = rank ^ 1;
  const bool sends = rank < peer;
  std::vector<Message> messages(in_flight);
  std::vector<MPI_Request> requests(in_flight);
  std::uint64_t number = 0, wrong = 0, last = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const auto began = std::chrono::steady_clock::now();
  while (last == 0) {
    if (sends) {
      last = std::chrono::steady_clock::now() - began < duration ? 0 : last_row;
      for (int i = 0; i < in_flight; ++i) messages[i].number = (number + i + 1) | last;
    }
    pass(messages, requests, peer, sends);
    last = messages[0].number & last_row;
    for (const Message& message : messages) wrong += message.number != (++number | last) ? 1 : 0;
    std::uint64_t heard = number;  // so that no more than a row is under way
    sends ? MPI_Recv(&heard, 1, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
          : MPI_Send(&heard, 1, MPI_UINT64_T, peer, 0, MPI_COMM_WORLD);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  if (wrong != 0) {
    std::fprintf(stderr, "%llu messages were not what had been sent\n", static_cast<unsigned long long>(wrong));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return static_cast<double>(number) / seconds.count() / 1e6;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long duration = argc > 1 ? std::atol(argv[1]) : 1000;
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (duration < 1 || size % 2 != 0) {
    if (rank == 0) std::fprintf(stderr, "start an even number of ranks, with a number of milliseconds\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const double measured = measure(rank, std::chrono::milliseconds(duration));
  const double rate = rank % 2 == 0 ? measured : 0;  // each pair once
  double all = 0;
  MPI_Reduce(&rate, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("| ranks | bytes | in flight | million messages a second, of all pairs |\n|--:|--:|--:|--:|\n");
    std::printf("| %d | %zu | %d | %.2f |\n", size, sizeof(std::uint64_t), in_flight, all);
  }
  MPI_Finalize();
  return 0;
}
