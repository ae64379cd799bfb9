// Copies from one core to another through a ring in memory, as messages and staging areas make them: with ordinary
// stores, with streaming ones, and as SharedCopy chooses. Bytes per second count what has been read at the other end.
// `line`: how long it takes to pass one cache line to the other core and back. `lines_ahead`: a line for each message
// of 8 bytes, the number of the message in it, and the writer up to a ring of lines ahead: the limit of a small call
// that goes one way. The two are the first two cores that this process may run on.
#include <benchmark/benchmark.h>
#include <emmintrin.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <stop_token>
#include <thread>
#include <vector>

#include "src/base/copy_bytes.hpp"
#include "src/base/copy_streaming.hpp"
#include "src/base/shared_copy.hpp"

namespace hocket {
namespace {

constexpr std::size_t ring_bytes = std::size_t{256} << 10;  // about as in transports/shm

cpu_set_t cores_of_process() {
  cpu_set_t cores;
  ::sched_getaffinity(0, sizeof cores, &cores);
  return cores;
}

// The `index`-th core of those that the process could run on when this was first called.
void run_on(std::size_t index) {
  static const cpu_set_t allowed = cores_of_process();
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed) && index-- == 0) CPU_SET(core, &one);
  }
  ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
}

// Counted by one side, awaited by the other.
struct alignas(64) Count {
  std::atomic<std::size_t> value{0};

  void wait_for(std::size_t least) const {
    while (value.load(std::memory_order_acquire) < least) _mm_pause();
  }
};

// The other end: takes piece after piece out of the ring until it is told to end.
class Reader {
 public:
  explicit Reader(std::size_t piece) : piece_(piece), to_(piece) {}
  ~Reader() {
    ends_ = true;
    written_.value.fetch_add(1, std::memory_order_release);
    thread_.join();
  }

  // Calls `write` with where the next piece is to lie, once there is room.
  template <class Write>
  void take(const Write& write) {
    const std::size_t number = written_.value.load(std::memory_order_relaxed), pieces = ring_bytes / piece_;
    if (number >= pieces) read_.wait_for(number - pieces + 1);
    write(ring_.get() + number % pieces * piece_);
    written_.value.store(number + 1, std::memory_order_release);
  }
  void wait_for_all() { read_.wait_for(written_.value.load(std::memory_order_relaxed)); }

 private:
  struct Delete {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t(4096)); }
  };

  void read_all() {
    run_on(1);
    for (std::size_t number = 0;; ++number) {
      written_.wait_for(number + 1);
      if (ends_) return;
      copy_bytes(to_.data(), ring_.get() + number % (ring_bytes / piece_) * piece_, piece_);
      read_.value.store(number + 1, std::memory_order_release);
    }
  }

  const std::size_t piece_;
  std::vector<std::byte> to_;
  std::unique_ptr<std::byte[], Delete> ring_{new (std::align_val_t(4096)) std::byte[ring_bytes]{}};
  Count written_, read_;
  std::atomic<bool> ends_{false};
  std::thread thread_{[this] { read_all(); }};
};

template <class Copy>
void copy_through_ring(benchmark::State& state, Copy copy) {
  run_on(0);
  const auto piece = static_cast<std::size_t>(state.range(0));
  const std::vector<std::byte> from(piece, std::byte{1});
  Reader reader(piece);
  for (auto _ : state) reader.take([&](std::byte* to) { copy(to, from.data(), piece); });
  reader.wait_for_all();
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void line(benchmark::State& state) {
  run_on(0);
  Reader reader(64);
  for (auto _ : state) {
    reader.take([](std::byte* to) { *to = std::byte{1}; });
    reader.wait_for_all();
  }
}

// As control lines and rings have it: who reads a line sees by its number that it has come, and says now and then how
// far it has read.
void lines_ahead(benchmark::State& state) {
  run_on(0);
  constexpr std::size_t lines = 64, lines_between_words = lines / 4;
  struct alignas(64) Line {
    std::atomic<std::size_t> number{0};
    std::size_t payload = 0;
  };
  const auto ring = std::make_unique<Line[]>(lines);
  Count read;
  std::jthread reader([&](const std::stop_token& over) {
    run_on(1);
    for (std::size_t number = 1, sum = 0;; ++number) {
      const Line& line = ring[number % lines];
      while (line.number.load(std::memory_order_acquire) != number) {
        if (over.stop_requested()) return;
        _mm_pause();
      }
      benchmark::DoNotOptimize(sum += line.payload);
      if (number % lines_between_words == 0) read.value.store(number, std::memory_order_release);
    }
  });
  std::size_t number = 0, known = 0;
  for (auto _ : state) {
    ++number;
    if (number > known + lines) {
      read.wait_for(number - lines);
      known = read.value.load(std::memory_order_acquire);
    }
    Line& line = ring[number % lines];
    line.payload = number;
    line.number.store(number, std::memory_order_release);
  }
}

void through_ring(benchmark::internal::Benchmark* benchmark) {
  benchmark->RangeMultiplier(4)->Range(1 << 10, 64 << 10)->UseRealTime();
}

BENCHMARK(line)->UseRealTime();
BENCHMARK(lines_ahead)->UseRealTime();
BENCHMARK_CAPTURE(copy_through_ring, ordinary, copy_bytes)->Apply(through_ring);
BENCHMARK_CAPTURE(copy_through_ring, streaming, copy_streaming)->Apply(through_ring);
BENCHMARK_CAPTURE(copy_through_ring, chosen,
                  [copy = SharedCopy()](std::byte* to, const std::byte* from, std::size_t bytes) mutable {
                    copy.copy(to, from, bytes, SharedCopy::Traffic::one_way);
                  })
    ->Apply(through_ring);

}  // namespace
}  // namespace hocket
