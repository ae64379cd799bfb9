#include "tools/plan/probe_direct.hpp"

#include <algorithm>

#include "src/plan/direct/cost.hpp"

namespace hocket {
namespace {

constexpr Rank pair = 2;

DirectTerms terms_of(Collective collective, std::size_t bytes, DirectPath path) {
  return direct_terms({.collective = collective, .ranks = pair, .count = bytes, .element_bytes = 1}, path, false);
}

// What `measured` leaves when all that `cost` knows by now is taken off. Costs that are not known yet are 0.
double rest(const Figure& measured, const DirectCost& cost, Collective collective, std::size_t bytes, DirectPath path) {
  NetworkDescription description{.kind = NetworkKind::hosts, .ranks = pair, .ranks_per_host = pair, .direct = cost};
  const auto network = Network::make(description);
  if (!network) return 0;
  const auto known =
      expect_direct(*network, {.collective = collective, .ranks = pair, .count = bytes, .element_bytes = 1}, path);
  return known ? std::max(measured.value - known->seconds, 0.0) : 0;
}

}  // namespace

DirectCost direct_cost_of(const DirectFigures& figures) {
  constexpr double usual_cache_bytes = 1 << 20, cache_bytes_max = 3.0 * DirectFigures::far_bytes - 1;
  constexpr std::size_t near_bytes = DirectFigures::near_bytes, far_bytes = DirectFigures::far_bytes;
  DirectCost cost;
  const double lines = terms_of(Collective::allreduce, DirectFigures::small_bytes, DirectPath::one_shot).other.lines;
  cost.call = std::min(figures.ahead.value, figures.small.value);
  cost.line = std::clamp(figures.behind.value - cost.call, 0.0, (figures.small.value - cost.call) / lines);
  cost.flag = figures.small.value - cost.call - lines * cost.line;
  cost.wake = std::max(figures.one_core.value / pair - cost.call - lines * cost.line, 0.0);

  // What was measured as near must count as such, and what was measured as far, too.
  cost.cache_bytes = figures.cache_bytes > 0 ? figures.cache_bytes : usual_cache_bytes;
  cost.cache_bytes = std::clamp(cost.cache_bytes, 3.0 * DirectFigures::near_bytes, cache_bytes_max);
  const auto solve = [&](const Figure& gather, const Figure& reduce, std::size_t bytes, DirectPath path, double& copy,
                         double& combine) {
    copy = rest(gather, cost, Collective::allgather, bytes, path) /
           terms_of(Collective::allgather, bytes, path).other.copied;
    combine = rest(reduce, cost, Collective::allreduce, bytes, path) /
              terms_of(Collective::allreduce, bytes, path).other.combined;
  };
  solve(figures.gather, figures.reduce, near_bytes, DirectPath::one_shot, cost.copy_per_byte, cost.reduce_per_byte);
  solve(figures.far_gather, figures.far_reduce, far_bytes, DirectPath::staged, cost.far_copy_per_byte,
        cost.far_reduce_per_byte);

  cost.reads_plain_memory = figures.read.value > 0;
  if (!cost.reads_plain_memory) return cost;
  constexpr std::size_t long_bytes = DirectFigures::read_bytes;
  const double few = rest(figures.read, cost, Collective::allgather, near_bytes, DirectPath::single_copy);
  const double many = rest(figures.long_read, cost, Collective::allgather, long_bytes, DirectPath::single_copy);
  const DirectWork short_read = terms_of(Collective::allgather, near_bytes, DirectPath::single_copy).other;
  const DirectWork long_read = terms_of(Collective::allgather, long_bytes, DirectPath::single_copy).other;
  // few = reads · read + bytes · read_per_byte, and likewise many.
  const double determinant = short_read.reads * long_read.read - long_read.reads * short_read.read;
  cost.read_per_byte = std::max(short_read.reads * many - long_read.reads * few, 0.0) / determinant;
  cost.read = std::max(few - short_read.read * cost.read_per_byte, 0.0) / short_read.reads;
  return cost;
}

std::vector<std::pair<std::string_view, Figure>> named(const DirectFigures& figures) {
  return {{"an allreduce of 64 bytes", figures.small},           {"  both ranks on one core", figures.one_core},
          {"a broadcast of 8 bytes, its root", figures.ahead},   {"  a rank that finds it ready", figures.behind},
          {"an allgather, 64 KiB from each", figures.gather},    {"an allreduce of 64 KiB", figures.reduce},
          {"an allgather, 2 MiB from each", figures.far_gather}, {"an allreduce of 2 MiB", figures.far_reduce},
          {"an allgather by reading, 64 KiB", figures.read},     {"  512 KiB from each", figures.long_read}};
}

}  // namespace hocket
