// One of the two ranks of bench/instructions, over shared memory. Rank 0 runs below callgrind, which collects during
// the measured calls alone, each into a file of its own. Rank 1 comes first to every call and then stands still, so
// rank 0 finds what it needs and waits for nobody: where rank 1 has to wait, it stops at the first yield of its waiting
// loop, when its part has been announced and it does not sleep yet, until rank 0 has come through. Its clock stands
// still as well: a yield that takes long tells a waiter to sleep instead of yielding (src/exec/waiting.hpp). So nothing
// here depends on time.
//
//     bench-instructions RANK STORE SOCKET CALLS   (started by bench/instructions; SOCKET leads to the other rank)
//     bench-instructions --built                   (says by what the library was built)
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "hocket/hocket.hpp"

namespace {

constexpr auto patience = std::chrono::seconds(60);          // of calls
constexpr auto partner_patience = std::chrono::seconds(30);  // less: the reason below is the better one

// Says why on standard error, and ends the process; the other rank notices by its socket.
[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "bench-instructions: {}\n", why);
  std::_Exit(1);
}

// The other rank, at the end of a socket.
class Partner {
 public:
  explicit Partner(int socket) : socket_(socket) {}
  void tell() const {
    if (::write(socket_, "x", 1) != 1) fail("the other rank has ended");
  }
  void hear() const {
    const std::chrono::milliseconds longest = partner_patience;
    pollfd look{.fd = socket_, .events = POLLIN, .revents = 0};
    if (::poll(&look, 1, static_cast<int>(longest.count())) != 1) {
      fail(
          "the other rank has not come within 30 s; does a rank that waits still call sched_yield() before it sleeps?");
    }
    char read = 0;
    if (::read(socket_, &read, 1) != 1) fail("the other rank has ended");
  }

 private:
  int socket_;
};

// Whom this thread tells when it first waits, and where it then stands still.
thread_local const Partner* stands_still_for = nullptr;

std::chrono::nanoseconds span_of(const timespec& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// The kernel's.
int read_clock(clockid_t clock, timespec* time) {
  return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
}

std::chrono::nanoseconds monotonic_time() {
  timespec time{};
  read_clock(CLOCK_MONOTONIC, &time);
  return span_of(time);
}

// For how long this process has stood still in all. Its monotonic clock is late by so much.
std::atomic<std::chrono::nanoseconds> stood_still{};

void stand_still() {
  if (const Partner* partner = std::exchange(stands_still_for, nullptr)) {
    const std::chrono::nanoseconds before = monotonic_time();
    partner->tell();
    partner->hear();
    stood_still = stood_still.load() + (monotonic_time() - before);
  }
}

struct Call {
  const char* name;
  hocket_result (*run)(hocket_comm* comm, int rank, const double* send, double* recv);
  std::vector<double> expected;  // by rank 0, where rank r sends r + 1
};

constexpr size_t one_each[] = {1, 1}, one_to_rank_0[] = {1, 0}, one_to_rank_1[] = {0, 1};

// 8 bytes from each rank. The names are rank 0's parts.
const Call calls[] = {
    {"allreduce",
     [](hocket_comm* comm, int, const double* send, double* recv) {
       return hocket_allreduce(send, recv, 1, HOCKET_FLOAT64, HOCKET_SUM, comm, nullptr, nullptr);
     },
     {3}},
    {"broadcast, root",
     [](hocket_comm* comm, int, const double* send, double* recv) {
       return hocket_broadcast(send, recv, 1, HOCKET_FLOAT64, 0, comm, nullptr, nullptr);
     },
     {1}},
    {"reduce, leaf",
     [](hocket_comm* comm, int, const double* send, double* recv) {
       return hocket_reduce(send, recv, 1, HOCKET_FLOAT64, HOCKET_SUM, 1, comm, nullptr, nullptr);
     },
     {}},
    {"allgather",
     [](hocket_comm* comm, int, const double* send, double* recv) {
       return hocket_allgather(send, recv, 1, HOCKET_FLOAT64, comm, nullptr, nullptr);
     },
     {1, 2}},
    {"allgather_v",
     [](hocket_comm* comm, int, const double* send, double* recv) {
       return hocket_allgather_v(send, 1, recv, one_each, nullptr, HOCKET_FLOAT64, comm, nullptr, nullptr);
     },
     {1, 2}},
    {"gather_v, leaf",
     [](hocket_comm* comm, int, const double* send, double* recv) {
       return hocket_gather_v(send, 1, recv, one_each, nullptr, HOCKET_FLOAT64, 1, comm, nullptr, nullptr);
     },
     {}},
    {"alltoall_v",
     [](hocket_comm* comm, int rank, const double* send, double* recv) {
       const size_t* const to_other = rank == 0 ? one_to_rank_1 : one_to_rank_0;
       return hocket_alltoall_v(send, to_other, nullptr, recv, to_other, nullptr, HOCKET_FLOAT64, comm, nullptr,
                                nullptr);
     },
     {2}},
    {"barrier",
     [](hocket_comm* comm, int, const double*, double*) { return hocket_barrier(comm, nullptr, nullptr); },
     {}},
    {"send",
     [](hocket_comm* comm, int rank, const double* send, double* recv) {
       return rank == 0 ? hocket_send(send, 1, HOCKET_FLOAT64, 1, comm, nullptr, nullptr)
                        : hocket_recv(recv, 1, HOCKET_FLOAT64, 0, comm, nullptr, nullptr);
     },
     {}},
    {"recv",
     [](hocket_comm* comm, int rank, const double* send, double* recv) {
       return rank == 0 ? hocket_recv(recv, 1, HOCKET_FLOAT64, 1, comm, nullptr, nullptr)
                        : hocket_send(send, 1, HOCKET_FLOAT64, 0, comm, nullptr, nullptr);
     },
     {2}},
};

// What the script subtracts: two client requests, and a call that does nothing.
const Call nothing{"nothing", [](hocket_comm*, int, const double*, double*) { return HOCKET_OK; }, {}};

const Call& alone = calls[0];

// A communicator and its rank's buffers.
class Rank {
 public:
  Rank(int rank, int size, const std::string& store) : rank_(rank), send_(rank + 1), comm_(create(rank, size, store)) {}

  void run(const Call& call) {
    if (const hocket_result result = call.run(comm_, rank_, &send_, recv_); result != HOCKET_OK) {
      fail(fmt::format("{} failed: {}", call.name, hocket_last_error()));
    }
  }

  // `name` is what callgrind writes into the file.
  void measure(const Call& call, const char* name) {
    std::fill(std::begin(recv_), std::end(recv_), 0);
    CALLGRIND_TOGGLE_COLLECT;
    const hocket_result result = call.run(comm_, rank_, &send_, recv_);
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_DUMP_STATS_AT(name);
    if (result != HOCKET_OK) fail(fmt::format("{} failed: {}", name, hocket_last_error()));
  }

  bool has(const std::vector<double>& expected) const {
    return std::equal(expected.begin(), expected.end(), std::begin(recv_));
  }

 private:
  static hocket_comm* create(int rank, int size, const std::string& store) {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.world_size = size;
    options.rank = rank;
    options.store = store.c_str();
    options.transport = "shm";
    options.name = size == 1 ? "alone" : "both";
    options.timeout_ms = std::chrono::milliseconds(patience).count();
    hocket_comm* comm = nullptr;
    if (hocket_comm_create(&comm, &options) != HOCKET_OK) fail(hocket_last_error());
    return comm;
  }

  int rank_;
  double send_;
  double recv_[2] = {};
  hocket_comm* comm_;
};

std::string built() {
  std::string words = HOCKET_BUILT;
#ifdef HOCKET_LINK_TIME
  words += ", link-time optimisation";
#endif
  const std::string sanitizers = HOCKET_SANITIZERS;
  return sanitizers.empty() ? words : words + ", sanitizers " + sanitizers;
}

constexpr int warmups = 80;  // more than a window has lines, so that what each needs for the first time is done

void measured_rank(Rank& rank, const Partner& partner, int repetitions) {
  for (int at = 0; at < repetitions; ++at) rank.measure(nothing, nothing.name);
  for (const Call& call : calls) {
    for (int at = -warmups; at < repetitions; ++at) {
      partner.hear();
      if (at < 0) {
        rank.run(call);
      } else {
        rank.measure(call, call.name);
        if (!rank.has(call.expected)) fail(fmt::format("{} brought a wrong result", call.name));
      }
      partner.tell();
    }
  }
}

void measure_alone(const std::string& store, int repetitions) {
  Rank rank(0, 1, store);
  for (int at = 0; at < warmups; ++at) rank.run(alone);
  for (int at = 0; at < repetitions; ++at) rank.measure(alone, "allreduce, one rank");
  if (!rank.has({1})) fail("allreduce on one rank brought a wrong result");
}

void other_rank(Rank& rank, const Partner& partner, int repetitions) {
  for (const Call& call : calls) {
    for (int at = -warmups; at < repetitions; ++at) {
      stands_still_for = &partner;
      rank.run(call);
      stand_still();  // if the call did not have to wait
    }
  }
}

}  // namespace

// In place of the C library's, for this process alone.
//
// The one place of a waiting loop that a program can reach.
extern "C" __attribute__((visibility("default"))) int sched_yield() noexcept {
  if (stands_still_for != nullptr) {
    stand_still();
    return 0;
  }
  return static_cast<int>(::syscall(SYS_sched_yield));
}

// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's begin with underscores
extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const int result = read_clock(clock, time);
  if (result != 0 || clock != CLOCK_MONOTONIC) return result;
  const std::chrono::nanoseconds shown = span_of(*time) - stood_still.load();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(shown);
  *time = {.tv_sec = seconds.count(), .tv_nsec = (shown - seconds).count()};
  return result;
}

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--built") {
    fmt::print("{}\n", built());
    return 0;
  }
  if (argc != 5) fail("bench/instructions starts this program");
  const int own = std::atoi(argv[1]), repetitions = std::atoi(argv[4]);
  const std::string store = argv[2];
  const Partner partner(std::atoi(argv[3]));
  if (own == 0) CALLGRIND_START_INSTRUMENTATION;
  Rank rank(own, 2, store);
  if (own == 0) {
    measured_rank(rank, partner, repetitions);
    measure_alone(store, repetitions);
  } else {
    other_rank(rank, partner, repetitions);
  }
  return 0;
}
