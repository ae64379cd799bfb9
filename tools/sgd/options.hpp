// The command line of hocket-sgd.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/sgd/buckets.hpp"
#include "tools/sgd/optimizer.hpp"

namespace hocket::sgd {

// Weights differ between ranks; the loss grew beyond all numbers; a counted fact of the proof did not hold.
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;  // wrong arguments or data
inline constexpr int exit_communication = 3;

// The command line takes the enums below, and Departure, by names that stand in options.cpp in the same order.
enum class Combine {
  average,  // of the ranks' gradients: the gradient of the mean loss over the whole batch
  sum,      // of the ranks' gradients: as the average with a rate that is as many times larger as there are ranks
};

enum class Architecture { perceptron, lenet };

inline constexpr int no_device = -1;  // the host

struct Training {
  std::string folder;        // with MNIST's files; empty: draws digits
  std::size_t drawn = 8192;  // how many to draw
  std::uint64_t seed = 1;    // of drawn digits, first weights and the order of samples
  Architecture network = Architecture::perceptron;
  std::vector<std::size_t> hidden = {128};  // of the perceptron
  std::size_t epochs = 3;
  std::size_t steps = 0;           // of all epochs together; 0: no limit
  std::size_t batch = 128;         // samples in a step, over all ranks
  std::size_t batch_per_rank = 0;  // instead; 0: `batch` says it
  std::size_t base_batch = 0;      // the batch that the rate is meant for; 0: no scaling
  double rate = 0.05;
  double warmup_epochs = 0;
  UpdateRule rule;
  Combine combine = Combine::average;
  double bucket_mb = 1;
  Departure departure = Departure::when_full;
  int device = no_device;  // the number of the GPU that trains
};

enum class Links { automatic, shaped, loopback };

struct Proof {
  int ranks = 8;  // 2 … this
  std::vector<std::size_t> sizes = {std::size_t{256} << 10, std::size_t{1} << 20, std::size_t{4} << 20,
                                    std::size_t{16} << 20};  // bytes
  int iterations = 3;
  Links links = Links::automatic;
  std::string rate = "400mbit";
  std::string test_hosts;  // the program tools/test-hosts; empty: looked for near this program
  std::string described;   // how the links are made, for the reader; set below a launcher by whoever launched it
};

struct Options {
  Training training;
  std::optional<Proof> proof;        // nothing: train
  int ranks = 0;                     // to start here; 0: none, this process is a rank or alone
  bool elastic = false;              // ranks may die and come
  double timeout_seconds = 0;        // 0: from the environment
  std::string transport, algorithm;  // empty: from the environment
  std::string json_file, html_file;  // empty: none
};

// What parsing came to: options, or text to show and the status to exit with.
struct Parsed {
  std::optional<Options> options;
  std::string text;
  int exit_status = 0;
};
Parsed parse_options(int argc, const char* const* argv);

}  // namespace hocket::sgd
