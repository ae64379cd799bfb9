#include "tests/chaos/calls.hpp"

#include <array>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/unequal_call.hpp"
#include "tests/process/support/vector_call.hpp"

namespace hocket::chaos {
namespace {

using process_testing::Call;
using process_testing::Case;
using process_testing::Memory;
using process_testing::Sizes;
using process_testing::UnequalCall;
using process_testing::UnequalCase;
using process_testing::VectorCall;

// A rank's view of a communicator.
struct Place {
  hocket_comm* comm;
  Asked& asked;
  Rank rank = 0, size = 1;

  Place(hocket_comm* of, Asked& when) : comm(of), asked(when) {
    hocket_comm_rank(of, &rank);
    hocket_comm_size(of, &size);
  }
};

Case drawn_case(Random& random, Rank size, std::uint64_t salt, Style style) {
  constexpr std::array collectives{Collective::allreduce,      Collective::reduce,    Collective::allgather,
                                   Collective::reduce_scatter, Collective::broadcast, Collective::scatter,
                                   Collective::gather,         Collective::alltoall,  Collective::barrier,
                                   Collective::scan,           Collective::exscan};
  constexpr std::array types{DataType::float32, DataType::int32, DataType::float64, DataType::uint8,
                             DataType::bfloat16};
  Case made{.collective = random.one_of(collectives),
            .count = static_cast<std::size_t>(random.one_of(std::array{1, 7, 300, 5000})),
            .dtype = random.one_of(types),
            .op = random.one_of(std::array{ReduceOp::sum, ReduceOp::max}),
            .root = random.between(0, size - 1),
            .salt = salt};
  if (style == Style::large) made.count = static_cast<std::size_t>(random.between(50'000, 200'000));
  return made;
}

template <class Made>
hocket_result run(Made call, const Place& place) {
  place.asked.now();
  const hocket_result result = call.issue(place.comm);
  if (result == HOCKET_OK) call.expect_correct();
  return result;
}

hocket_result run_collective(const Place& place, Random& random, std::uint64_t salt, Style style) {
  if (random.between(0, 4) > 0) {
    return run(Call(drawn_case(random, place.size, salt, style), place.rank, place.size), place);
  }
  constexpr std::array collectives{Collective::allgather_v, Collective::alltoall_v, Collective::reduce_scatter_v,
                                   Collective::scatter_v, Collective::gather_v};
  const UnequalCase made{.collective = random.one_of(collectives),
                         .sizes = random.one_of(std::array{Sizes::one_has_all, Sizes::random}),
                         .scale = static_cast<std::size_t>(random.between(1, 2000)),
                         .root = random.between(0, place.size - 1),
                         .salt = salt};
  return run(UnequalCall(made, place.rank, place.size), place);
}

hocket_result wait_and_release(hocket_work* work) {
  const hocket_result result = hocket_work_wait(work, 0);
  hocket_work_release(work);
  return result;
}

// To a rank at a distance that the seed says, and from the rank at that distance.
hocket_result run_messages(const Place& place, Random& random) {
  const auto count = static_cast<std::size_t>(random.one_of(std::array{1, 100, 20'000}));
  const int distance = random.between(1, std::max(place.size - 1, 1));
  if (place.size == 1) return HOCKET_OK;
  const Rank to = (place.rank + distance) % place.size, from = (place.rank + place.size - distance) % place.size;
  const std::vector<std::int32_t> sent(count, place.rank * 1000 + distance);
  std::vector<std::int32_t> received(count, -1);
  hocket_work* work = nullptr;
  EXPECT_EQ(hocket_group_start(), HOCKET_OK);
  place.asked.now();
  hocket_send(sent.data(), count, HOCKET_INT32, to, place.comm, nullptr, nullptr);
  hocket_recv(received.data(), count, HOCKET_INT32, from, place.comm, nullptr, nullptr);
  hocket_result result = hocket_group_end(&work);
  if (result == HOCKET_OK) result = wait_and_release(work);
  if (result == HOCKET_OK) {
    EXPECT_EQ(received, std::vector<std::int32_t>(count, from * 1000 + distance)) << "a message from rank " << from;
  }
  return result;
}

// Several that run at the same time.
hocket_result run_works(const Place& place, Random& random, std::uint64_t salt, Style style) {
  std::vector<Call> calls;
  std::vector<hocket_work*> works;
  const int number = random.between(2, 5);
  calls.reserve(static_cast<std::size_t>(number));
  hocket_result result = HOCKET_OK;
  for (int index = 0; index < number && result == HOCKET_OK; ++index) {
    calls.emplace_back(drawn_case(random, place.size, salt + static_cast<std::uint64_t>(index), style), place.rank,
                       place.size);
    hocket_work* work = nullptr;
    place.asked.now();
    result = calls.back().issue(place.comm, &work);
    if (result == HOCKET_OK) works.push_back(work);
  }
  for (std::size_t index = 0; index < works.size(); ++index) {
    if (result == HOCKET_OK) place.asked.now();
    const hocket_result ended = wait_and_release(works[index]);
    if (ended == HOCKET_OK) calls[index].expect_correct();
    if (result == HOCKET_OK) result = ended;
  }
  return result;
}

hocket_result run_registered(const Place& place, Random& random) {
  const VectorCall call(static_cast<std::size_t>(random.between(50'000, 2'000'000)), Memory::registered);
  place.asked.now();
  const hocket_result result = call.issue(place.comm);
  if (result == HOCKET_OK) call.expect_sum(place.size);
  return result;
}

hocket_result run_split(const Place& place, Random& random, std::uint64_t salt, bool own_links) {
  hocket_split_options options = HOCKET_SPLIT_OPTIONS_INIT;
  options.share_links = own_links ? random.between(0, 1) : 1;
  const int colors = random.between(1, 3);
  hocket_comm* child = nullptr;
  place.asked.now();
  const hocket_result result = hocket_comm_split(place.comm, place.rank % colors, -place.rank, &child, &options);
  if (result != HOCKET_OK) return result == hocket_comm_status(place.comm) ? result : HOCKET_OK;
  const Place within(child, place.asked);
  for (std::uint64_t index = 0; index < 2; ++index) {
    Random calls(salt + index);
    if (run_collective(within, calls, salt + index, Style::splits) != HOCKET_OK) break;
  }
  hocket_comm_destroy(child);
  return HOCKET_OK;
}

}  // namespace

hocket_result make_calls(const Plan& plan, hocket_comm* comm, std::uint64_t salt, Asked& asked) {
  Random random(plan.seed * 1'000'003 + salt);
  const Place place(comm, asked);
  const int late = random.between(0, 15), by = random.between(0, 4000);
  if (late == place.rank) std::this_thread::sleep_for(std::chrono::microseconds(by));
  Style style = plan.style;
  if (style == Style::everything) style = static_cast<Style>(random.between(0, static_cast<int>(Style::registered)));
  switch (style) {
    case Style::messages: return run_messages(place, random);
    case Style::works: return run_works(place, random, salt, style);
    case Style::splits: return run_split(place, random, salt, plan.own_links);
    case Style::registered: return run_registered(place, random);
    default: return run_collective(place, random, salt, style);
  }
}

}  // namespace hocket::chaos
