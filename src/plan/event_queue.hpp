// What will happen when, for the simulator.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "src/plan/network.hpp"

namespace hocket {

// Events in the order of their times, and those of one time in generations: what an event of one generation adds for
// the same time is of the next. They are kept by time, because ranks that do the same do it at the same time: thousands
// of events then cost one search.
template <class Event>
class EventQueue {
 public:
  // Requires at >= now().
  void add(Picoseconds at, const Event& event) {
    if (at == now_) {
      current_.push_back(event);
      return;
    }
    auto place = later_.lower_bound(at);
    if (place == later_.end() || place->first != at) {
      if (spare_.empty()) {
        place = later_.emplace_hint(place, at, std::vector<Event>());
      } else {  // a node that was used before has memory already
        auto node = std::move(spare_.back());
        spare_.pop_back();
        node.key() = at;
        place = later_.insert(place, std::move(node));
      }
    }
    place->second.push_back(event);
  }

  // The next generation, in the order in which they were added. False where there is nothing more. Moves now() on.
  bool next(std::vector<Event>& generation) {
    generation.clear();
    if (current_.empty()) {
      if (later_.empty()) return false;
      auto node = later_.extract(later_.begin());
      now_ = node.key();
      std::swap(current_, node.mapped());
      if (spare_.size() < spare_max) spare_.push_back(std::move(node));
    }
    std::swap(generation, current_);
    return true;
  }

  Picoseconds now() const { return now_; }

  // All that are to come, so that they may be changed.
  template <class Visit>
  void visit(const Visit& visit) {
    for (Event& event : current_) visit(event);
    for (auto& [at, events] : later_) {
      for (Event& event : events) visit(event);
    }
  }

 private:
  using Times = std::map<Picoseconds, std::vector<Event>>;
  static constexpr std::size_t spare_max = 1024;

  Picoseconds now_ = 0;
  std::vector<Event> current_;  // of now, the next generation
  Times later_;
  std::vector<typename Times::node_type> spare_;
};

}  // namespace hocket
