// Collectives of an MPI, measured as hocket-bench measures its own. Started by that MPI's mpirun.
// The C API alone: the old C++ bindings in these headers do not compile without warnings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <exception>
#include <vector>

#include "bench/peers/harness.hpp"
#include "bench/peers/semantics.hpp"

namespace {

using peers::Case;
using peers::Collective;
using peers::Operation;

// The blocks of the larger buffer, as MPI wants them.
struct BlockList {
  std::vector<int> counts, displacements;
  int own = 0;  // elements of this rank's block

  BlockList(const Case& what, int rank, int size) {
    for (const std::size_t count : peers::block_counts(what.collective, what.count, rank, size)) {
      displacements.push_back(counts.empty() ? 0 : displacements.back() + counts.back());
      counts.push_back(static_cast<int>(count));
    }
    own = counts[static_cast<std::size_t>(rank)];
  }
};

struct Arguments {
  bool in_place, root;
  int rank, size, count;
  float *a, *b;
  float* own_block;  // in place, a rank's own block of what it gathers is where it belongs already
  BlockList blocks;

  const void* send() const { return in_place ? MPI_IN_PLACE : static_cast<const void*>(a); }
};

struct Row {
  Collective collective;
  Operation (*prepare)(const Arguments& with);
};

// By collective: the call, where its input stands and where its result.
const Row rows[] = {
    {Collective::allreduce,
     [](const Arguments& with) -> Operation {
       const auto run = [=] { MPI_Allreduce(with.send(), with.b, with.count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); };
       return {run, with.a, with.b};
     }},
    {Collective::reduce,
     [](const Arguments& with) -> Operation {
       const auto run = [=, send = with.root ? with.send() : with.a] {
         MPI_Reduce(send, with.b, with.count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
       };
       return {run, with.a, with.root ? with.b : nullptr};
     }},
    // Out of place the root's output has the data, too, as with the others; MPI leaves that copy to its caller.
    {Collective::broadcast,
     [](const Arguments& with) -> Operation {
       float* const output = with.in_place ? with.a : with.b;
       const auto run = [=, copies = with.root && !with.in_place] {
         if (copies) std::memcpy(output, with.a, static_cast<std::size_t>(with.count) * sizeof(float));
         MPI_Bcast(output, with.count, MPI_FLOAT, 0, MPI_COMM_WORLD);
       };
       return {run, with.root ? with.a : nullptr, output};
     }},
    {Collective::reduce_scatter,
     [](const Arguments& with) -> Operation {
       const auto run = [=] {
         MPI_Reduce_scatter_block(with.send(), with.b, with.count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
       };
       return {run, with.a, with.b};
     }},
    {Collective::allgather,
     [](const Arguments& with) -> Operation {
       const auto run = [=] {
         MPI_Allgather(with.send(), with.count, MPI_FLOAT, with.b, with.count, MPI_FLOAT, MPI_COMM_WORLD);
       };
       return {run, with.own_block, with.b};
     }},
    {Collective::gather,
     [](const Arguments& with) -> Operation {
       const auto run = [=, send = with.root ? with.send() : with.own_block] {
         MPI_Gather(send, with.count, MPI_FLOAT, with.b, with.count, MPI_FLOAT, 0, MPI_COMM_WORLD);
       };
       return {run, with.own_block, with.root ? with.b : nullptr};
     }},
    {Collective::scatter,
     [](const Arguments& with) -> Operation {
       // The root's own block stays where it is, so in place its result is the first block of its input.
       const auto run = [=, recv = with.in_place && with.root ? MPI_IN_PLACE : static_cast<void*>(with.b)] {
         MPI_Scatter(with.a, with.count, MPI_FLOAT, recv, with.count, MPI_FLOAT, 0, MPI_COMM_WORLD);
       };
       return {run, with.root ? with.a : nullptr, with.b};
     }},
    {Collective::alltoall,
     [](const Arguments& with) -> Operation {
       const auto run = [=] {
         MPI_Alltoall(with.send(), with.count, MPI_FLOAT, with.b, with.count, MPI_FLOAT, MPI_COMM_WORLD);
       };
       return {run, with.a, with.b};
     }},
    {Collective::scan,
     [](const Arguments& with) -> Operation {
       const auto run = [=] { MPI_Scan(with.send(), with.b, with.count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); };
       return {run, with.a, with.b};
     }},
    {Collective::exscan,
     [](const Arguments& with) -> Operation {
       // Rank 0's result is undefined.
       const auto run = [=] { MPI_Exscan(with.send(), with.b, with.count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); };
       return {run, with.a, with.rank == 0 ? nullptr : with.b};
     }},
    {Collective::sendrecv,
     [](const Arguments& with) -> Operation {
       if (with.in_place) return {};
       const int next = (with.rank + 1) % with.size, previous = (with.rank + with.size - 1) % with.size;
       const auto run = [=] {
         MPI_Sendrecv(with.a, with.count, MPI_FLOAT, next, 0, with.b, with.count, MPI_FLOAT, previous, 0,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE);
       };
       return {run, with.a, with.b};
     }},
    {Collective::reduce_scatter_v,
     [](const Arguments& with) -> Operation {
       const auto run = [=] {
         MPI_Reduce_scatter(with.send(), with.b, with.blocks.counts.data(), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
       };
       return {run, with.a, with.b};
     }},
    {Collective::allgather_v,
     [](const Arguments& with) -> Operation {
       const auto run = [=] {
         MPI_Allgatherv(with.send(), with.blocks.own, MPI_FLOAT, with.b, with.blocks.counts.data(),
                        with.blocks.displacements.data(), MPI_FLOAT, MPI_COMM_WORLD);
       };
       return {run, with.own_block, with.b};
     }},
    {Collective::gather_v,
     [](const Arguments& with) -> Operation {
       const auto run = [=, send = with.root ? with.send() : with.own_block] {
         MPI_Gatherv(send, with.blocks.own, MPI_FLOAT, with.b, with.blocks.counts.data(),
                     with.blocks.displacements.data(), MPI_FLOAT, 0, MPI_COMM_WORLD);
       };
       return {run, with.own_block, with.root ? with.b : nullptr};
     }},
    {Collective::scatter_v,
     [](const Arguments& with) -> Operation {
       const auto run = [=, recv = with.in_place && with.root ? MPI_IN_PLACE : static_cast<void*>(with.b)] {
         MPI_Scatterv(with.a, with.blocks.counts.data(), with.blocks.displacements.data(), MPI_FLOAT, recv,
                      with.blocks.own, MPI_FLOAT, 0, MPI_COMM_WORLD);
       };
       return {run, with.root ? with.a : nullptr, with.b};
     }},
    {Collective::alltoall_v,
     [](const Arguments& with) -> Operation {
       if (with.in_place) return {};
       const auto run = [=] {
         const int* const counts = with.blocks.counts.data();
         const int* const displacements = with.blocks.displacements.data();
         MPI_Alltoallv(with.a, counts, displacements, MPI_FLOAT, with.b, counts, displacements, MPI_FLOAT,
                       MPI_COMM_WORLD);
       };
       return {run, with.a, with.b};
     }},
    {Collective::barrier,
     [](const Arguments&) -> Operation {
       return {[] { MPI_Barrier(MPI_COMM_WORLD); }, nullptr, nullptr};
     }},
};

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
    float* const a = what.first.data();
    const BlockList blocks(what, rank_, size_);
    const Arguments arguments{
        .in_place = what.in_place,
        .root = rank_ == 0,
        .rank = rank_,
        .size = size_,
        .count = static_cast<int>(what.count),
        .a = a,
        .b = what.in_place ? a : what.second.data(),
        .own_block = what.in_place ? a + blocks.displacements[static_cast<std::size_t>(rank_)] : a,
        .blocks = blocks,
    };
    for (const Row& row : rows) {
      if (row.collective == what.collective) return row.prepare(arguments);
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
