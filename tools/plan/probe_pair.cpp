#include "tools/plan/probe_pair.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "src/exec/reduce.hpp"

namespace hocket {
namespace {

constexpr std::size_t pings = 48;
constexpr std::size_t small_messages = 32;
constexpr std::size_t block_bytes = std::size_t{64} << 10;
constexpr std::size_t blocks = 2;  // fit into sockets' buffers and shared memory's rings: nobody waits for the reader
constexpr std::size_t exchanges = 4;  // in a row, as slices of a long call: one alone waits until the other rank comes
constexpr std::size_t memory_bytes = std::size_t{8} << 20;   // walked through, so that data comes from memory
constexpr std::chrono::milliseconds messages_head_start{1};  // for what is sent to lie ready
constexpr std::size_t blocks_walked = 16;

}  // namespace

ProbePair::ProbePair(Communicator& comm) : comm_(comm), memory_(memory_bytes), other_(memory_bytes) {
  std::memset(memory_.data(), 1, memory_.size());  // pages are there before anything is timed
  std::memset(other_.data(), 1, other_.size());
}

double ProbePair::ping_pong() {
  std::array<std::uint8_t, 8> message{};
  ProbeClock::time_point begin;
  for (std::size_t i = 0; i < pings + 4; ++i) {
    if (i == 4) begin = ProbeClock::now();
    if (comm_.rank() == 0) {
      comm_.send(message, 1);
      comm_.recv(message, 1);
    } else {
      comm_.recv(message, 0);
      comm_.send(message, 0);
    }
  }
  return seconds_since(begin) / (2 * pings);
}

std::array<double, 2> ProbePair::one_way(std::size_t bytes, std::size_t count) {
  comm_.barrier();
  std::array<double, 2> times{};
  if (comm_.rank() == 0) {
    const auto begin = ProbeClock::now();
    for (std::size_t i = 0; i < count; ++i) comm_.send(next(memory_, bytes), 1);
    times[0] = seconds_since(begin) / static_cast<double>(count);
    comm_.recv(std::span(times).subspan(1), 1);
  } else {
    std::this_thread::sleep_for(messages_head_start);
    const auto begin = ProbeClock::now();
    for (std::size_t i = 0; i < count; ++i) comm_.recv(next(memory_, bytes), 0);
    times[1] = seconds_since(begin) / static_cast<double>(count);
    comm_.send(std::span(times).subspan(1), 0);
  }
  return times;
}

double ProbePair::exchange(std::size_t bytes) {
  comm_.barrier();
  const auto begin = ProbeClock::now();
  for (std::size_t i = 0; i < exchanges; ++i) {
    const std::span<std::uint8_t> all = next(memory_, 2 * bytes);
    comm_.allgather(all.subspan(static_cast<std::size_t>(comm_.rank()) * bytes, bytes), all);
  }
  return seconds_since(begin) / static_cast<double>(exchanges * bytes);
}

double ProbePair::copy() {
  comm_.barrier();
  return over_blocks([&](std::uint8_t* to) { std::memcpy(to, next(other_, block_bytes).data(), block_bytes); });
}

double ProbePair::reduce() {
  const ReduceKernel sum = reduce_kernel(DataType::float32, ReduceOp::sum);
  comm_.barrier();
  return over_blocks([&](std::uint8_t* to) {
    auto* const sums = reinterpret_cast<std::byte*>(to);
    sum(sums, sums, reinterpret_cast<const std::byte*>(other_.data()), block_bytes / sizeof(float));
  });
}

double ProbePair::over_blocks(const std::function<void(std::uint8_t*)>& work) {
  const auto begin = ProbeClock::now();
  for (std::size_t i = 0; i < blocks_walked; ++i) work(next(memory_, block_bytes).data());
  return seconds_since(begin) / static_cast<double>(blocks_walked * block_bytes);
}

std::span<std::uint8_t> ProbePair::next(std::vector<std::uint8_t>& memory, std::size_t bytes) {
  if (at_ + bytes > memory.size()) at_ = 0;
  at_ += bytes;
  return std::span(memory).subspan(at_ - bytes, bytes);
}

LinkFigures measure_links(ProbePair& pair, double overhead) {
  LinkFigures made;
  made.ping_pong = repeated([&] { return pair.ping_pong(); });
  std::vector<double> send, receive, send_byte, receive_byte;
  const auto positive = [](double value) { return std::max(value, 0.0); };
  for (int round = -1; round < probe_rounds; ++round) {
    const auto small = pair.one_way(8, small_messages);
    const auto large = pair.one_way(block_bytes, blocks);
    if (round < 0) continue;
    send.push_back(positive(small[0] - overhead));
    receive.push_back(positive(small[1] - overhead));
    send_byte.push_back(positive(large[0] - small[0]) / block_bytes);
    receive_byte.push_back(positive(large[1] - small[1]) / block_bytes);
  }
  made.send = figure_of(send);
  made.receive = figure_of(receive);
  made.send_per_byte = figure_of(send_byte);
  made.receive_per_byte = figure_of(receive_byte);
  made.exchange_per_byte = repeated([&] { return pair.exchange(); });
  return made;
}

}  // namespace hocket
