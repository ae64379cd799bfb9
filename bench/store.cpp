// What a store bears: clients that are connected and idle, and ranks (threads of this process) that meet meanwhile.
// Prints how long both take, and what one request takes beside the idle clients, for docs/reference/hocket-store.md.
//
//     hocket-store --port 29500 & bench-store tcp://127.0.0.1:29500 [idle clients] [ranks]
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "src/comm/rendezvous.hpp"
#include "src/store/open_store.hpp"

namespace {

using hocket::Deadline;
using hocket::Rank;
using hocket::Status;
using hocket::Store;
using Clock = std::chrono::steady_clock;

Deadline patience() {
  return Deadline::after(std::chrono::minutes(2));
}

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

std::unique_ptr<Store> open(const std::string& url) {
  auto opened = hocket::open_store(url, patience());
  if (opened.ok()) return std::move(*opened);
  fmt::print(stderr, "bench-store: {}\n", opened.status().message());
  std::exit(1);
}

// What a rank does until it has met its neighbours.
Status meet(Store& store, Rank rank, Rank size, std::barrier<>& all_have_read) {
  hocket::comm::Options options{.rank = rank, .size = size, .name = "bench-store"};
  auto rendezvous = hocket::comm::Rendezvous::join(store, options, patience());
  Status status = rendezvous.status();
  if (status.ok()) {
    const auto build = hocket::comm::BuildIdentity::own();
    const std::vector<Rank> neighbours{(rank + 1) % size, (rank + size - 1) % size};
    const auto infos =
        (*rendezvous)->exchange({.build = build, .endpoints = {{"tcp", std::string(200, 'a')}}}, neighbours);
    status = infos.status();
  }
  all_have_read.arrive_and_wait();
  return status;
}

double median_request_us(Store& store) {
  std::vector<double> times;
  for (int i = 0; i < 1000; ++i) {
    const auto began = Clock::now();
    (void)store.peek("bench-store/none", patience());
    times.push_back(seconds_since(began) * 1e6);
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: bench-store tcp://HOST:PORT [idle clients] [ranks]\n");
    return 2;
  }
  rlimit limit{};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
  const std::string url = argv[1];
  const int idle_clients = argc > 2 ? std::atoi(argv[2]) : 10'000;
  const Rank ranks = argc > 3 ? std::atoi(argv[3]) : 2'000;

  auto began = Clock::now();
  std::vector<std::unique_ptr<Store>> idle;
  for (int i = 0; i < idle_clients; ++i) idle.push_back(open(url));
  fmt::print("{} idle clients connected in {:.2f} s\n", idle_clients, seconds_since(began));

  const auto probe = open(url);
  fmt::print("one request beside them: {:.0f} us\n", median_request_us(*probe));

  began = Clock::now();
  std::barrier<> all_have_read(ranks);
  std::atomic<int> failures{0};
  std::vector<std::jthread> threads;
  for (Rank rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto store = open(url);
      const Status status = meet(*store, rank, ranks, all_have_read);
      if (!status.ok() && failures++ == 0) fmt::print(stderr, "bench-store: {}\n", status.message());
    });
  }
  threads.clear();
  fmt::print("{} ranks connected and met in {:.2f} s, {} failed\n", ranks, seconds_since(began), failures.load());
  return failures > 0 ? 1 : 0;
}
