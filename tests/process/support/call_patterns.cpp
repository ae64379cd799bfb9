#include "tests/process/support/call_patterns.hpp"

#include <cstdint>
#include <memory>
#include <ostream>

#include "tests/process/support/call.hpp"
#include "tests/process/support/unequal_call.hpp"

namespace hocket::process_testing {
namespace {

constexpr std::size_t large = 300'000;

// Buffers that live as long as the process: what breaks may leave nothing behind, but they cost time to make.
std::vector<std::int32_t>& values() {
  static std::vector<std::int32_t> kept(2 * large, 1);
  return kept;
}

// ---- messages

// To the next rank, from the one before.
hocket_result ring(const Round& round, std::size_t count) {
  const int next = (round.rank + 1) % round.size, before = (round.rank + round.size - 1) % round.size;
  return hocket_sendrecv(values().data(), count, next, values().data() + count, count, before, HOCKET_INT32, round.comm,
                         &round.options, nullptr);
}

// From rank 0 to the last, one after the other; no rank but the last ever waits for one that comes after it, unless
// that does not take what it is sent.
hocket_result chain(const Round& round) {
  hocket_result result = HOCKET_OK;
  if (round.rank > 0) {
    result = hocket_recv(values().data(), 1000, HOCKET_INT32, round.rank - 1, round.comm, &round.options, nullptr);
  }
  if (result == HOCKET_OK && round.rank + 1 < round.size) {
    result = hocket_send(values().data(), 1000, HOCKET_INT32, round.rank + 1, round.comm, &round.options, nullptr);
  }
  return result;
}

// Rank 0 takes what comes from the others, and answers all of them when it has heard of all.
hocket_result master_and_workers(const Round& round) {
  std::int32_t* const data = values().data();
  if (round.rank != 0) {
    const hocket_result sent = hocket_send(data, 10, HOCKET_INT32, 0, round.comm, &round.options, nullptr);
    if (sent != HOCKET_OK) return sent;
    return hocket_recv(data, 10, HOCKET_INT32, 0, round.comm, &round.options, nullptr);
  }
  hocket_result result = HOCKET_OK;
  for (int i = 1; result == HOCKET_OK && i < round.size; ++i) {
    std::int32_t source = -1;
    result = hocket_recv_any(data, 10, HOCKET_INT32, &source, round.comm, &round.options, nullptr);
  }
  for (int i = 1; result == HOCKET_OK && i < round.size; ++i) {
    result = hocket_send(data, 10, HOCKET_INT32, i, round.comm, &round.options, nullptr);
  }
  return result;
}

hocket_result ring_and_allreduce(const Round& round) {
  const hocket_result result = ring(round, 10);
  if (result != HOCKET_OK) return result;
  return hocket_allreduce(values().data(), values().data(), 5, HOCKET_INT32, HOCKET_MAX, round.comm, &round.options,
                          nullptr);
}

// ---- collectives

// The buffers of a case are made at the first round.
Pattern repeated(const char* name, const Case& what) {
  auto call = std::make_shared<std::unique_ptr<Call>>();
  return {name, [what, call](const Round& round) {
            if (!*call) *call = std::make_unique<Call>(what, round.rank, round.size);
            return (*call)->issue(round.comm, nullptr, &round.options);
          }};
}

Pattern repeated(const char* name, const UnequalCase& what) {
  auto call = std::make_shared<std::unique_ptr<UnequalCall>>();
  return {name, [what, call](const Round& round) {
            if (!*call) *call = std::make_unique<UnequalCall>(what, round.rank, round.size);
            return (*call)->issue(round.comm, nullptr, &round.options);
          }};
}

}  // namespace

void PrintTo(const Pattern& pattern, std::ostream* out) {
  *out << pattern.name;
}

std::vector<Pattern> call_patterns() {
  using enum Collective;
  std::vector<Pattern> all = {
      {"ring", [](const Round& round) { return ring(round, 1); }},
      {"large_ring", [](const Round& round) { return ring(round, large); }},
      {"chain", chain},
      {"master_and_workers", master_and_workers},
      {"ring_and_allreduce", ring_and_allreduce},
      repeated("broadcast", Case{.collective = broadcast, .count = 2000, .root = 1}),
      repeated("reduce", Case{.collective = reduce, .count = 2000, .root = 1}),
      repeated("scatter", Case{.collective = scatter, .count = 500, .root = 1}),
      repeated("gather", Case{.collective = gather, .count = 500, .root = 1}),
      repeated("scan", Case{.collective = scan, .count = 1000}),
      repeated("exscan", Case{.collective = exscan, .count = 1000}),
      repeated("allreduce", Case{.collective = allreduce, .count = 10}),
      repeated("large_allreduce", Case{.collective = allreduce, .count = large}),
      repeated("allgather", Case{.collective = allgather, .count = 2000}),
      repeated("reduce_scatter", Case{.collective = reduce_scatter, .count = 2000}),
      repeated("alltoall", Case{.collective = alltoall, .count = 500}),
      repeated("barrier", Case{.collective = barrier}),
      repeated("allgather_v", UnequalCase{.collective = allgather_v, .scale = 500}),
      repeated("reduce_scatter_v", UnequalCase{.collective = reduce_scatter_v, .scale = 500}),
      repeated("alltoall_v", UnequalCase{.collective = alltoall_v, .scale = 500}),
      repeated("scatter_v", UnequalCase{.collective = scatter_v, .scale = 500, .root = 1}),
      repeated("gather_v", UnequalCase{.collective = gather_v, .scale = 500, .root = 1}),
  };
  // Blocks that all know may be empty.
  const std::set<std::string> ahead{"chain",  "broadcast",   "reduce",           "scatter",   "gather",  "scan",
                                    "exscan", "allgather_v", "reduce_scatter_v", "scatter_v", "gather_v"};
  for (Pattern& pattern : all) pattern.runs_ahead = ahead.contains(pattern.name);
  return all;
}

std::vector<Pattern> call_patterns(const std::set<std::string>& names) {
  std::vector<Pattern> chosen = call_patterns();
  std::erase_if(chosen, [&](const Pattern& pattern) { return !names.contains(pattern.name); });
  return chosen;
}

}  // namespace hocket::process_testing
