#include "tests/chaos/rank.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>

#include "tests/chaos/calls.hpp"
#include "tests/process/support/call.hpp"
#include "tests/process/support/failure.hpp"

namespace hocket::chaos {
namespace {

using process_testing::Child;
using process_testing::Comm;

std::int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

int port_of(const sockaddr_in& address) {
  return ntohs(address.sin_port);
}

// This process's TCP connections, but those to the store.
std::vector<int> connections() {
  const int store = std::atoi(std::getenv("MASTER_PORT"));
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::atoi(entry.path().filename().c_str());
    sockaddr_in local{}, remote{};
    socklen_t bytes = sizeof local, remote_bytes = sizeof remote;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &bytes) != 0 || local.sin_family != AF_INET) continue;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&remote), &remote_bytes) != 0) continue;
    if (port_of(local) != store && port_of(remote) != store) found.push_back(fd);
  }
  return found;
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
      if (order.starts_with("cut ")) cut(std::stoul(order.substr(4)));
    }
  }
  void cut(std::size_t number) {
    const std::vector<int> found = connections();
    child_.say(found.empty() ? "cut 0" : "cut 1");
    if (!found.empty()) ::shutdown(found[number % found.size()], SHUT_RDWR);
  }

  Child& child_;
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
      child_.say(fmt::format("broke {} {} {}", now(), hocket_result_name(result),
                             peer < origins_.size() ? origins_[peer] : -1));
      if (!shrink()) return;
    }
  }

 private:
  hocket_result call_until_failure() {
    hocket_result result = HOCKET_OK;
    for (std::uint64_t step = 0; result == HOCKET_OK; ++step) {
      std::int32_t asked[] = {1 << child_.index, orders_.ends() ? 1 : 0};
      result = hocket_allreduce(asked, asked, 2, HOCKET_INT32, HOCKET_SUM, comm_, nullptr, nullptr);
      if (result != HOCKET_OK) break;
      if (step == 0) child_.say(fmt::format("works {} {}", now(), asked[0]));
      if (asked[1] == std::popcount(static_cast<std::uint32_t>(asked[0]))) return HOCKET_OK;
      if (plan_.style == Style::idle) {
        result = be_idle();
      } else {
        result = make_calls(plan_, comm_, (made_.size() << 32) + step * 16);
      }
    }
    return result;
  }

  // Until something breaks, or this rank is told to end.
  hocket_result be_idle() const {
    for (;;) {
      const hocket_result result = hocket_comm_status(comm_);
      if (result != HOCKET_OK || orders_.ends()) return result;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
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
  std::vector<std::unique_ptr<Comm>> made_;
  std::vector<int> origins_;  // the ranks of comm_ by their numbers in the first communicator
};

hocket_comm_options options_of(const Plan& plan) {
  ::setenv("HOCKET_TRANSPORT", plan.transport.c_str(), 1);
  hocket_comm_options options = HOCKET_COMM_OPTIONS_INIT;
  options.timeout_ms = plan.timeout.count();
  return options;
}

}  // namespace

void be_rank(const Plan& plan, Child& child) {
  const int descriptors = process_testing::open_descriptors();
  const auto shared = process_testing::shared_memory_files();
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
