#include "src/plan/direct/simulate.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "src/plan/activity_log.hpp"
#include "src/plan/direct/member.hpp"
#include "src/plan/event_queue.hpp"

namespace hocket {
namespace {

class WindowRun {
 public:
  WindowRun(const Network& network, const SimulatedDirectCall& wanted)
      : network_(network),
        wanted_(wanted),
        setting_(direct_setting(network, wanted.call)),
        rates_(direct_rates(network, wanted.call)),
        rules_(wanted.call, wanted.path, setting_, network.description().direct->reads_plain_memory),
        row_(wanted.calls),
        members_(static_cast<std::size_t>(network.size())),
        log_(network.size(), SIZE_MAX) {
    for (Rank core = 0; core < (setting_.shares_work ? network.cores_per_host() : network.size()); ++core)
      cores_.push(0);
  }

  Simulation run() {
    for (std::uint32_t self = 0; self < members_.size(); ++self) {
      members_[self].member.self = self;
      go_on(self, {});
    }
    std::vector<Event> generation;
    while (events_.next(generation)) {
      for (const Event& event : generation) event.is_seen ? see(event) : end(event);
    }
    return finish();
  }

 private:
  struct Cause {
    TimeShares shares;
    ActivityRef activity{};
  };
  // A member has done something, or the others see what it has told.
  struct Event {
    std::uint32_t member = 0;
    bool is_seen = false;
    std::size_t call = 0;
    DirectAction action;
    Cause cause{};
  };
  struct State {
    WindowMember member;
    bool busy = false;
  };

  // As soon as it can; `idle`: it could not before.
  void go_on(std::uint32_t self, const Cause& cause, bool idle = false) {
    State& state = members_[self];
    if (state.member.call == wanted_.calls) return;
    const auto action = rules_.next(state.member, row_);
    if (!action) return;
    state.busy = true;
    const auto rank = static_cast<Rank>(self);
    const bool wakes = idle && setting_.shares_work && events_.now() != 0;
    const DirectCost& cost = *network_.description().direct;
    const double work = rates_.seconds(action->work) + (action->calls ? cost.call : 0) + (wakes ? cost.wake : 0);
    const Picoseconds time = picoseconds(work * network_.slowness_of(rank));
    Picoseconds begin = events_.now();
    if (time != 0) {
      begin = std::max(begin, cores_.top());
      cores_.pop();
      cores_.push(begin + time);
    }
    work_ += time;
    ++result_.steps;
    Event event{.member = self, .call = state.member.call, .action = *action, .cause = cause};
    event.cause.shares.processor_wait += begin - events_.now();
    event.cause.shares.processor += time;
    if (wanted_.record && time != 0) {
      event.cause.activity = log_.add({.rank = rank,
                                       .step = static_cast<std::uint32_t>(action->round),
                                       .kind = action->work.combined > 0 ? StepKind::reduce : StepKind::copy,
                                       .bytes = static_cast<std::size_t>(action->bytes()),
                                       .begin = begin,
                                       .end = begin + time,
                                       .after = cause.activity});
    }
    events_.add(begin + time, event);
  }

  void end(const Event& event) {
    State& state = members_[event.member];
    WindowMember& member = state.member;
    state.busy = false;
    if (event.action.tells) ++member.told[*event.action.tells];
    if (event.action.finishes_part) ++member.unseen_finished;
    if (event.action.tells || event.action.finishes_part) {
      Event seen = event;
      seen.is_seen = true;
      const Picoseconds flag = picoseconds(network_.description().direct->flag);
      seen.cause.shares.latency += flag;
      events_.add(events_.now() + flag, seen);
    }
    if (event.action.ends_call) {
      const std::size_t seen = member.announcements_seen;
      member = {.self = event.member, .call = event.call + 1, .announcements_seen = seen};
      if (member.call == wanted_.calls && events_.now() > last_end_) {
        last_end_ = events_.now();
        last_ = event.cause;
        result_.last_rank = static_cast<Rank>(event.member);
        result_.last_step = static_cast<std::uint32_t>(event.action.round);
      }
    }
    go_on(event.member, event.cause);
  }

  void see(const Event& event) {
    WindowMember& member = members_[event.member].member;
    WindowCall& call = row_[event.call];
    const bool is_current = member.call == event.call;
    if (event.action.finishes_part) {
      ++call.finished_seen;
      if (is_current) --member.unseen_finished;
    }
    if (event.action.tells) {
      const std::size_t sign = *event.action.tells, count = event.action.tells == announced ? 0 : event.action.round;
      std::vector<std::uint32_t>& seen = call.seen[sign];
      const std::size_t at = sign == sign_of(Stage::parts_done) ? 0 : count;
      if (seen.size() <= at) seen.resize(at + 1);
      ++seen[at];
      if (is_current) member.seen[sign] = at + 1;
      if (sign == announced) {
        ++member.announcements_seen;
        call.announced_by.resize(members_.size());
        call.announced_by[event.member] = true;
      }
    }
    for (std::uint32_t other = 0; other < members_.size(); ++other) {
      if (!members_[other].busy) go_on(other, event.cause, true);
    }
  }

  Simulation finish() {
    result_.time = last_.shares.sum();
    result_.critical_path = last_.shares;
    result_.processor_bound = work_ / static_cast<Picoseconds>(cores_.size());
    result_.ranks = result_.period = network_.size();
    result_.critical = log_.path_to(last_.activity);
    result_.activities = std::move(log_).take();
    return std::move(result_);
  }

  const Network& network_;
  const SimulatedDirectCall& wanted_;
  DirectSetting setting_;
  DirectRates rates_;
  MemberRules rules_;
  std::vector<WindowCall> row_;
  std::vector<State> members_;
  std::priority_queue<Picoseconds, std::vector<Picoseconds>, std::greater<>> cores_;  // when each is free
  EventQueue<Event> events_;
  Picoseconds work_ = 0, last_end_ = -1;
  Cause last_;
  ActivityLog log_;
  Simulation result_;
};

}  // namespace

Simulation simulate_direct(const Network& network, const SimulatedDirectCall& call) {
  return WindowRun(network, call).run();
}

}  // namespace hocket
