// How often ranks that meet ask their store.
#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "src/store/memory_store.hpp"
#include "src/store/open_store.hpp"
#include "src/store/store_server.hpp"
#include "tests/conformance/watched_store.hpp"
#include "tests/unit/comm/rendezvous_ranks.hpp"

namespace hocket::comm {
namespace {

// How often each rank asks. They join in turn, so that none waits for another one's place.
std::vector<int> requests_to_meet(const std::function<Store&(Rank)>& store_of, Rank size) {
  std::vector<int> requests(static_cast<std::size_t>(size));
  std::vector<std::unique_ptr<WatchedStore>> stores;
  std::vector<std::unique_ptr<Rendezvous>> all;
  for (Rank rank = 0; rank < size; ++rank) {
    int& count = requests[static_cast<std::size_t>(rank)];
    stores.push_back(std::make_unique<WatchedStore>(store_of(rank), [&count] { ++count; }));
    all.push_back(join(*stores.back(), ranks(rank, size)));
  }
  meet(all);
  for (const auto& rank : all) rank->finish();
  return requests;
}

TEST(Rendezvous, AsksAServerEquallyOftenHoweverManyRanksThereAre) {
  const auto server = StoreServer::start("127.0.0.1", 0);
  ASSERT_TRUE(server.ok()) << server.status().message();
  for (const Rank size : {2, 3, 64, 500}) {
    std::vector<std::unique_ptr<Store>> stores;
    for (Rank rank = 0; rank < size; ++rank) stores.push_back(open_store((*server)->url(), generous()).value());
    const auto requests = requests_to_meet([&](Rank rank) -> Store& { return *stores[rank]; }, size);
    EXPECT_LE(std::ranges::max(requests), 7) << size;
  }
}

// It looks again and again, more often on a busy machine.
TEST(Rendezvous, AsksAnotherStoreInProportionToTheRanks) {
  MemoryStore store;
  for (const Rank size : {2, 3, 64, 500}) {
    const auto requests = requests_to_meet([&](Rank) -> Store& { return store; }, size);
    EXPECT_LE(std::accumulate(requests.begin(), requests.end(), 0), 40 * size) << size;
  }
}

// A rank whose deadline passes first ends the others' wait, and they end as it did.

}  // namespace
}  // namespace hocket::comm
