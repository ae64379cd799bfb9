#include "src/plan/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "src/plan/simulate.hpp"

namespace hocket {
namespace {

constexpr double close_enough = 1.03;
constexpr double hopeless = 4;
constexpr std::size_t element_bytes = 4;
constexpr std::size_t least_bytes = 64, most_bytes = std::size_t{64} << 20;

// Which candidate to take, where `before` was taken for the size before.
std::size_t choose(const Comparison& comparison, const Algorithm* before, bool keeps_built_in) {
  const std::vector<Candidate>& all = comparison.candidates;
  const auto fastest = std::ranges::min_element(all, {}, &Candidate::seconds);
  const auto close = [&](std::size_t index) {
    return index < all.size() && all[index].seconds <= close_enough * fastest->seconds;
  };
  const auto same = static_cast<std::size_t>(std::ranges::find(all, before, &Candidate::algorithm) - all.begin());
  if (close(same)) return same;
  if (keeps_built_in && close(comparison.built_in)) return comparison.built_in;
  return static_cast<std::size_t>(fastest - all.begin());
}

// Brings the times of `all` to this size, and takes out those that cannot be simulated: the last one's failure. The
// fastest ones so far come first, so that it shows early which others are hopeless.
Status simulate_all(const Network& network, std::size_t bytes, const Algorithm& built_in, const CompareOptions& options,
                    std::vector<Candidate>& all) {
  std::vector<Candidate*> order;
  for (Candidate& candidate : all) order.push_back(&candidate);
  std::ranges::stable_sort(order, {},
                           [&](const Candidate* one) { return std::pair(one->algorithm != &built_in, one->seconds); });
  Status failed;
  double best = std::numeric_limits<double>::infinity();
  for (Candidate* candidate : order) {
    candidate->left_out = options.leave_out_hopeless && candidate->seconds > hopeless * best;
    if (candidate->left_out) continue;
    if (options.progress) options.progress(*candidate->algorithm, bytes);
    const auto expected = expected_seconds(network, *candidate->algorithm, bytes);
    if (expected) {
      candidate->seconds = *expected;
      best = std::min(best, *expected);
    } else {
      failed = expected.status();
      candidate->algorithm = nullptr;
    }
  }
  std::erase_if(all, [](const Candidate& candidate) { return candidate.algorithm == nullptr; });
  return failed;
}

// Whether a rank that is no root exchanges messages with all others, though the collective does not ask for it.
bool speaks_with_all(const Algorithm& algorithm, const Network& network) {
  if (algorithm.collective->transposes()) return false;
  const Rank size = network.size();
  std::vector<bool> spoken(static_cast<std::size_t>(size));
  for (const Step& step : algorithm.write(size - 1, size, 0, network.topology()).steps) {
    if (step.peer != no_rank) spoken[static_cast<std::size_t>(step.peer)] = true;
  }
  return std::ranges::count(spoken, true) == size - 1;
}

// As the C API has it.
std::size_t count_of(const Network& network, Collective collective, std::size_t bytes) {
  const std::size_t elements = bytes / element_bytes;
  return info_of(collective).is_vector() ? elements : elements / static_cast<std::size_t>(network.size());
}

}  // namespace

Result<double> expected_seconds(const Network& network, const Algorithm& algorithm, std::size_t bytes) {
  const bool token = algorithm.collective->chunks == Chunks::token;  // of one byte
  const auto run = simulate(network, {.algorithm = &algorithm,
                                      .count = token ? 1 : count_of(network, algorithm.collective, bytes),
                                      .element_bytes = token ? 1 : element_bytes,
                                      .slice_bytes = call_slice_bytes});
  if (!run) return run.status();
  return seconds(run->time);
}

std::optional<DirectExpectation> expected_directly(const Network& network, Collective collective, std::size_t bytes,
                                                   bool registered) {
  return expect_direct(network, {.collective = collective,
                                 .ranks = network.size(),
                                 .count = count_of(network, collective, bytes),
                                 .element_bytes = element_bytes,
                                 .registered = registered});
}

Result<std::vector<Comparison>> compare_algorithms(const Network& network, Collective collective,
                                                   std::span<const std::size_t> sizes, const CompareOptions& options) {
  std::vector<Candidate> all;  // with their times at the largest size at which they were simulated
  for (const Algorithm& algorithm : catalog()) {
    if (algorithm.collective != collective || algorithm.encoded) continue;
    if (options.in_rank_order && !algorithm.in_rank_order) continue;
    if (options.leave_out_all_to_all && speaks_with_all(algorithm, network)) continue;
    all.push_back({.algorithm = &algorithm});
  }
  std::vector<Comparison> made;
  const Algorithm* before = nullptr;
  for (const std::size_t bytes : sizes) {
    const Algorithm& built_in = select_algorithm({.collective = collective,
                                                  .size = network.size(),
                                                  .bytes = bytes,
                                                  .topology = network.topology(),
                                                  .cores = network.scarce_cores(),
                                                  .in_rank_order = options.in_rank_order,
                                                  .speed = network.speed()});
    if (Status failed = simulate_all(network, bytes, built_in, options, all); all.empty()) return failed;
    Comparison comparison{.bytes = bytes, .candidates = all};
    comparison.built_in =
        static_cast<std::size_t>(std::ranges::find(all, &built_in, &Candidate::algorithm) - all.begin());
    comparison.chosen = choose(comparison, before, options.keeps_built_in);
    before = all[comparison.chosen].algorithm;
    made.push_back(std::move(comparison));
  }
  return made;
}

std::vector<std::size_t> tuning_sizes(Collective collective, Rank ranks) {
  if (info_of(collective).chunks == Chunks::token) return {0};
  std::vector<std::size_t> sizes;
  const std::size_t first = std::max(least_bytes, std::bit_ceil(element_bytes * static_cast<std::size_t>(ranks)));
  for (std::size_t bytes = first; bytes <= std::max(first, most_bytes); bytes *= 2) sizes.push_back(bytes);
  return sizes;
}

void add_ranges(std::span<const Comparison> comparisons, Collective collective, Choices& choices) {
  for (const Comparison& comparison : comparisons) {
    const bool last = &comparison == &comparisons.back();
    choices.add(collective, last ? any_bytes : comparison.bytes, comparison.candidates[comparison.chosen].algorithm);
  }
}

}  // namespace hocket
