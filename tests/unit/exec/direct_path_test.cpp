// The path that the cost model foresees is the one that direct operations take.
#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "src/exec/direct/direct_operation.hpp"
#include "src/exec/reduce.hpp"
#include "src/plan/direct/cost.hpp"
#include "tests/unit/exec/memory_window.hpp"
#include "tests/unit/exec/no_peers.hpp"
#include "transports/shm/shm_window.hpp"

namespace hocket {
namespace {

using testing_support::MemoryWindow;
using testing_support::NoPeers;
using testing_support::SharedMemory;

static_assert(direct::usual_staging_bytes == shm::window_staging_bytes);

constexpr std::size_t direct_path_kib = 1024, mib = 1024 * direct_path_kib;
constexpr std::size_t sizes[] = {0,
                                 4,
                                 32,
                                 36,
                                 4 * direct_path_kib - 4,
                                 4 * direct_path_kib,
                                 8 * direct_path_kib,
                                 16 * direct_path_kib,
                                 20 * direct_path_kib,
                                 64 * direct_path_kib,
                                 80 * direct_path_kib,
                                 128 * direct_path_kib,
                                 132 * direct_path_kib,
                                 256 * direct_path_kib,
                                 260 * direct_path_kib,
                                 512 * direct_path_kib,
                                 1 * mib,
                                 4 * mib,
                                 16 * mib,
                                 20 * mib};

// What the members of a window come to: they begin, and nobody works.
std::set<std::string_view> paths_taken(const Signature& call, std::uint32_t members, bool shares_work, bool registered,
                                       std::byte* buffer, std::size_t buffer_bytes) {
  SharedMemory shared(members, direct::usual_staging_bytes);
  std::deque<MemoryWindow> windows;
  std::deque<WindowUse> uses;
  std::deque<DirectOperation> operations;
  for (std::uint32_t self = 0; self < members; ++self) {
    if (registered) shared.enroll(self, buffer, buffer_bytes);
    windows.emplace_back(shared, self);
    uses.push_back({.window = &windows.back(), .setting = {.shares_work = shares_work}});
    operations.emplace_back(uses.back());
    operations.back().bind({.input = buffer,
                            .output = buffer,
                            .signature = call,
                            .reduction = reduction_for(call.dtype, call.op, static_cast<Rank>(members)),
                            .timeout = std::chrono::hours(1),
                            .root = 0});
    NoPeers nobody;
    EXPECT_TRUE(operations.back().start(operations.back().tag(), nobody).ok());
  }
  std::set<std::string_view> taken;
  for (int turn = 0; turn < 2; ++turn) {  // all announce, then each hears all
    for (DirectOperation& operation : operations) {
      Counters counters;
      if (operation.algorithm().empty()) operation.advance(counters);
    }
  }
  for (const DirectOperation& operation : operations) taken.insert(operation.algorithm());
  return taken;
}

TEST(DirectPathRule, IsTheExecutors) {
  std::vector<std::byte> buffer(20 * mib + direct_path_kib);
  std::set<DirectPath> seen;
  for (const Collective collective : all_collectives) {
    if (!info_of(collective).direct_paths) continue;
    for (const Rank ranks : {2, 3, 8}) {
      for (const std::size_t bytes : sizes) {
        for (const unsigned kind : {0U, 1U, 2U, 3U}) {
          const bool shares_work = (kind & 1) != 0, registered = (kind & 2) != 0;
          const bool blocks =
              DirectCall{.collective = collective, .ranks = ranks, .count = 1}.exchange().buffer_bytes_max() > 4;
          const std::size_t count = bytes / 4 / (blocks ? static_cast<std::size_t>(ranks) : 1);
          const DirectCall call{.collective = collective, .ranks = ranks, .count = count, .registered = registered};
          const DirectPath foreseen =
              foreseen_path(call.exchange(), {.staging_bytes = direct::usual_staging_bytes, .shares_work = shares_work},
                            registered, true);
          const Signature signature{.collective = collective, .dtype = DataType::float32, .root = 0, .count = count};
          const auto taken = paths_taken(signature, static_cast<std::uint32_t>(ranks), shares_work, registered,
                                         buffer.data(), buffer.size());
          ASSERT_EQ(taken, std::set{name_of(foreseen)})
              << name_of(collective) << " of " << bytes << " bytes on " << ranks << " ranks"
              << (shares_work ? " that share cores" : "") << (registered ? ", registered" : "");
          seen.insert(foreseen);
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), std::size(all_direct_paths)) << "or the sweep leaves something out";
}

// Larger ones go over links, as do those whose work would hold up ranks that share cores.
TEST(DirectPathRule, HasOneShotForPrefixesThatGoOneWay) {
  std::vector<std::byte> buffer(64 * direct_path_kib);
  const auto runs = [&](Collective collective, Rank ranks, std::size_t bytes, bool shares_work) {
    const DirectSetting setting{.staging_bytes = direct::usual_staging_bytes, .shares_work = shares_work};
    const Exchange exchange = DirectCall{.collective = collective, .ranks = ranks, .count = bytes / 4}.exchange();
    const bool has = has_direct_path(exchange, direct_rule(exchange, setting));
    if (!has) return false;
    for (const bool registered : {false, true}) {
      EXPECT_EQ(paths_taken({.collective = collective, .dtype = DataType::float32, .root = 0, .count = bytes / 4},
                            static_cast<std::uint32_t>(ranks), shares_work, registered, buffer.data(), buffer.size()),
                std::set<std::string_view>{"direct one-shot"});
    }
    return true;
  };
  for (const Collective prefix : {Collective::scan, Collective::exscan}) {
    EXPECT_TRUE(runs(prefix, 2, 0, false));
    EXPECT_TRUE(runs(prefix, 2, 16 * direct_path_kib, false));
    EXPECT_FALSE(runs(prefix, 2, 16 * direct_path_kib + 4, false));
    EXPECT_TRUE(runs(prefix, 4, 1364, true));
    EXPECT_FALSE(runs(prefix, 4, 1368, true)) << "4 ranks with 3 others each";
    EXPECT_TRUE(runs(prefix, 8, 288, true));
    EXPECT_FALSE(runs(prefix, 8, 296, true));
    EXPECT_TRUE(runs(prefix, 8, 16 * direct_path_kib, false));
  }
  EXPECT_TRUE(runs(Collective::barrier, 8, 0, true));
  EXPECT_FALSE(runs(Collective::send, 2, 4, false));
}

// Blocks that vary, where one of two members would hold up the other.
TEST(DirectPathRule, LeavesLargeBlocksOfTwoMembersToLinks) {
  const DirectSetting own_cores, shared_cores{.shares_work = true};
  EXPECT_FALSE(goes_over_links(mib - 1, 2, own_cores));
  EXPECT_TRUE(goes_over_links(mib, 2, own_cores));
  EXPECT_TRUE(goes_over_links(8 * mib, 2, own_cores));
  EXPECT_FALSE(goes_over_links(8 * mib + 1, 2, own_cores));
  EXPECT_FALSE(goes_over_links(4 * mib, 2, shared_cores));
  EXPECT_FALSE(goes_over_links(4 * mib, 3, own_cores));
}

}  // namespace
}  // namespace hocket
