// What the harnesses of other libraries share: options, measuring, checking and JSON rows, after the same protocol as
// hocket-bench, so that the figures can stand side by side. It does not use Hocket: a mistake there is not repeated
// here.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace peers {

enum class Collective {
  allreduce,
  reduce,
  broadcast,
  reduce_scatter,
  allgather,
  gather,
  scatter,
  alltoall,
  barrier,
  scan,
  exscan,
  sendrecv,  // every rank sends to the next one and receives from the one before
  // The same with blocks that vary in size; see block_counts().
  reduce_scatter_v,
  allgather_v,
  gather_v,
  scatter_v,
  alltoall_v,
};

struct Options {
  Collective collective = Collective::allreduce;
  std::string collective_name;
  std::size_t min_bytes = 4;
  std::size_t max_bytes = std::size_t{64} << 20;
  std::size_t factor = 4;
  std::size_t iterations = 0;  // 0: as many as fit into `seconds`
  double seconds = 0.25;
  std::size_t warmup = 2;
  double warmup_seconds = 0;
  bool in_place = false;
  std::size_t offset = 0;               // from the beginning of a page to that of each buffer
  bool fresh = false;                   // every rank rewrites its input before every operation, outside the clock
  std::string pacer_file;               // with `fresh`: in which ranks meet before each operation, too; empty: none
  int ranks = 0;                        // for harnesses that start their ranks themselves
  std::vector<std::string> algorithms;  // empty: all that the library offers
  std::string transport;                // a label for the rows
  std::string json_file;                // "-": standard output
};

// Throws std::invalid_argument with a sentence for the user.
Options parse_options(int argc, const char* const* argv);

// One thing to measure. Every rank has two buffers, each as large as the larger side of the collective.
struct Case {
  Collective collective;
  std::string algorithm;
  std::size_t count;  // elements of one rank's block (allgather, …), their mean where they vary, or of the whole vector
  bool in_place;
  std::span<float> first, second;
};

// An operation that is ready to run again and again.
struct Operation {
  std::function<void()> run;
  float* input = nullptr;   // where this rank's input must stand before every run; null: it has none
  float* output = nullptr;  // where the result stands afterwards; null: none
};

// One rank of the library that is measured. The root of rooted collectives is rank 0.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string version() const = 0;
  virtual std::vector<std::string> algorithms(Collective collective) const = 0;  // empty: the library lacks it
  // Called by all ranks alike. A null run: this algorithm cannot do that case.
  virtual Operation prepare(const Case& what) = 0;
  virtual void barrier() = 0;
  // Replaces each value by the largest of all ranks, on all ranks.
  virtual void maximize(std::span<double> values) = 0;
};

// Measures every size with every algorithm; rank 0 writes the rows. Returns how many elements were wrong on all ranks.
std::size_t measure_all(Peer& peer, const Options& options);

}  // namespace peers
