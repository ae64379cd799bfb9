#include "src/plan/activity_log.hpp"

#include <algorithm>

namespace hocket {

ActivityRef ActivityLog::add(const Activity& activity) {
  const std::uint32_t before = activity.after.index;
  depths_.push_back(before == no_activity ? 0 : depths_[before] + 1);
  activities_.push_back(activity);
  return {.index = static_cast<std::uint32_t>(activities_.size() - 1)};
}

ActivityRef ActivityLog::Renewed::operator()(ActivityRef old) const {
  if (old.index == no_activity) return old;
  const ActivityRef& now = by_index[old.index];
  return {.index = now.index, .turn = (old.turn + now.turn) % ranks};
}

ActivityLog::Renewed ActivityLog::thin() {
  every_ *= 2;
  Renewed renewed{.ranks = ranks_, .by_index = {}};
  renewed.by_index.reserve(activities_.size());
  std::uint32_t kept = 0;
  for (std::size_t index = 0; index < activities_.size(); ++index) {
    const ActivityRef after = renewed(activities_[index].after);
    if (depths_[index] % every_ != 0) {
      renewed.by_index.push_back(after);
      continue;
    }
    activities_[kept] = activities_[index];
    activities_[kept].after = after;
    depths_[kept] = depths_[index];
    renewed.by_index.push_back({.index = kept++});
  }
  activities_.resize(kept);
  depths_.resize(kept);
  return renewed;
}

std::vector<ActivityRef> ActivityLog::path_to(ActivityRef last) const {
  std::vector<ActivityRef> path;
  for (ActivityRef at = last; at.index != no_activity;) {
    path.push_back(at);
    const ActivityRef& after = activities_[at.index].after;
    at = {.index = after.index, .turn = (at.turn + after.turn) % ranks_};
  }
  std::ranges::reverse(path);
  return path;
}

}  // namespace hocket
