// In which order the simulator takes up what comes at the same time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace hocket {

// Collects what comes at one time and says in which order it is taken up: by its place in the schedules and by where it
// comes from relative to where it goes, never by when it was found, so that ranks that are alike stay so. Only where
// something comes to the same place: the rest need not wait for one another.
class Turns {
 public:
  explicit Turns(std::size_t places) : last_round_(places) {}

  // The next of this round, at a place below `places`. In one place, the lower number goes first.
  void add(std::size_t place, std::uint64_t first, std::uint64_t second) {
    entries_.push_back({first, second, static_cast<std::uint32_t>(entries_.size())});
    crowded_ |= std::exchange(last_round_[place], round_) == round_;
  }

  // Calls `take` with the index of each of the round; what it adds is of the next one.
  template <class Take>
  void take(const Take& take) {
    if (std::exchange(crowded_, false)) std::ranges::sort(entries_);
    ++round_;
    std::swap(entries_, taken_);
    for (const Entry& entry : taken_) take(entry.index);
    taken_.clear();
  }

 private:
  struct Entry {
    std::uint64_t first, second;
    std::uint32_t index;

    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

  std::vector<Entry> entries_, taken_;
  std::vector<std::uint64_t> last_round_;  // by place: the latest in which something came there
  std::uint64_t round_ = 1;
  bool crowded_ = false;
};

}  // namespace hocket
