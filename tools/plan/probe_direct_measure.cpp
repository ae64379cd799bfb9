#include "tools/plan/probe_direct_measure.hpp"

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace hocket {
namespace {

constexpr int small_calls = 64;
constexpr int broadcasts = 24;                                  // fewer than a root may be ahead
constexpr std::size_t bytes_moved = std::size_t{512} << 10;     // at least, by each sample
constexpr std::chrono::microseconds broadcasts_head_start{50};  // for what is sent to lie ready

// Seconds of one of several calls in a row, after a barrier.
double in_a_row(Communicator& pair, int calls, const std::function<void()>& call) {
  pair.barrier();
  const auto begin = ProbeClock::now();
  for (int i = 0; i < calls; ++i) call();
  return seconds_since(begin) / calls;
}

int calls_of(std::size_t bytes) {
  return static_cast<int>(std::max<std::size_t>(bytes_moved / bytes, 2));
}

class Buffers {
 public:
  Buffers() : input_(DirectFigures::far_bytes, 1), output_(2 * DirectFigures::far_bytes, 1) {}

  Figure gather(Communicator& pair, std::size_t bytes) {
    return repeated([&] {
      return in_a_row(pair, calls_of(bytes),
                      [&] { pair.allgather(std::span(input_).first(bytes), std::span(output_).first(2 * bytes)); });
    });
  }
  Figure reduce(Communicator& pair, std::size_t bytes) {
    const std::span from(reinterpret_cast<float*>(input_.data()), bytes / sizeof(float));
    const std::span to(reinterpret_cast<float*>(output_.data()), bytes / sizeof(float));
    return repeated([&] { return in_a_row(pair, calls_of(bytes), [&] { pair.allreduce(from, to, Op::sum); }); });
  }

 private:
  std::vector<std::uint8_t> input_, output_;
};

// Seconds of a small broadcast at its root and at a rank that finds it ready.
std::array<double, 2> ahead_and_behind(Communicator& pair) {
  std::array<std::uint8_t, 8> message{};
  std::array<double, 2> times{};
  pair.barrier();
  const bool root = pair.rank() == 0;
  const auto called = ProbeClock::now();
  while (!root && ProbeClock::now() - called < broadcasts_head_start) {
  }
  const auto begin = ProbeClock::now();
  for (int i = 0; i < broadcasts; ++i) pair.broadcast(message, 0);
  const double mine = seconds_since(begin) / broadcasts;
  pair.allgather(std::span(&mine, 1), times);
  return times;
}

}  // namespace

Figure measure_small(Communicator& pair) {
  std::array<float, DirectFigures::small_bytes / sizeof(float)> from{}, to{};
  return repeated([&] { return in_a_row(pair, small_calls, [&] { pair.allreduce(from, to, Op::sum); }); });
}

DirectFigures measure_direct(Communicator& pair) {
  DirectFigures made;
  made.small = measure_small(pair);
  std::vector<double> ahead, behind;
  for (int round = -1; round < probe_rounds; ++round) {
    const auto times = ahead_and_behind(pair);
    if (round < 0) continue;
    ahead.push_back(times[0]);
    behind.push_back(times[1]);
  }
  made.ahead = figure_of(ahead);
  made.behind = figure_of(behind);
  Buffers buffers;
  made.gather = buffers.gather(pair, DirectFigures::near_bytes);
  made.reduce = buffers.reduce(pair, DirectFigures::near_bytes);
  made.far_gather = buffers.gather(pair, DirectFigures::far_bytes);
  made.far_reduce = buffers.reduce(pair, DirectFigures::far_bytes);
  made.cache_bytes = static_cast<double>(std::max(sysconf(_SC_LEVEL2_CACHE_SIZE), 0L));
  return made;
}

void measure_reads(Communicator& pair, DirectFigures& into) {
  Buffers buffers;
  const Figure read = buffers.gather(pair, DirectFigures::near_bytes);
  const bool possible = last_call().algorithm == std::string_view("direct single copy");
  const Figure long_read = buffers.gather(pair, DirectFigures::read_bytes);
  if (!possible) return;
  into.read = read;
  into.long_read = long_read;
}

}  // namespace hocket
