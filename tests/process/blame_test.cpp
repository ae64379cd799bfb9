// A rank that is stopped or killed at any moment is the one that all others name, also those that wait for it through
// others only; and all agree on who saw it first.
#include <signal.h>

#include <chrono>
#include <functional>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"
#include "tests/process/support/process_group.hpp"

namespace hocket::process_testing {
namespace {

// What all ranks do again and again; the result of one round.
struct Pattern {
  const char* name;
  std::function<hocket_result(const Child&, hocket_comm*, std::vector<int>&, const hocket_call_options&)> round;
};

void PrintTo(const Pattern& pattern, std::ostream* out) {
  *out << pattern.name;
}

constexpr std::size_t large = 300'000;

// To the next rank, from the one before.
hocket_result ring(const Child& child, hocket_comm* comm, std::vector<int>& values, std::size_t count,
                   const hocket_call_options& options) {
  const int next = (child.index + 1) % child.size, before = (child.index + child.size - 1) % child.size;
  return hocket_sendrecv(values.data(), count, next, values.data() + count, count, before, HOCKET_INT32, comm, &options,
                         nullptr);
}

// From rank 0 to the last, one after the other; no rank but the last ever waits for one that comes after it, unless
// that does not take what it is sent.
hocket_result chain(const Child& child, hocket_comm* comm, std::vector<int>& values, std::size_t count,
                    const hocket_call_options& options) {
  hocket_result result = HOCKET_OK;
  if (child.index > 0) {
    result = hocket_recv(values.data(), count, HOCKET_INT32, child.index - 1, comm, &options, nullptr);
  }
  if (result == HOCKET_OK && child.index + 1 < child.size) {
    result = hocket_send(values.data(), count, HOCKET_INT32, child.index + 1, comm, &options, nullptr);
  }
  return result;
}

// Rank 0 takes what comes from the others, and answers all of them when it has heard of all.
hocket_result master_and_workers(const Child& child, hocket_comm* comm, std::vector<int>& values,
                                 const hocket_call_options& options) {
  if (child.index != 0) {
    const hocket_result sent = hocket_send(values.data(), 10, HOCKET_INT32, 0, comm, &options, nullptr);
    if (sent != HOCKET_OK) return sent;
    return hocket_recv(values.data(), 10, HOCKET_INT32, 0, comm, &options, nullptr);
  }
  hocket_result result = HOCKET_OK;
  for (int i = 1; result == HOCKET_OK && i < child.size; ++i) {
    std::int32_t source = -1;
    result = hocket_recv_any(values.data(), 10, HOCKET_INT32, &source, comm, &options, nullptr);
  }
  for (int i = 1; result == HOCKET_OK && i < child.size; ++i) {
    result = hocket_send(values.data(), 10, HOCKET_INT32, i, comm, &options, nullptr);
  }
  return result;
}

std::vector<Pattern> patterns() {
  return {
      {"ring", [](const Child& child, hocket_comm* comm, std::vector<int>& values,
                  const hocket_call_options& options) { return ring(child, comm, values, 1, options); }},
      {"large_ring", [](const Child& child, hocket_comm* comm, std::vector<int>& values,
                        const hocket_call_options& options) { return ring(child, comm, values, large, options); }},
      {"chain", [](const Child& child, hocket_comm* comm, std::vector<int>& values,
                   const hocket_call_options& options) { return chain(child, comm, values, 1000, options); }},
      {"broadcast",
       [](const Child&, hocket_comm* comm, std::vector<int>& values, const hocket_call_options& options) {
         return hocket_broadcast(values.data(), values.data(), 2000, HOCKET_INT32, 1, comm, &options, nullptr);
       }},
      {"reduce",
       [](const Child&, hocket_comm* comm, std::vector<int>& values, const hocket_call_options& options) {
         return hocket_reduce(values.data(), values.data() + large, 2000, HOCKET_INT32, HOCKET_MAX, 1, comm, &options,
                              nullptr);
       }},
      {"allreduce",
       [](const Child&, hocket_comm* comm, std::vector<int>& values, const hocket_call_options& options) {
         return hocket_allreduce(values.data(), values.data(), large, HOCKET_INT32, HOCKET_MAX, comm, &options,
                                 nullptr);
       }},
      {"master_and_workers", master_and_workers},
      {"ring_and_allreduce",
       [](const Child& child, hocket_comm* comm, std::vector<int>& values, const hocket_call_options& options) {
         const hocket_result result = ring(child, comm, values, 10, options);
         if (result != HOCKET_OK) return result;
         return hocket_allreduce(values.data(), values.data(), 5, HOCKET_INT32, HOCKET_MAX, comm, &options, nullptr);
       }},
  };
}

class Blame : public testing::TestWithParam<std::tuple<std::string, int, Pattern>> {
 protected:
  const std::string& transport() const { return std::get<0>(GetParam()); }
  int size() const { return std::get<1>(GetParam()); }

  // Each rank says how its communicator ended.
  void body(Child& child, int victim) const {
    hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
    options.transport = transport().c_str();
    const Comm comm(&options);
    ASSERT_TRUE(comm);
    hocket_call_options call = HOCKET_CALL_OPTIONS_INIT;
    call.timeout_ms = child.index == victim ? 0 : 1000;
    std::vector<int> values(2 * large, 1);
    hocket_result result = HOCKET_OK;
    for (int rounds = 1; result == HOCKET_OK; ++rounds) {
      result = std::get<2>(GetParam()).round(child, comm.get(), values, call);
      if (rounds == 3) child.say("looping");
    }
    const hocket_cause cause = last_cause();
    child.say(std::string(hocket_result_name(result)) + " of rank " + std::to_string(cause.peer) + ", seen by " +
              std::to_string(cause.rank) + ": " + cause.message);
    (void)child.hear();  // stays until all have looked
  }

  // What the others say, who must agree on the rank and, where all are connected with each other, in every word.
  std::string verdict_on(int victim, int number) {
    ProcessGroup group(size(), [&](Child& child) { body(child, victim); });
    group.hear_from_all("looping");
    std::this_thread::sleep_for(std::chrono::microseconds(std::uniform_int_distribution<>(0, 20'000)(random_)));
    group.signal(victim, number);
    std::vector<std::string> said;
    for (int index = 0; index < size(); ++index) {
      if (index != victim) said.push_back(group.hear(index));
    }
    for (int index = 0; index < size(); ++index) group.tell(index, "leave");
    if (number == SIGSTOP) group.signal(victim, SIGCONT);
    group.expect_success(number == SIGKILL ? victim : -1);
    EXPECT_THAT(said, testing::Each(testing::HasSubstr("of rank " + std::to_string(victim) + ",")));
    if (transport() == "auto") {
      EXPECT_THAT(said, testing::Each(said.front()));
    }
    return said.front();
  }

  std::mt19937 random_{std::random_device{}()};
};

TEST_P(Blame, FallsOnTheRankThatIsStopped) {
  for (int victim = 0; victim < size(); ++victim) {
    SCOPED_TRACE("victim " + std::to_string(victim));
    EXPECT_THAT(verdict_on(victim, SIGSTOP), testing::HasSubstr("TIMEOUT"));
    if (HasFailure()) return;
  }
}

TEST_P(Blame, FallsOnTheRankThatIsKilled) {
  for (int victim = 0; victim < size(); ++victim) {
    SCOPED_TRACE("victim " + std::to_string(victim));
    EXPECT_THAT(verdict_on(victim, SIGKILL), testing::HasSubstr("PEER_LOST"));
    if (HasFailure()) return;
  }
}

std::string name_of_case(const testing::TestParamInfo<std::tuple<std::string, int, Pattern>>& of) {
  return std::get<0>(of.param) + "_" + std::to_string(std::get<1>(of.param)) + "_" + std::get<2>(of.param).name;
}

INSTANTIATE_TEST_SUITE_P(Over, Blame,
                         testing::Combine(testing::Values("tcp", "auto"), testing::Values(3, 5),
                                          testing::ValuesIn(patterns())),
                         name_of_case);

}  // namespace
}  // namespace hocket::process_testing
