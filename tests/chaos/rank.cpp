#include "tests/chaos/rank.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "tests/chaos/calls.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/connections.hpp"
#include "tests/process/support/failure.hpp"

namespace hocket::chaos {
namespace {

using process_testing::Child;
using process_testing::Comm;

std::int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

// Does what the parent says, at the moment when it says so.
class Orders {
 public:
  explicit Orders(Child& child) : child_(child), thread_([this] { follow(); }) {}

  bool ends() const { return ends_; }
  // Until nobody needs this rank any more.
  void wait_for_leave() { thread_.join(); }

 private:
  void follow() {
    for (std::string order; order != "leave";) {
      order = child_.hear();
      if (order.empty()) return;
      if (order == "end") ends_ = true;
      if (order.starts_with("choose ")) choose(std::stoul(order.substr(7)));
      if (order == "cut") ::shutdown(chosen_.descriptor, SHUT_RDWR);
    }
  }
  void choose(std::size_t number) {
    const auto found = process_testing::connections_beside(std::atoi(std::getenv("MASTER_PORT")));
    if (found.empty()) return child_.say("none");
    chosen_ = found[number % found.size()];
    child_.say(fmt::format("chose {} {}", chosen_.local, chosen_.remote));
  }

  Child& child_;
  process_testing::Connection chosen_;
  std::atomic<bool> ends_{false};
  std::jthread thread_;
};

class Survivor {
 public:
  Survivor(const Plan& plan, Child& child, hocket_comm* first, const Orders& orders)
      : plan_(plan), child_(child), orders_(orders), comm_(first) {
    for (int rank = 0; rank < child.size; ++rank) origins_.push_back(rank);
  }

  // Returns when all have been told to end, or when this rank cannot go on.
  void go_on() {
    for (;;) {
      const hocket_result result = call_until_failure();
      if (result == HOCKET_OK) return;
      const hocket_cause cause = process_testing::last_cause();
      const auto peer = static_cast<std::size_t>(cause.peer);
      child_.say(fmt::format("broke {} {} {} {}", now(), hocket_result_name(result),
                             peer < origins_.size() ? origins_[peer] : -1, asked_.nanoseconds()));
      if (!shrink()) return;
    }
  }

 private:
  hocket_result call_until_failure() {
    // Some may have made a communicator on the way that others could not make.
    auto makings = static_cast<std::int64_t>(made_.size());
    asked_.now();
    hocket_result result = hocket_allreduce(&makings, &makings, 1, HOCKET_INT64, HOCKET_MAX, comm_, nullptr, nullptr);
    for (std::uint64_t step = 0; result == HOCKET_OK; ++step) {
      std::int32_t asked[] = {1 << child_.index, orders_.ends() ? 1 : 0};
      asked_.now();
      result = hocket_allreduce(asked, asked, 2, HOCKET_INT32, HOCKET_SUM, comm_, nullptr, nullptr);
      if (result != HOCKET_OK) break;
      if (step == 0) child_.say(fmt::format("works {} {}", now(), asked[0]));
      if (asked[1] == std::popcount(static_cast<std::uint32_t>(asked[0]))) return HOCKET_OK;
      if (plan_.style == Style::idle) {
        result = be_idle();
      } else if (plan_.style == Style::awaited_message) {
        result = await_message();
      } else {
        result = make_calls(plan_, comm_, (static_cast<std::uint64_t>(makings) << 32) + step * 16, asked_);
      }
    }
    return result;
  }

  // Until something breaks, or this rank is told to end.
  hocket_result be_idle() {
    for (;;) {
      asked_.now();
      const hocket_result result = hocket_comm_status(comm_);
      if (result != HOCKET_OK || orders_.ends()) return result;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  // That the next rank sends when it is told to end.
  hocket_result await_message() {
    std::int32_t rank = 0, size = 1, received = -1;
    hocket_comm_rank(comm_, &rank);
    hocket_comm_size(comm_, &size);
    if (size == 1) return be_idle();
    hocket_call_options options = HOCKET_CALL_OPTIONS_INIT;
    options.timeout_ms = 80'000;  // longer than any run
    hocket_work* work = nullptr;
    asked_.now();
    hocket_result result = hocket_recv(&received, 1, HOCKET_INT32, (rank + 1) % size, comm_, &options, &work);
    while (result == HOCKET_OK && !orders_.ends()) {
      asked_.now();
      result = hocket_work_wait(work, 1);
      if (result == HOCKET_IN_PROGRESS) result = HOCKET_OK;
    }
    if (result == HOCKET_OK) {
      asked_.now();
      result = hocket_send(&rank, 1, HOCKET_INT32, (rank + size - 1) % size, comm_, nullptr, nullptr);
    }
    if (result == HOCKET_OK) result = hocket_work_wait(work, 0);
    if (result == HOCKET_OK) {
      EXPECT_EQ(received, (rank + 1) % size);
    }
    hocket_work_release(work);
    return result;
  }

  bool shrink() {
    hocket_comm* shrunk = nullptr;
    hocket_shrink_options options = HOCKET_SHRINK_OPTIONS_INIT;
    options.timeout_ms = 20'000;
    const hocket_result result = hocket_comm_shrink(comm_, &shrunk, &options);
    if (result != HOCKET_OK) {
      child_.say(result == HOCKET_EXCLUDED
                     ? "excluded"
                     : fmt::format("failed {}: {}", hocket_result_name(result), hocket_last_error()));
      return false;
    }
    made_.push_back(std::make_unique<Comm>(shrunk));
    comm_ = shrunk;
    std::vector<int> origins;
    std::int32_t size = 0, previous = -1;
    hocket_comm_size(shrunk, &size);
    for (std::int32_t rank = 0; rank < size; ++rank) {
      EXPECT_EQ(hocket_comm_previous_rank(shrunk, rank, &previous), HOCKET_OK);
      origins.push_back(origins_.at(static_cast<std::size_t>(previous)));
    }
    origins_ = std::move(origins);
    return true;
  }

  const Plan& plan_;
  Child& child_;
  const Orders& orders_;
  hocket_comm* comm_;
  Asked asked_;
  std::vector<std::unique_ptr<Comm>> made_;
  std::vector<int> origins_;  // the ranks of comm_ by their numbers in the first communicator
};

hocket_comm_options options_of(const Plan& plan) {
  ::setenv("HOCKET_TRANSPORT", plan.transport.c_str(), 1);
  ::setenv("HOCKET_SINGLE_COPY", plan.single_copy ? "auto" : "off", 1);
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.timeout_ms = plan.timeout.count();
  return options;
}

}  // namespace

void be_rank(const Plan& plan, Child& child) {
  const int descriptors = process_testing::open_descriptors();
  const auto shared = process_testing::shared_memory_files();
  std::thread([] {}).join();  // with the first one, a sanitizer starts one of its own
  const int threads = process_testing::running_threads();
  {
    Orders orders(child);
    {
      const hocket_comm_options options = options_of(plan);
      const Comm first(&options);
      if (first) Survivor(plan, child, first.get(), orders).go_on();
      child.say(first ? "ended" : "failed to create");
      orders.wait_for_leave();
    }
  }
  EXPECT_EQ(process_testing::open_descriptors(), descriptors) << "descriptors are left";
  EXPECT_EQ(process_testing::shared_memory_files(), shared) << "mappings are left";
  EXPECT_EQ(process_testing::running_threads(), threads) << "threads are left";
}

void be_rank_of_creation(const Plan& plan, Child& child) {
  const hocket_comm_options options = options_of(plan);
  hocket_comm* comm = nullptr;
  hocket_result result = hocket_comm_create(&comm, &options);
  const std::string phase = result == HOCKET_OK ? "after" : "in";
  while (result == HOCKET_OK) result = hocket_barrier(comm, nullptr, nullptr);
  child.say(
      fmt::format("broke {} {} {} {}", now(), hocket_result_name(result), process_testing::last_cause().peer, phase));
  hocket_comm_destroy(comm);
}

}  // namespace hocket::chaos
