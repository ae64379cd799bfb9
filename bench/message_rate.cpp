// How many small messages a second go from one rank to another when many are under way. Started by hocket-run; ranks
// go in pairs, of which the even one sends; rank 0 prints a table.
//
//     hocket-run -n 2 bench-message-rate [milliseconds]
//
// All pairs send for the same time: where ranks share cores some go faster than others, and with a number of messages
// the sum of rates would count these while they run, and the others while nobody is in their way.
#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "bench/small_program.hpp"
#include "hocket/hocket.hpp"

namespace {

constexpr std::size_t in_flight = 64;
constexpr std::uint64_t last_row = std::uint64_t{1} << 63;  // added to the numbers of a pair's last row

// Each message has a cache line of its own.
struct alignas(64) Message {
  std::uint64_t number = 0;
};

// One row of messages, from its first call to the end of its last; their numbers tell that they arrived.
void pass(hocket::Communicator& comm, std::vector<Message>& messages, std::vector<hocket::Work>& works, int peer) {
  const bool sends = comm.rank() < peer;
  for (Message& message : messages) {
    const std::span<std::uint64_t> data(&message.number, 1);
    works.push_back(sends ? comm.send_async(data, peer) : comm.recv_async(data, peer));
  }
  for (hocket::Work& work : works) work.wait();
  works.clear();
}

// Millions of messages a second of this pair.
double measure(hocket::Communicator& comm, std::chrono::milliseconds duration) {
  const int peer = comm.rank() ^ 1;
  const bool sends = comm.rank() < peer;
  std::vector<Message> messages(in_flight);
  std::vector<hocket::Work> works;
  works.reserve(in_flight);
  std::uint64_t number = 0, wrong = 0, last = 0;
  comm.barrier();
  const auto began = std::chrono::steady_clock::now();
  while (last == 0) {
    if (sends) {
      last = std::chrono::steady_clock::now() - began < duration ? 0 : last_row;
      for (std::size_t i = 0; i < in_flight; ++i) messages[i].number = (number + i + 1) | last;
    }
    pass(comm, messages, works, peer);
    last = messages[0].number & last_row;
    for (const Message& message : messages) wrong += message.number != (++number | last) ? 1 : 0;
    std::vector<std::uint64_t> heard{number};  // so that no more than a row is under way
    sends ? comm.recv(heard, peer) : comm.send(heard, peer);
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  if (wrong != 0) throw std::runtime_error(fmt::format("{} messages were not what had been sent", wrong));
  return static_cast<double>(number) / seconds.count() / 1e6;
}

}  // namespace

int main(int argc, char** argv) try {
  const auto duration = hocket::bench::only_number("bench-message-rate", "milliseconds", 1000, 1'000'000, argc, argv);
  if (!duration) return 2;
  hocket::Communicator comm = hocket::Communicator::create();
  if (comm.size() % 2 != 0) throw std::runtime_error("start an even number of ranks: they go in pairs");
  const double measured = measure(comm, std::chrono::milliseconds(*duration));
  std::vector<double> rate{comm.rank() % 2 == 0 ? measured : 0};  // each pair once
  comm.allreduce(rate, hocket::Op::sum);
  if (comm.rank() == 0) {
    fmt::print("| ranks | bytes | in flight | million messages a second, of all pairs |\n|--:|--:|--:|--:|\n");
    fmt::print("| {} | {} | {} | {:.2f} |\n", comm.size(), sizeof(std::uint64_t), in_flight, rate[0]);
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "bench-message-rate: {}\n", error.what());
  return 1;
}
