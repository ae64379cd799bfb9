// Collectives of an MPI, measured as hocket-bench measures its own. Started by that MPI's mpirun.
// The C API alone: the old C++ bindings in these headers do not compile without warnings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdio>
#include <exception>

#include "bench/peers/harness.hpp"

namespace {

using peers::Case;
using peers::Collective;
using peers::Operation;

class Mpi : public peers::Peer {
 public:
  Mpi() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~Mpi() override { MPI_Finalize(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string version() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string whole(text, static_cast<std::size_t>(length));
    return whole.substr(0, whole.find_first_of("\n,"));
  }
  std::vector<std::string> algorithms(Collective) const override { return {"default"}; }
  void barrier() override { MPI_Barrier(MPI_COMM_WORLD); }
  void maximize(std::span<double> values) override {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }

  Operation prepare(const Case& what) override {
    const int n = static_cast<int>(what.count);
    float* const a = what.first.data();
    float* const b = what.in_place ? a : what.second.data();
    const void* const send = what.in_place ? MPI_IN_PLACE : static_cast<const void*>(a);
    const bool root = rank_ == 0;
    const MPI_Comm comm = MPI_COMM_WORLD;
    // In place, a rank's own block of what it gathers is where it belongs already.
    float* const own_block = what.in_place ? a + what.count * static_cast<std::size_t>(rank_) : a;
    switch (what.collective) {
      case Collective::allreduce: return {[=] { MPI_Allreduce(send, b, n, MPI_FLOAT, MPI_SUM, comm); }, a, b};
      case Collective::reduce:
        return {[=] { MPI_Reduce(root ? send : a, b, n, MPI_FLOAT, MPI_SUM, 0, comm); }, a, root ? b : nullptr};
      case Collective::broadcast: return {[=] { MPI_Bcast(a, n, MPI_FLOAT, 0, comm); }, root ? a : nullptr, a};
      case Collective::reduce_scatter:
        return {[=] { MPI_Reduce_scatter_block(send, b, n, MPI_FLOAT, MPI_SUM, comm); }, a, b};
      case Collective::allgather:
        return {[=] { MPI_Allgather(send, n, MPI_FLOAT, b, n, MPI_FLOAT, comm); }, own_block, b};
      case Collective::gather:
        return {[=] { MPI_Gather(root ? send : own_block, n, MPI_FLOAT, b, n, MPI_FLOAT, 0, comm); }, own_block,
                root ? b : nullptr};
      case Collective::scatter: {
        // The root's own block stays where it is, so in place its result is the first block of its input.
        void* const recv = what.in_place && root ? MPI_IN_PLACE : static_cast<void*>(b);
        return {[=] { MPI_Scatter(a, n, MPI_FLOAT, recv, n, MPI_FLOAT, 0, comm); }, root ? a : nullptr, b};
      }
      case Collective::alltoall: return {[=] { MPI_Alltoall(send, n, MPI_FLOAT, b, n, MPI_FLOAT, comm); }, a, b};
      case Collective::barrier: return {[=] { MPI_Barrier(comm); }, nullptr, nullptr};
    }
    return {};
  }

 private:
  int rank_ = 0, size_ = 1;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const peers::Options options = peers::parse_options(argc, argv);
    Mpi mpi;
    return peers::measure_all(mpi, options) > 0 ? 1 : 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
