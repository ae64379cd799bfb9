#include "bench/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>

#include "bench/calls.hpp"
#include "bench/kill.hpp"
#include "bench/use_meter.hpp"
#include "hocket/hocket.hpp"

namespace hocket::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t iterations_min = 5;
constexpr std::size_t iterations_max = 100'000;
constexpr std::size_t batches = 20;  // whose ends are waited for, of operations on a device
constexpr double slow_us = 50'000;   // after an operation this long, progress is reported each time

double microseconds(Clock::duration span) {
  return std::chrono::duration<double, std::micro>(span).count();
}

// One case on one rank. The ranks agree on what to do next through the communicator that is measured, in between the
// measured operations.
class Run {
 public:
  Run(const Member& member, const Case& what, const Method& method)
      : member_(member),
        what_(what),
        method_(method),
        buffers_(what, member.place, *member.memory),
        call_(prepare_call(what, member.place, member.comm, buffers_.send(), buffers_.recv(),
                           stream() == nullptr ? nullptr : stream()->handle())),
        meter_(member) {}

  Measurement all() {
    for (int i = 0; i < method_.checks; ++i) check_once(static_cast<std::uint64_t>(i) + 1);
    use_pattern(0);
    buffers_.poison_output();
    buffers_.write_input(*pattern_);
    warm_up();
    const std::size_t iterations = method_.iterations > 0 ? static_cast<std::size_t>(method_.iterations) : calibrate();
    Timed timed = time_operations(iterations);
    const hocket_call_info last = last_call();
    barrier();  // checking takes cores that ranks which are still timing may need
    // Back to back and in place, reductions go on from what the last one left: then there is nothing to compare with.
    if (method_.checks > 0 && (method_.fresh || !what_.in_place)) findings_ += buffers_.check(*pattern_);
    const bool on_device = stream() != nullptr;
    Measurement result = gather(on_device ? timed.batches : timed.calls, iterations);
    if (on_device) result.call_us = slowest_median(std::move(timed.calls));
    result.transport = last.transport;
    result.algorithm = last.algorithm;
    result.wire = last.wire;
    return result;
  }

 private:
  void report(const char* phase, std::size_t done, std::size_t total) const {
    if (member_.progress) member_.progress(phase, done, total);
  }

  void use_pattern(std::uint64_t salt) {
    const std::optional<ReduceOp> op = what_.collective->row->reduces() ? std::optional(what_.op) : std::nullopt;
    pattern_ = make_pattern(what_.dtype, member_.place.size, op, salt);
  }

  void operate() { check(call_(nullptr)); }
  device::Stream* stream() const { return member_.memory->stream(); }
  // Until all is done on the device, too.
  void barrier() {
    if (stream() != nullptr) stream()->finish();
    check(hocket_barrier(member_.comm, nullptr, nullptr));
  }

  void check_once(std::uint64_t salt) {
    report("check", salt - 1, static_cast<std::size_t>(method_.checks));
    use_pattern(salt);
    buffers_.poison_output();
    buffers_.write_input(*pattern_);
    operate();
    findings_ += buffers_.check(*pattern_);
  }

  // Rank 0's value on all ranks.
  std::uint64_t agree(std::uint64_t value) {
    auto shared = static_cast<std::int64_t>(value);
    check(hocket_broadcast(&shared, &shared, 1, HOCKET_INT64, 0, member_.comm, nullptr, nullptr));
    return static_cast<std::uint64_t>(shared);
  }

  double time_batch(std::size_t operations) {
    barrier();
    const auto begin = Clock::now();
    for (std::size_t i = 0; i < operations; ++i) {
      if (method_.fresh) prepare_fresh();
      operate();
    }
    barrier();
    return std::max(microseconds(Clock::now() - begin), 0.1);
  }

  // The operations first, then batches of a tenth of the time, until rank 0 finds it spent: where ranks share cores,
  // the system moves them apart in tens of milliseconds, and until then a small operation takes twice as long.
  void warm_up() {
    for (int i = 0; i < method_.warmup; ++i) {
      report("warm-up", static_cast<std::size_t>(i), static_cast<std::size_t>(method_.warmup));
      operate();
    }
    const double wanted_us = method_.warmup_seconds * 1e6;
    const auto begin = Clock::now();
    for (std::size_t batch = wanted_us > 0 ? 1 : 0; batch > 0;) {
      report("warm-up", 0, 0);
      const bool longer = time_batch(batch) * 10 < wanted_us && batch < iterations_max;
      batch = agree(microseconds(Clock::now() - begin) >= wanted_us ? 0 : longer ? batch * 2 : batch);
    }
  }

  // Times ever larger batches until one takes a tenth of the time that there is, and returns the count that fits. Each
  // is timed twice: were one interrupted for a slice of the scheduler, and taken for slow, few operations would be
  // timed.
  std::size_t calibrate() {
    const double wanted_us = method_.seconds * 1e6;
    std::size_t batch = 1;
    while (true) {
      report("calibration", 0, 0);
      const double first_us = time_batch(batch), spent_us = std::min(first_us, time_batch(batch));
      const double fitting = std::ceil(wanted_us / spent_us * static_cast<double>(batch));
      const auto count = static_cast<std::size_t>(
          std::clamp(fitting, static_cast<double>(iterations_min), static_cast<double>(iterations_max)));
      const bool enough = spent_us * 10 >= wanted_us || batch >= iterations_max;
      const std::uint64_t decision = agree(enough ? count : 0);
      if (decision > 0) return decision;
      batch = agree(std::min(batch * 4, iterations_max));
    }
  }

  // What one operation took; on a device, until its stream was done with a batch of them, shared out among them. An
  // event of the device's that tells the time for each would cost far more than most operations (decision 58).
  struct Timed {
    std::vector<double> calls, batches;
  };

  Timed time_operations(std::size_t iterations) {
    Timed timed{std::vector<double>(iterations), {}};
    std::vector<double>& times = timed.calls;
    barrier();
    if (method_.fresh) {
      for (std::size_t i = 0; i < iterations; ++i) times[i] = time_fresh(i, iterations, timed.batches);
      return timed;
    }
    const std::size_t batch = std::max<std::size_t>(iterations / batches, 1);
    meter_.start();
    auto begin = Clock::now(), began_batch = begin;
    for (std::size_t i = 0; i < iterations; ++i) {
      if (member_.killing != nullptr) member_.killing->before_operation(member_.comm, member_.place);
      operate();
      const auto end = Clock::now();
      times[i] = microseconds(end - begin);
      begin = end;
      if (stream() != nullptr && (i + 1) % batch == 0) {
        timed.batches.push_back(microseconds_until_done(began_batch) / static_cast<double>(batch));
        begin = began_batch = Clock::now();
      }
      if (i % 256 == 0 || times[i] > slow_us) {
        const auto before = Clock::now();
        report("timing", i + 1, iterations);
        begin = Clock::now();
        began_batch += begin - before;
      }
    }
    meter_.stop();
    return timed;
  }

  double microseconds_until_done(Clock::time_point began) const {
    stream()->finish_at_once();
    return microseconds(Clock::now() - began);
  }

  // An input that the call ignores is left alone: writing it would drive the others' out of the caches that ranks
  // share.
  void prepare_fresh() {
    if (!ignores_send(what_, member_.place)) buffers_.write_input(*pattern_);
    barrier();  // nobody waits for this library while ranks meet elsewhere
    if (member_.pacer) member_.pacer();
  }

  double time_fresh(std::size_t done, std::size_t total, std::vector<double>& of_device) {
    report("timing", done, total);
    prepare_fresh();
    if (member_.killing != nullptr) member_.killing->before_operation(member_.comm, member_.place);
    meter_.start();
    const auto begin = Clock::now();
    operate();
    const auto end = Clock::now();
    if (stream() != nullptr) of_device.push_back(microseconds_until_done(begin));
    meter_.stop();
    return microseconds(end - begin);
  }

  // All ranks' `mine` on rank 0, one rank after another; empty elsewhere. Gathers only: were sums taken here by the
  // reductions that are measured, a wrong one could hide its own errors.
  template <class T>
  std::vector<T> gather_all(const std::vector<T>& mine) {
    std::vector<T> all(member_.place.rank == 0 ? mine.size() * static_cast<std::size_t>(member_.place.size) : 0);
    check(hocket_gather(mine.data(), all.data(), mine.size(), dtype_of<T>(), 0, member_.comm, nullptr, nullptr));
    return all;
  }

  // On rank 0.
  double slowest_median(std::vector<double> times) {
    const std::vector<double> all = gather_all(std::vector<double>{summarize(std::move(times)).p50});
    return all.empty() ? 0 : std::ranges::max(all);
  }

  // `times`: of operations, or of batches of them.
  Measurement gather(const std::vector<double>& times, std::size_t operations) {
    Measurement result;
    result.iterations = operations;
    const Use& used = meter_.used();
    const std::vector<double> all_times = gather_all(times);
    const std::vector<double> all_cpu = gather_all(std::vector<double>{used.cpu_us});
    const std::vector<std::int64_t> mine = {
        static_cast<std::int64_t>(used.steps), static_cast<std::int64_t>(used.bytes_sent),
        static_cast<std::int64_t>(findings_.wrong), static_cast<std::int64_t>(findings_.out_of_bounds)};
    const std::vector<std::int64_t> all_counts = gather_all(mine);
    if (member_.place.rank != 0) return result;

    const auto iterations = static_cast<double>(operations);
    std::vector<double> slowest(times.size(), 0.0);
    double longest = 0, sum = 0;
    for (std::size_t i = 0; i < all_times.size(); ++i) {
      double& entry = slowest[i % times.size()];
      entry = std::max(entry, all_times[i]);
      sum = i % times.size() == 0 ? all_times[i] : sum + all_times[i];
      longest = std::max(longest, sum);
    }
    result.time_us = summarize(std::move(slowest));
    result.time_us.mean = longest / static_cast<double>(times.size());
    const bool in_bursts = what_.collective->comes_in_bursts() && !method_.fresh;
    result.typical_us = in_bursts ? result.time_us.mean : result.time_us.p50;
    for (const double cpu : all_cpu) result.cpu_us_per_op += cpu / iterations;
    for (std::size_t i = 0; i < all_counts.size(); i += mine.size()) {
      result.steps_per_rank = std::max(result.steps_per_rank, static_cast<double>(all_counts[i]) / iterations);
      result.bytes_sent_per_rank =
          std::max(result.bytes_sent_per_rank, static_cast<double>(all_counts[i + 1]) / iterations);
      result.findings.wrong += static_cast<std::uint64_t>(all_counts[i + 2]);
      result.findings.out_of_bounds += static_cast<std::uint64_t>(all_counts[i + 3]);
    }
    return result;
  }

  const Member& member_;
  const Case& what_;
  const Method& method_;
  Buffers buffers_;
  const Call call_;
  std::unique_ptr<Pattern> pattern_;
  UseMeter meter_;
  Findings findings_;
};

}  // namespace

Measurement measure(const Member& member, const Case& what, const Method& method) {
  return Run(member, what, method).all();
}

Times summarize(std::vector<double> values) {
  std::ranges::sort(values);
  const auto percentile = [&values](double fraction) {
    const double nearest = std::ceil(fraction * static_cast<double>(values.size()));
    return values[static_cast<std::size_t>(std::max(nearest, 1.0)) - 1];
  };
  return {values.front(), percentile(0.50), percentile(0.90), percentile(0.99), values.back(), 0};
}

}  // namespace hocket::bench
