// Agreements as tests make them, and what each rank has been told, kept where its death does not lose it.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

#include "hocket/hocket.h"

namespace hocket::process_testing {

// What a call of hocket_comm_agree() gave.
struct Agreed {
  hocket_result result = HOCKET_INTERNAL;
  std::uint64_t flag = 0;
  std::vector<std::int32_t> dead = {};
};

// `rank` has this bit off.
constexpr std::uint64_t flag_of(int rank) {
  return ~(std::uint64_t{1} << rank);
}

inline Agreed agree(hocket_comm* comm, std::uint64_t flag, std::int64_t timeout_ms = 0) {
  hocket_agree_options options = HOCKET_AGREE_OPTIONS_INIT;
  options.timeout_ms = timeout_ms;
  std::int32_t size = 0, count = 0;
  EXPECT_EQ(hocket_comm_size(comm, &size), HOCKET_OK);
  Agreed agreed{.flag = flag, .dead = std::vector<std::int32_t>(static_cast<std::size_t>(size))};
  agreed.result = hocket_comm_agree(comm, &agreed.flag, agreed.dead.data(), &count, &options);
  agreed.dead.resize(static_cast<std::size_t>(count));
  return agreed;
}

// An outcome, its dead as bits.
struct ToldResult {
  std::uint64_t flag = 0, dead = 0;

  friend bool operator==(const ToldResult&, const ToldResult&) = default;
  friend void PrintTo(const ToldResult& told, std::ostream* out) {
    *out << std::hex << "flag " << told.flag << ", dead " << told.dead << std::dec;
  }
};

inline ToldResult told_by(const Agreed& agreed) {
  ToldResult told{.flag = agreed.flag};
  for (const std::int32_t rank : agreed.dead) told.dead |= std::uint64_t{1} << rank;
  return told;
}

// What ranks have been told, in memory that they share with the test; made before they are.
class ToldRanks {
 public:
  static constexpr std::size_t ranks_max = 8, told_max = 100'000;

  ToldRanks()
      : all_(static_cast<All*>(
            ::mmap(nullptr, sizeof(All), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~ToldRanks() { ::munmap(all_, sizeof(All)); }
  ToldRanks(const ToldRanks&) = delete;
  ToldRanks& operator=(const ToldRanks&) = delete;

  // In the rank's process. False where there is no room.
  bool add(int rank, const ToldResult& told) {
    OfRank& one = (*all_)[static_cast<std::size_t>(rank)];
    const std::size_t count = one.count.load();
    if (count == told_max) return false;
    one.told[count] = told;
    one.count.store(count + 1);
    return true;
  }
  std::vector<ToldResult> of(int rank) const {
    const OfRank& one = (*all_)[static_cast<std::size_t>(rank)];
    return {one.told.begin(), one.told.begin() + static_cast<std::ptrdiff_t>(one.count.load())};
  }

 private:
  struct OfRank {
    std::atomic<std::size_t> count;
    std::array<ToldResult, told_max> told;
  };
  using All = std::array<OfRank, ranks_max>;

  All* const all_;
};

}  // namespace hocket::process_testing
