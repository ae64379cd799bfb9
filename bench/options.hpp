// The command line of hocket-bench.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/collectives.hpp"
#include "bench/memory.hpp"
#include "hocket/hocket.hpp"
#include "src/spi/status.hpp"

namespace hocket::bench {

inline constexpr int exit_wrong_results = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_communication = 3;

// In place of the model's file: the ranks measure first.
inline constexpr std::string_view model_of_probe = "probe";

// This rank kills itself before the timed operation of this number, counted from 1 over all that is measured.
struct Kill {
  int rank = 0;
  std::uint64_t iteration = 1;
};

struct Options {
  const Benchmark* collective = nullptr;
  std::vector<std::uint64_t> sizes;  // bytes, ascending
  std::vector<DataType> dtypes;
  std::vector<ReduceOp> ops;
  std::optional<int> root = 0;  // nothing: every rank in turn
  int iterations = 0;           // 0: as many as fit into `seconds`
  double seconds = 0.25;
  int warmup = 2;
  double warmup_seconds = 0;
  int checks = 1;
  int ranks = 0;                 // 0: this process is one rank, started by a launcher
  double timeout_seconds = 0;    // 0: from the environment
  std::string binding = "auto";  // of those ranks, as in launch::Options
  std::string transport = "auto";
  std::string algorithm = "auto";
  WireFormat wire = WireFormat::exact;
  bool out_of_place = true;
  bool in_place = true;
  std::string memory = plain_memory;  // a kind, as in memory.hpp
  std::string device = "0";           // with cuda_memory: the number of a GPU, or local_rank_device
  std::size_t offset = 0;             // from the beginning of a page to that of each buffer in host memory
  bool fresh = false;
  std::string pacer_file;  // with `fresh`: as Pacer has it; empty: ranks meet in the library's barrier alone
  bool persistent = false;
  std::size_t tensors = 0;  // as Case has it
  std::string json_file;    // "-": standard output; empty: none
  std::string csv_file;
  std::string model_file;   // a described network, or model_of_probe; empty: nothing is expected
  bool best_fixed = false;  // compare "auto" with all algorithms that can be named
  int rounds = 5;           // of that comparison
  std::optional<Kill> kill = {};
};

// What parsing came to: options, or text to show and the status to exit with.
struct Parsed {
  std::optional<Options> options;
  std::string text;
  int exit_status = 0;
};
Parsed parse_options(int argc, const char* const* argv);

// Of the communicator to measure.
hocket::Options communicator_options(const Options& options);

// What depends on the number of ranks, which only a communicator knows: whether there are enough for root and
// collective.
Status check_size(const Options& options, int ranks);
// All that is asked for but the placement, in the order of the table.
std::vector<Case> cases_of(const Options& options, int ranks);

// "64K" where that is exact, else the number.
std::string size_text(std::uint64_t bytes);

// low, low*factor, … or low, low+step, … up to and including high. After 0 comes `unit`.
std::vector<std::uint64_t> sweep(std::uint64_t low, std::uint64_t high, std::uint64_t factor, std::uint64_t step,
                                 std::uint64_t unit);

}  // namespace hocket::bench
