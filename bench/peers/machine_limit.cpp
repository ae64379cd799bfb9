// What this machine can do at most, measured with the least that can be written: copies and sums by one plain loop a
// core, a cache line handed to and fro between two cores, and bytes pushed through loopback TCP. Prints one JSON
// object.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t vector_elements = std::size_t{16} << 20;  // 64 MiB, as the largest size that is compared
constexpr double seconds_each = 0.3;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

void pin_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  sched_setaffinity(0, sizeof set, &set);
}

// Runs `body(index)` on one thread for each of the first `count` cores, taken round.
void on_cores(const std::vector<int>& cores, std::size_t count, const std::function<void(std::size_t)>& body) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      pin_to(cores[i % cores.size()]);
      body(i);
    });
  }
  for (auto& thread : threads) thread.join();
}

// Bytes read and written per second by `threads` cores together, each repeating `work` on vectors of its own.
double bandwidth(const std::vector<int>& cores, std::size_t threads, std::size_t bytes_moved,
                 const std::function<void(float* to, const float* a, const float* b)>& work) {
  std::vector<double> rates(threads);
  std::atomic<std::size_t> ready = 0;
  on_cores(cores, threads, [&](std::size_t index) {
    std::vector<float> to(vector_elements, 0), a(vector_elements, 1), b(vector_elements, 2);
    ++ready;
    while (ready < threads) std::this_thread::yield();
    double best = 0;
    const auto begin = Clock::now();
    while (seconds_since(begin) < seconds_each) {
      const auto once = Clock::now();
      work(to.data(), a.data(), b.data());
      best = std::max(best, static_cast<double>(bytes_moved) / seconds_since(once));
    }
    rates[index] = best;
  });
  double total = 0;
  for (const double rate : rates) total += rate;
  return total / 1e9;
}

void copy(float* to, const float* a, const float*) {
  std::memcpy(to, a, vector_elements * sizeof(float));
}

void sum(float* __restrict to, const float* __restrict a, const float* __restrict b) {
  for (std::size_t i = 0; i < vector_elements; ++i) to[i] = a[i] + b[i];
}

// A limit is what the machine does when nothing disturbs it: the best of several trials.
double fastest(const std::function<double()>& microseconds) {
  double best = microseconds();
  for (int trial = 1; trial < 10; ++trial) best = std::min(best, microseconds());
  return best;
}

double highest(const std::function<double()>& rate) {
  double best = rate();
  for (int trial = 1; trial < 5; ++trial) best = std::max(best, rate());
  return best;
}

// One way, in microseconds, of a cache line between two spinning cores.
double flag_latency_us(const std::vector<int>& cores) {
  if (cores.size() < 2) return 0;
  constexpr int rounds = 5'000;
  alignas(128) std::atomic<int> ping = 0;
  alignas(128) std::atomic<int> pong = 0;
  double elapsed = 0;
  on_cores(cores, 2, [&](std::size_t index) {
    const auto begin = Clock::now();
    for (int i = 1; i <= rounds; ++i) {
      if (index == 0) ping = i;
      while ((index == 0 ? pong : ping) < i) {
      }
      if (index == 1) pong = i;
    }
    if (index == 0) elapsed = seconds_since(begin);
  });
  return elapsed * 1e6 / rounds / 2;
}

// Two ends of a loopback connection.
std::pair<int, int> connection() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const auto raw = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, raw, length) != 0 || listen(listener, 1) != 0) throw std::runtime_error("Cannot listen.");
  getsockname(listener, raw, &length);
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  // A limit is not to depend on the host's default; where cubic is not allowed the default stays.
  setsockopt(one, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
  if (connect(one, raw, length) != 0) throw std::runtime_error("Cannot connect over loopback.");
  const int other = accept(listener, nullptr, nullptr);
  close(listener);
  const int on = 1;
  for (const int end : {one, other}) setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(other, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
  return {one, other};
}

// Bytes received per second over one connection between two cores that poll it, in both directions together or in one.
double tcp_bandwidth(const std::vector<int>& cores, bool both_ways, std::size_t message) {
  const auto ends = connection();
  double received[2] = {};
  const auto begin = Clock::now();
  on_cores(cores, 2, [&](std::size_t index) {
    const int end = index == 0 ? ends.first : ends.second;
    const bool sends = both_ways || index == 0;
    const bool receives = both_ways || index == 1;
    std::vector<char> out(message), in(message);
    while (seconds_since(begin) < seconds_each / 2) {
      if (sends && send(end, out.data(), message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && !receives) sched_yield();
      if (!receives) continue;
      const ssize_t got = recv(end, in.data(), message, MSG_DONTWAIT);
      if (got > 0) {
        received[index] += static_cast<double>(got);
      } else if (!sends) {
        sched_yield();
      }
    }
  });
  const double elapsed = seconds_since(begin);
  close(ends.first);
  close(ends.second);
  return (received[0] + received[1]) / elapsed / 1e9;
}

double best_tcp_bandwidth(const std::vector<int>& cores, bool both_ways) {
  double best = 0;
  for (const std::size_t kib : {64, 128, 256, 512}) {
    best = std::max(best, highest([&] { return tcp_bandwidth(cores, both_ways, kib << 10); }));
  }
  return best;
}

// One way, in microseconds, of four bytes between two cores that poll their sockets.
double tcp_latency_us(const std::vector<int>& cores) {
  constexpr int rounds = 500;
  const auto ends = connection();
  double elapsed = 0;
  on_cores(cores, 2, [&](std::size_t index) {
    const int end = index == 0 ? ends.first : ends.second;
    const int flags = cores.size() > 1 ? MSG_DONTWAIT : 0;
    char bytes[4] = {};
    const auto begin = Clock::now();
    for (int i = 0; i < rounds; ++i) {
      if (index == 0) send(end, bytes, sizeof bytes, 0);
      while (recv(end, bytes, sizeof bytes, flags) < 0) {
      }
      if (index == 1) send(end, bytes, sizeof bytes, 0);
    }
    if (index == 0) elapsed = seconds_since(begin);
  });
  close(ends.first);
  close(ends.second);
  return elapsed * 1e6 / rounds / 2;
}

}  // namespace

int main() {
  try {
    const std::vector<int> cores = allowed_cores();
    const std::size_t bytes = vector_elements * sizeof(float);
    std::printf("{\"cores\":%zu,\n", cores.size());
    std::printf(" \"copy_GBps_one_core\":%.2f,\n", bandwidth(cores, 1, 2 * bytes, copy));
    std::printf(" \"copy_GBps_all_cores\":%.2f,\n", bandwidth(cores, cores.size(), 2 * bytes, copy));
    std::printf(" \"sum_GBps_one_core\":%.2f,\n", bandwidth(cores, 1, 3 * bytes, sum));
    std::printf(" \"sum_GBps_all_cores\":%.2f,\n", bandwidth(cores, cores.size(), 3 * bytes, sum));
    std::printf(" \"flag_us\":%.3f,\n", fastest([&] { return flag_latency_us(cores); }));
    std::printf(" \"tcp_GBps_one_way\":%.2f,\n", best_tcp_bandwidth(cores, false));
    std::printf(" \"tcp_GBps_both_ways\":%.2f,\n", best_tcp_bandwidth(cores, true));
    std::printf(" \"tcp_us\":%.2f}\n", fastest([&] { return tcp_latency_us(cores); }));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
