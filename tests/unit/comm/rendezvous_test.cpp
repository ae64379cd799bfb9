#include "src/comm/rendezvous.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "src/store/memory_store.hpp"

namespace hocket::comm {
namespace {

// Counts what a server would be asked.
class CountingStore final : public Store {
 public:
  int calls() const { return calls_; }

  std::string url() const override { return store_.url(); }
  Status set(std::string_view key, std::string_view value, Deadline deadline) override {
    return counted().set(key, value, deadline);
  }
  Result<std::string> get(std::string_view key, Deadline deadline) override { return counted().get(key, deadline); }
  Result<std::optional<std::string>> peek(std::string_view key, Deadline deadline) override {
    return counted().peek(key, deadline);
  }
  Result<std::int64_t> add(std::string_view key, std::int64_t delta, Deadline deadline) override {
    return counted().add(key, delta, deadline);
  }
  Result<std::optional<std::string>> compare_and_set(std::string_view key, std::optional<std::string_view> expected,
                                                     std::string_view desired, Deadline deadline) override {
    return counted().compare_and_set(key, expected, desired, deadline);
  }
  Result<bool> remove(std::string_view key, Deadline deadline) override { return counted().remove(key, deadline); }
  Result<std::vector<std::string>> list(std::string_view prefix, Deadline deadline) override {
    return counted().list(prefix, deadline);
  }

 private:
  MemoryStore& counted() {
    ++calls_;
    return store_;
  }

  MemoryStore store_;
  int calls_ = 0;
};

// The ranks take turns, so that none ever waits: what is counted is what has to be said.
int calls_to_meet(Rank size) {
  CountingStore store;
  const Deadline deadline = Deadline::after(std::chrono::seconds(60));
  std::vector<std::unique_ptr<Rendezvous>> ranks;
  for (Rank rank = 0; rank < size; ++rank) {
    auto joined = Rendezvous::join(store, Options{.rank = rank, .size = size}, deadline);
    EXPECT_TRUE(joined.ok()) << joined.status().message();
    ranks.push_back(std::move(*joined));
  }
  for (auto& rank : ranks) EXPECT_TRUE(rank->publish(PeerInfo{.endpoints = {{"tcp", "there"}}}).ok());
  for (Rank rank = 0; rank < size; ++rank) {
    for (const Rank neighbour : {(rank + 1) % size, (rank + size - 1) % size}) {
      const auto info = ranks[static_cast<std::size_t>(rank)]->peer_info_of(neighbour);
      EXPECT_TRUE(info.ok()) << info.status().message();
    }
  }
  for (auto& rank : ranks) rank->finish();
  return store.calls();
}

TEST(Rendezvous, AsksTheStoreEquallyOftenHoweverManyRanksThereAre) {
  const int of_two = calls_to_meet(2) / 2;
  EXPECT_LE(of_two, 8);
  for (const Rank size : {3, 64, 1000}) EXPECT_EQ(calls_to_meet(size), size * of_two) << size;
}

}  // namespace
}  // namespace hocket::comm
