// What a recorded simulation did, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/plan/simulate.hpp"

namespace hocket {

// Activities in the order in which they came about, each after the one that it waited for. Where there are too many, it
// keeps every second along each path, then every fourth …: what is left of a path lies on it, evenly spread.
class ActivityLog {
 public:
  ActivityLog(Rank ranks, std::size_t most) : ranks_(ranks), most_(most) {}

  ActivityRef add(const Activity& activity);
  bool is_full() const { return activities_.size() >= most_; }
  std::uint32_t every() const { return every_; }

  // What stands for each activity after one has been thinned out: itself, or the latest before it that was kept.
  struct Renewed {
    Rank ranks = 1;
    std::vector<ActivityRef> by_index;

    ActivityRef operator()(ActivityRef old) const;
  };
  // Whoever refers to activities must have these renewed.
  Renewed thin();

  // From the first to the last.
  std::vector<ActivityRef> path_to(ActivityRef last) const;
  std::vector<Activity> take() && { return std::move(activities_); }

 private:
  Rank ranks_;
  std::size_t most_;
  std::uint32_t every_ = 1;
  std::vector<Activity> activities_;
  std::vector<std::uint32_t> depths_;  // how many came before on the path, with those left out
};

}  // namespace hocket
