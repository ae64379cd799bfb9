// Ranks that meet in a store.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "src/comm/rendezvous.hpp"

namespace hocket::comm {

inline Deadline generous() {
  return Deadline::after(std::chrono::seconds(60));
}

inline Options ranks(Rank rank, Rank size) {
  return Options{.rank = rank, .size = size};
}

inline std::unique_ptr<Rendezvous> join(Store& store, const Options& options) {
  auto joined = Rendezvous::join(store, options, generous());
  EXPECT_TRUE(joined.ok()) << joined.status().message();
  return joined.ok() ? std::move(*joined) : nullptr;
}

inline Status exchange(Rendezvous& rank, const std::vector<Rank>& wanted = {}) {
  const auto infos = rank.exchange(
      {.build = BuildIdentity::own(), .endpoints = {{"tcp", "there"}}, .process = ProcessIdentity::own()}, wanted);
  if (!infos.ok()) return infos.status();
  EXPECT_EQ(infos->size(), wanted.size());
  for (const PeerInfo& info : *infos) EXPECT_EQ(info.endpoints.front().address, "there");
  return {};
}

// All ranks tell about themselves, and read what their neighbours tell.
inline void meet(const std::vector<std::unique_ptr<Rendezvous>>& all) {
  for (const auto& rank : all) ASSERT_NE(rank, nullptr);
  const auto size = static_cast<Rank>(all.size());
  std::vector<std::jthread> threads;
  for (Rank rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      const Status met = exchange(*all[static_cast<std::size_t>(rank)], {(rank + 1) % size, (rank + size - 1) % size});
      EXPECT_TRUE(met.ok()) << met.message();
    });
  }
}

}  // namespace hocket::comm
