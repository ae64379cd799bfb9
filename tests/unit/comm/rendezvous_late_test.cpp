// Ranks that come when a meeting is over.
#include <chrono>
#include <memory>
#include <vector>

#include "src/store/memory_store.hpp"
#include "tests/unit/comm/rendezvous_ranks.hpp"

namespace hocket::comm {
namespace {

TEST(Rendezvous, SaysForWhichMeetingARankHasCome) {
  MemoryStore store;
  Visit visit;
  const auto come = [&](Deadline deadline) {
    return Rendezvous::join(store, ranks(1, 2), deadline, {}, random_number(), &visit);
  };
  EXPECT_EQ(come(Deadline::after(std::chrono::milliseconds(20))).status().code(), Code::timeout);
  EXPECT_EQ(visit.epoch, 1U) << "it waits for the first";
  std::vector<std::unique_ptr<Rendezvous>> all;
  all.push_back(join(store, ranks(0, 2)));
  all.push_back(come(generous()).value());
  EXPECT_EQ(visit.epoch, 1U) << "it is in the first";
  meet(all);
  for (const auto& rank : all) rank->finish();
  EXPECT_EQ(come(Deadline::after(std::chrono::milliseconds(20))).status().code(), Code::timeout);
  EXPECT_EQ(visit.epoch, 2U) << "it waits for the next";
}

}  // namespace
}  // namespace hocket::comm
