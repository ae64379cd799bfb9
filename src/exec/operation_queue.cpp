#include "src/exec/operation_queue.hpp"

#include <algorithm>
#include <utility>

namespace hocket {
namespace {

constexpr std::size_t spare_max = 64;

}  // namespace

// ---- lines ----------------------------------------------------------------------------------------------------------

std::size_t OperationQueue::line_of(const Window& window, Rank peers) {
  const auto found = std::ranges::find(windows_, &window);
  const auto number = static_cast<std::size_t>(found - windows_.begin());
  if (found == windows_.end()) windows_.push_back(&window);
  const std::size_t line = line_of({.peer = peers, .outgoing = false}) + number;
  if (lines_.size() <= line) lines_.resize(line + 1);
  return line;
}

// Requires room in entry.claims, which must not move.
void OperationQueue::claim(Entry& entry, std::size_t line) {
  Line& at = lines_[line];
  if (at.last != nullptr && at.last->entry == &entry) return;  // the operation names the direction twice
  Claim& claim = entry.claims.emplace_back(Claim{.entry = &entry, .line = line, .before = at.last});
  (at.last != nullptr ? at.last->behind : at.first) = &claim;
  at.last = &claim;
  if (claim.before == nullptr) ++entry.first_in;
}

void OperationQueue::give_up(Claim& claim) {
  Line& line = lines_[claim.line];
  (claim.before != nullptr ? claim.before->behind : line.first) = claim.behind;
  (claim.behind != nullptr ? claim.behind->before : line.last) = claim.before;
  claim.entry = nullptr;
  if (claim.before != nullptr || claim.behind == nullptr) return;
  Entry& next = *claim.behind->entry;
  ++next.first_in;
  move_if_first(next);
}

void OperationQueue::move(Entry& entry, Entries& to) {
  to.splice(to.end(), *entry.list, entry.self);
  entry.list = &to;
}

void OperationQueue::move_if_first(Entry& entry) {
  if (entry.list == &running_) return;
  if (entry.operation->needs_source()) {
    if (entry.first_in > 0 && entry.list != &searching_) move(entry, searching_);
  } else if (entry.first_in == entry.claims.size()) {
    move(entry, startable_);
  }
}

// ---- operations -----------------------------------------------------------------------------------------------------

OperationQueue::Entries OperationQueue::make_entry() {
  Entries made;
  if (spare_.empty()) {
    made.emplace_back();
  } else {
    made.splice(made.begin(), spare_, spare_.begin());
  }
  made.front().self = made.begin();
  return made;
}

OperationQueue::Entry& OperationQueue::put_in(std::shared_ptr<Operation> operation, Rank peers, Entries& list) {
  const bool any_source = operation->needs_source();
  const auto directions = operation->directions();
  const Context& context = operation->context();
  const Rank sources = any_source ? context.size(peers) : 0;
  const std::size_t lines = line_of({.peer = peers, .outgoing = false});
  if (lines_.size() < lines) lines_.resize(lines);
  Window* const window = operation->window();
  const std::size_t line_of_window = window != nullptr ? line_of(*window, peers) : 0;
  row_ = nullptr;
  Entries made = make_entry();
  Entry& entry = made.front();
  entry.claims.reserve(1 + directions.size() + static_cast<std::size_t>(sources));
  // From here on nothing throws.
  entry.operation = std::move(operation);
  entry.window = window;
  entry.first_in = 0;
  if (entry.window != nullptr) claim(entry, line_of_window);
  for (const Direction& direction : directions) claim(entry, line_of(direction));
  for (Rank rank = 0; rank < sources; ++rank) claim(entry, line_of({context.peer_of(rank), false}));
  list.splice(list.end(), made);
  ++size_;
  entry.list = &list;
  return entry;
}

void OperationQueue::add(std::shared_ptr<Operation> operation, Rank peers) {
  Entry& entry = put_in(std::move(operation), peers, waiting_);
  move_if_first(entry);
  if (entry.list != &startable_) next_verdict_ = earlier(next_verdict_, verdict_for(*entry.operation));
}

bool OperationQueue::may_begin(const Direction& direction) const {
  if (is_free(direction)) return true;
  const Entry& last = *lines_[line_of(direction)].last->entry;
  return last.list == &running_ && last.operation->is_for_links_alone() && last.followers.empty() &&
         running_over_links_ < side_by_side_max;
}

// Those that have longer than the one before them would find out late that nothing comes.
OperationQueue::Entry* OperationQueue::entry_to_follow(const Operation& message) {
  if (!message.may_follow()) return nullptr;
  const Direction& direction = message.directions().front();
  if (is_free(direction)) return nullptr;
  Entry& last = *lines_[line_of(direction)].last->entry;
  if (last.list != &running_ || last.operation->timeout() != message.timeout()) return nullptr;
  return last.followers.empty() && !last.operation->may_follow() ? nullptr : &last;
}

bool OperationQueue::add_follower(Operation& message) {
  row_ = nullptr;
  Entry* const entry = entry_to_follow(message);
  if (entry != nullptr) entry->followers.push_back({.operation = &message});
  return entry != nullptr;
}

// What follows it there is of its kind.
OperationQueue::Entry* OperationQueue::find_row(const Operation& message) {
  if (!message.tells() || !message.may_follow()) return nullptr;
  Entry& last = *lines_[line_of(message.directions().front())].last->entry;
  if (last.operation.get() != &message || last.list != &running_) return nullptr;
  if (!last.followers.empty() && last.followers.back().operation != nullptr) return nullptr;
  return row_ = &last;
}

void OperationQueue::add_begun(std::shared_ptr<Operation> message, Rank peers) {
  count_running(*put_in(std::move(message), peers, running_).operation, true);
}

// One that runs from now on, or does not any more.
void OperationQueue::count_running(const Operation& operation, bool begins) {
  if (!operation.uses_links()) return;
  begins ? ++running_over_links_ : --running_over_links_;
  if (operation.is_for_links_alone()) begins ? ++running_for_links_ : --running_for_links_;
}

OperationQueue::Entry* OperationQueue::start_next() {
  if (startable_.empty()) return nullptr;
  Entry& entry = startable_.front();
  move(entry, running_);
  count_running(*entry.operation, true);
  return &entry;
}

void OperationQueue::take_from(Entry& receive, Rank rank) {
  receive.operation->take_from(receive.operation->context().peer_of(rank));
  for (Claim& claim : receive.claims) {
    if (&claim != &receive.claims[static_cast<std::size_t>(rank)]) give_up(claim);
  }
  move(receive, startable_);
}

std::shared_ptr<Operation> OperationQueue::remove(Entry& entry) {
  row_ = nullptr;
  --size_;
  if (entry.list == &running_) count_running(*entry.operation, false);
  for (Claim& claim : entry.claims) {
    if (claim.entry != nullptr) give_up(claim);
  }
  entry.claims.clear();
  std::shared_ptr<Operation> operation = std::move(entry.operation);
  if (spare_.size() < spare_max) {
    move(entry, spare_);
  } else {
    entry.list->erase(entry.self);
  }
  return operation;
}

void OperationQueue::replace(Entry& entry) {
  row_ = nullptr;
  const Follower next = entry.followers.front();
  if (next.operation != nullptr) {
    entry.operation = next.operation->shared_from_this();
  } else {
    entry.operation->bind_again(nullptr, next.output);
    entry.operation->tell(*next.end);
    if (next.clock_began != Deadline::Clock::time_point()) entry.operation->begin_clock(next.clock_began);
  }
  entry.followers.pop_front();
}

OperationQueue::Entries OperationQueue::take_all() {
  Entries all;
  for (Entries* entries : {&running_, &startable_, &searching_, &waiting_}) all.splice(all.end(), *entries);
  std::ranges::fill(lines_, Line{});
  row_ = nullptr;
  size_ = running_over_links_ = running_for_links_ = 0;
  return all;
}

void OperationQueue::list_windows(std::vector<Window*>& windows) const {
  windows.clear();
  for (const Entry& entry : running_) {
    if (entry.window != nullptr && std::ranges::count(windows, entry.window) == 0) windows.push_back(entry.window);
  }
}

bool OperationQueue::runs_small_data() const {
  return std::ranges::all_of(running_, [](const Entry& entry) { return entry.operation->is_small(); });
}

// ---- deadlines ------------------------------------------------------------------------------------------------------

Deadline OperationQueue::verdict_for(const Operation& operation) {
  const Deadline& deadline = operation.deadline();
  return operation.needs_source() ? deadline : deadline.later(grace);
}

void OperationQueue::begin_clocks_of_followers() {
  const auto runs = [](const Follower& one) {
    return one.operation != nullptr ? one.operation->has_clock() : one.clock_began != Deadline::Clock::time_point();
  };
  for (Entry& entry : running_) {
    for (std::size_t at = entry.followers.size(); at > 0 && !runs(entry.followers[at - 1]); --at) {
      Follower& one = entry.followers[at - 1];
      if (one.operation != nullptr) {
        (void)one.operation->deadline();
      } else {
        one.clock_began = Deadline::Clock::now();
      }
    }
  }
}

void OperationQueue::find_next_verdict() {
  next_verdict_ = Deadline::never();
  for (const Entries* entries : {&waiting_, &searching_}) {
    for (const Entry& entry : *entries) next_verdict_ = earlier(next_verdict_, verdict_for(*entry.operation));
  }
}

}  // namespace hocket
