#include "bench/peers/harness.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bench/pacer.hpp"
#include "bench/peers/rows.hpp"
#include "bench/peers/semantics.hpp"

namespace peers {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t iterations_min = 5;
constexpr std::size_t iterations_max = 100'000;

double microseconds(Clock::duration span) {
  return std::chrono::duration<double, std::micro>(span).count();
}

// User and system time of all threads of this process.
double cpu_us() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// What all processes of this network namespace have sent over the loopback interface since it exists.
double loopback_bytes() {
  std::ifstream file("/proc/net/dev");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find("lo:");
    if (colon != std::string::npos) return std::strtod(line.c_str() + colon + 3, nullptr);
  }
  return 0;
}

class Buffer {
 public:
  Buffer(std::size_t count, std::size_t offset) : count_(count), offset_(offset) {
    constexpr std::size_t page = 4096;
    const std::size_t bytes = ((count * sizeof(float) + offset) / page + 1) * page;
    memory_.reset(static_cast<float*>(std::aligned_alloc(page, bytes)));
    if (memory_ == nullptr) throw std::bad_alloc();
    std::memset(memory_.get(), 0, bytes);
  }
  std::span<float> elements() const { return {memory_.get() + offset_ / sizeof(float), count_}; }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  std::size_t count_, offset_;  // the latter in bytes
  std::unique_ptr<float[], Free> memory_;
};

// One case on one rank.
class Run {
 public:
  Run(Peer& peer, const Options& options, const Case& what)
      : peer_(peer), options_(options), what_(what), operation_(peer.prepare(what)) {
    shape_ = shape_of(what.collective, what.count, peer.rank(), peer.size());
    if (operation_.input == nullptr) shape_.input = 0;
    if (operation_.output == nullptr) shape_.output = 0;
    if (!options.pacer_file.empty()) pacer_.emplace(options.pacer_file, peer.size());
    pattern_.resize(period);
    for (std::size_t i = 0; i < period; ++i) pattern_[i] = value(peer.rank(), i);
  }

  bool possible() const { return operation_.run != nullptr; }

  Row all() {
    Row row;
    write_input();
    operation_.run();
    std::size_t wrong = count_wrong();
    write_input();
    warm_up();
    row.iterations = options_.iterations > 0 ? options_.iterations : calibrate();
    peer_.barrier();
    const double before = loopback_bytes();
    row.times = time_operations(row.iterations);
    peer_.barrier();
    const double sent = loopback_bytes() - before;
    // Once more from fresh inputs: in place and back to back, sums go on from what the last one left.
    write_input();
    operation_.run();
    wrong += count_wrong();
    row.mean = std::accumulate(row.times.begin(), row.times.end(), 0.0) / static_cast<double>(row.iterations);
    peer_.maximize({&row.mean, 1});
    peer_.maximize(row.times);
    std::sort(row.times.begin(), row.times.end());
    row.cpu_us_per_op = total(used_cpu_us_) / static_cast<double>(row.iterations);
    row.bytes_sent_per_rank = sent / static_cast<double>(row.iterations) / peer_.size();
    row.wrong = static_cast<std::size_t>(total(static_cast<double>(wrong)));
    return row;
  }

 private:
  void write_input() {
    for (std::size_t at = 0; at < shape_.input; at += period) {
      std::memcpy(operation_.input + at, pattern_.data(), std::min(period, shape_.input - at) * sizeof(float));
    }
  }

  std::size_t count_wrong() const {
    std::size_t wrong = 0;
    if (shape_.output == 0) return wrong;
    const float* at = operation_.output;
    for (const Segment& segment : expected_output(what_.collective, what_.count, peer_.rank(), peer_.size())) {
      for (std::size_t i = segment.first; i < segment.first + segment.count; ++i) {
        float sum = 0;
        for (int rank = segment.from; rank < segment.to; ++rank) sum += value(rank, i);
        wrong += *at++ != sum;
      }
    }
    return wrong;
  }

  double total(double mine) {
    std::vector<double> slots(static_cast<std::size_t>(peer_.size()), 0.0);
    slots[static_cast<std::size_t>(peer_.rank())] = mine;
    peer_.maximize(slots);
    double sum = 0;
    for (const double slot : slots) sum += slot;
    return sum;
  }

  double time_batch(std::size_t operations) {
    peer_.barrier();
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < operations; ++i) {
      if (options_.fresh) prepare_fresh();
      operation_.run();
    }
    peer_.barrier();
    return std::max(microseconds(Clock::now() - begin), 0.1);
  }

  // Much as hocket-bench does.
  void warm_up() {
    for (std::size_t i = 0; i < options_.warmup; ++i) operation_.run();
    const double wanted_us = options_.warmup_seconds * 1e6;
    double spent_us = 0;
    for (std::size_t batch = 1; spent_us < wanted_us;) {
      double last_us = time_batch(batch);
      peer_.maximize({&last_us, 1});
      spent_us += last_us;
      if (last_us * 10 < wanted_us && batch < iterations_max) batch *= 2;
    }
  }

  // Times ever larger batches until one takes a tenth of the time that there is, and returns the count that fits. Each
  // is timed twice, as hocket-bench does.
  std::size_t calibrate() {
    const double wanted_us = options_.seconds * 1e6;
    for (std::size_t batch = 1;; batch = std::min(batch * 4, iterations_max)) {
      const double first_us = time_batch(batch);
      double spent_us = std::min(first_us, time_batch(batch));
      peer_.maximize({&spent_us, 1});
      if (spent_us * 10 < wanted_us && batch < iterations_max) continue;
      const double fitting = std::ceil(wanted_us / spent_us * static_cast<double>(batch));
      return static_cast<std::size_t>(
          std::clamp(fitting, static_cast<double>(iterations_min), static_cast<double>(iterations_max)));
    }
  }

  std::vector<double> time_operations(std::size_t iterations) {
    std::vector<double> times(iterations);
    if (options_.fresh) {
      for (double& time : times) time = time_fresh();
      return times;
    }
    const double cpu_before = cpu_us();
    auto begin = Clock::now();
    for (double& time : times) {
      operation_.run();
      const auto end = Clock::now();
      time = microseconds(end - begin);
      begin = end;
    }
    used_cpu_us_ = cpu_us() - cpu_before;
    return times;
  }

  void prepare_fresh() {
    write_input();
    peer_.barrier();  // nobody waits for this library while ranks meet elsewhere
    if (pacer_) pacer_->meet();
  }

  double time_fresh() {
    prepare_fresh();
    const double cpu_before = cpu_us();
    const auto begin = Clock::now();
    operation_.run();
    const auto end = Clock::now();
    used_cpu_us_ += cpu_us() - cpu_before;
    return microseconds(end - begin);
  }

  Peer& peer_;
  const Options& options_;
  Case what_;
  Operation operation_;
  Shape shape_;
  std::vector<float> pattern_;
  std::optional<pacing::Pacer> pacer_;
  double used_cpu_us_ = 0;
};

}  // namespace

std::size_t measure_all(Peer& peer, const Options& options) {
  const auto ranks = static_cast<std::size_t>(peer.size());
  const bool barrier_only = options.collective == Collective::barrier;
  const std::size_t unit = sizeof(float) * (is_blocks(options.collective) ? ranks : 1);
  const auto algorithms = options.algorithms.empty() ? peer.algorithms(options.collective) : options.algorithms;
  std::FILE* file = nullptr;
  if (peer.rank() == 0) {
    file = options.json_file.empty() || options.json_file == "-" ? stdout : std::fopen(options.json_file.c_str(), "w");
    if (file == nullptr) throw std::runtime_error("Cannot write " + options.json_file + ".");
    std::fprintf(file, "{\"version\":%s,\"host\":{},\"rows\":[", quoted(peer.version()).c_str());
  }
  std::size_t wrong = 0;
  bool first_row = true;
  for (std::size_t bytes = options.min_bytes; bytes <= options.max_bytes; bytes *= options.factor) {
    const std::size_t count = barrier_only ? 0 : std::max<std::size_t>(bytes / unit, 1);
    const std::size_t elements = count * unit / sizeof(float);
    const Buffer first(elements, options.offset), second(elements, options.offset);
    for (const std::string& algorithm : algorithms) {
      Run run(peer, options,
              {options.collective, algorithm, count, options.in_place, first.elements(), second.elements()});
      if (!run.possible()) continue;
      Row row = run.all();
      row.algorithm = algorithm;
      row.bytes = count * unit;
      row.count = count;
      wrong += row.wrong;
      if (file != nullptr) write_row(file, peer, options, row, std::exchange(first_row, false));
    }
    if (barrier_only) break;
  }
  if (file != nullptr) {
    std::fprintf(file, "\n]}\n");
    if (file != stdout) std::fclose(file);
  }
  return wrong;
}

}  // namespace peers
