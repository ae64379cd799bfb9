// A world of ranks that regroup, of which each can go on in any order: they hear each other, die, lose patience, and
// make their group or fail to.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/comm/regroup.hpp"

namespace hocket::comm {

using Wish = Regroup::Wish;

inline std::string text_of(const Note& note) {
  std::string text = fmt::format("{} {}", static_cast<int>(note.kind), note.group);
  for (const Rank rank : note.ranks) text += fmt::format(" {}", rank);
  for (const Ranks& attempt : note.attempts) text += fmt::format(" tried {}", fmt::join(attempt, ","));
  return text + note.cards[0] + note.cards[1];
}

// What can happen next to a world of ranks.
struct Event {
  enum class Kind { hear, die, notice, lose_reach, lose_patience, open, enter, succeed, fail, begin_again };
  Kind kind;
  Rank rank;            // to whom it happens
  Rank peer = no_rank;  // hear, notice: from or of whom
};

struct Limits {
  int deaths = 0;
  int losses_of_patience = 0;
};

struct Rules {
  Ranks blamed = {};
  bool majority = true;
  Ranks apart = {};  // whom a broken network parts from the others
};

// Ranks, what is on the way between them, and the groups that they make.
class World {
 public:
  World(Rank size, const Limits& limits, const Rules& rules = {}) : size_(size), limits_(limits), apart_(rules.apart) {
    Ranks all;
    for (Rank rank = 0; rank < size; ++rank) all.insert(rank);
    for (Rank rank = 0; rank < size; ++rank) {
      ranks_.push_back(std::make_shared<Regroup>(Regroup::Config{.self = rank,
                                                                 .members = all,
                                                                 .blamed = rules.blamed,
                                                                 .majority = rules.majority,
                                                                 .draw_group = [rank, draws = 0]() mutable {
                                                                   return static_cast<std::uint64_t>(100 * (rank + 1) +
                                                                                                     ++draws);
                                                                 }}));
      gone_.push_back(false);
      send_from(rank);
    }
  }

  std::vector<Event> events() const {
    std::vector<Event> events;
    for (Rank rank = 0; rank < size_; ++rank) {
      if (gone_[index(rank)]) continue;
      add_events_of(rank, events);
    }
    return events;
  }

  void apply(const Event& event) {
    if (event.kind == Event::Kind::die) {
      gone_[index(event.rank)] = true;
      --limits_.deaths;
      return;
    }
    auto next = std::make_shared<Regroup>(*ranks_[index(event.rank)]);
    Regroup& rank = *next;
    ranks_[index(event.rank)] = next;
    const std::uint64_t group = rank.group();
    switch (event.kind) {
      case Event::Kind::hear: {
        auto& lane = lanes_[{event.peer, event.rank}];
        const Note note = lane.front();
        lane.pop_front();
        rank.heard(event.peer, note);
        break;
      }
      case Event::Kind::notice:
        noticed_.insert({event.rank, event.peer});
        lanes_[{event.peer, event.rank}].clear();  // what it sent last may be lost
        rank.lost(event.peer);
        break;
      case Event::Kind::lose_reach:
        noticed_.insert({event.rank, event.peer});
        lanes_[{event.peer, event.rank}].clear();
        rank.out_of_reach(event.peer);
        break;
      case Event::Kind::lose_patience:
        --limits_.losses_of_patience;
        rank.out_of_patience();
        break;
      case Event::Kind::open: rank.opened(fmt::format("{}@{}", event.rank, group)); break;
      case Event::Kind::enter: entered_[group].insert(event.rank); break;
      case Event::Kind::succeed: rank.made(true); break;
      case Event::Kind::fail:
        failed_[group].insert(event.rank);
        rank.made(false);
        for (Rank peer = 0; peer < size_; ++peer) {
          if (!are_apart(event.rank, peer) || !noticed_.insert({event.rank, peer}).second) continue;
          lanes_[{peer, event.rank}].clear();
          rank.out_of_reach(peer);
        }
        break;
      case Event::Kind::begin_again: begin(event.rank, rank.members(), {}, rank.group()); return;
      case Event::Kind::die: break;
    }
    send_from(event.rank);
  }

  std::string describe() const {
    std::string text;
    for (Rank rank = 0; rank < size_; ++rank) {
      text += gone_[index(rank)] ? "gone\n" : ranks_[index(rank)]->describe() + "\n";
    }
    for (const auto& [ends, lane] : lanes_) {
      if (gone_[index(ends.second)]) continue;
      for (const Note& note : lane) text += fmt::format("{}>{} {}\n", ends.first, ends.second, text_of(note));
    }
    for (const auto& [group, ranks] : entered_) text += fmt::format("{} entered {}\n", group, sum(ranks));
    for (const auto& [group, ranks] : failed_) text += fmt::format("{} failed {}\n", group, sum(ranks));
    for (const auto& [rank, peer] : noticed_) text += fmt::format("{} noticed {}\n", rank, peer);
    return text + fmt::format("{} {}", limits_.deaths, limits_.losses_of_patience);
  }

  // Groups that all their members have made, and in which all live.
  std::set<std::uint64_t> whole_groups() const {
    std::set<std::uint64_t> groups;
    for (Rank rank = 0; rank < size_; ++rank) {
      if (is_done(rank) && is_whole(*ranks_[index(rank)])) groups.insert(ranks_[index(rank)]->group());
    }
    return groups;
  }

  const Regroup& rank(Rank rank) const { return *ranks_[index(rank)]; }
  bool lives(Rank rank) const { return !gone_[index(rank)]; }
  bool is_done(Rank rank) const { return lives(rank) && ranks_[index(rank)]->wish() == Wish::done; }
  Rank size() const { return size_; }

  bool is_whole(const Regroup& of) const {
    return std::ranges::all_of(
        of.members(), [&](Rank member) { return is_done(member) && ranks_[index(member)]->group() == of.group(); });
  }

 private:
  static std::size_t index(Rank rank) { return static_cast<std::size_t>(rank); }
  static int sum(const Ranks& ranks) {
    int bits = 0;
    for (const Rank rank : ranks) bits |= 1 << rank;
    return bits;
  }

  // Shrinks the group of these members. `after`: of the group; numbers that are drawn must be new.
  void begin(Rank rank, const Ranks& members, const Rules& rules, std::uint64_t after = 0) {
    Ranks gone, silent;
    for (const auto& [who, peer] : noticed_) {
      if (who == rank) (lives(peer) ? silent : gone).insert(peer);
    }
    ranks_[index(rank)] = std::make_shared<Regroup>(
        Regroup::Config{.self = rank,
                        .members = members,
                        .gone = gone,
                        .silent = silent,
                        .blamed = rules.blamed,
                        .majority = rules.majority,
                        .draw_group = [rank, next = 1000 * (after % 1000 + static_cast<std::uint64_t>(1))]() mutable {
                          return ++next * 10 + static_cast<std::uint64_t>(rank);
                        }});
    send_from(rank);
  }

  void send_from(Rank rank) {
    for (auto& [to, note] : ranks_[index(rank)]->take_notes()) {
      if (!noticed_.contains({rank, to})) lanes_[{rank, to}].push_back(std::move(note));
    }
  }

  bool has_entered(Rank rank, std::uint64_t group) const {
    const auto entered = entered_.find(group);
    return entered != entered_.end() && entered->second.contains(rank);
  }
  bool has_failed(Rank rank, std::uint64_t group) const {
    const auto failed = failed_.find(group);
    return failed != failed_.end() && failed->second.contains(rank);
  }

  void add_events_of(Rank rank, std::vector<Event>& events) const {
    const Regroup& self = *ranks_[index(rank)];
    const std::uint64_t group = self.group();
    if (limits_.deaths > 0) events.push_back({Event::Kind::die, rank});
    const bool making = self.wish() == Wish::make && has_entered(rank, group);
    if (self.wish() == Wish::open) events.push_back({Event::Kind::open, rank});
    if (self.wish() == Wish::make && !making) events.push_back({Event::Kind::enter, rank});
    if (making) {
      const bool all = std::ranges::all_of(self.members(), [&](Rank one) { return has_entered(one, group); });
      if (all) events.push_back({Event::Kind::succeed, rank});
      const bool broken = std::ranges::any_of(self.members(), [&](Rank one) {
        return !lives(one) || are_apart(rank, one) || has_failed(one, group) ||
               (ranks_[index(one)]->group() != group && !has_entered(one, group) && passed_over(one, group)) ||
               (has_entered(one, group) && ranks_[index(one)]->group() != group);
      });
      if (broken) events.push_back({Event::Kind::fail, rank});
      return;  // it attends to nothing else
    }
    if (self.wish() == Wish::done && breaks(self)) events.push_back({Event::Kind::begin_again, rank});
    if (self.wish() == Wish::done || self.wish() == Wish::excluded) return;
    for (Rank peer = 0; peer < size_; ++peer) {
      const auto lane = lanes_.find({peer, rank});
      if (lane != lanes_.end() && !lane->second.empty()) events.push_back({Event::Kind::hear, rank, peer});
      if (peer != rank && gone_[index(peer)] && !noticed_.contains({rank, peer})) {
        events.push_back({Event::Kind::notice, rank, peer});
      }
      if (are_apart(rank, peer) && !noticed_.contains({rank, peer})) {
        events.push_back({Event::Kind::lose_reach, rank, peer});
      }
    }
    if (limits_.losses_of_patience > 0 && self.wish() == Wish::wait) {
      events.push_back({Event::Kind::lose_patience, rank});
    }
  }

  bool are_apart(Rank one, Rank other) const { return apart_.contains(one) != apart_.contains(other); }

  // Whether what a rank has made breaks: another member has died, or could not make it and has told so.
  bool breaks(const Regroup& made) const {
    return std::ranges::any_of(made.members(), [&](Rank one) { return !lives(one) || has_failed(one, made.group()); });
  }

  // Whether a rank cannot enter that group any more: it makes another one, or waits for nothing that would bring it
  // there.
  bool passed_over(Rank rank, std::uint64_t group) const {
    for (Rank peer = 0; peer < size_; ++peer) {
      const auto lane = lanes_.find({peer, rank});
      if (lane == lanes_.end()) continue;
      for (const Note& note : lane->second) {
        if (note.group == group) return false;
      }
    }
    return true;
  }

  Rank size_;
  Limits limits_;
  Ranks apart_;
  std::vector<std::shared_ptr<Regroup>> ranks_;
  std::vector<bool> gone_;
  std::map<std::pair<Rank, Rank>, std::deque<Note>> lanes_;  // from, to
  std::map<std::uint64_t, Ranks> entered_, failed_;
  std::set<std::pair<Rank, Rank>> noticed_;
};

}  // namespace hocket::comm
