#include "tests/unit/exec/progress_model.hpp"

namespace hocket::progress_model {

namespace state = progress;

void Model::step(const World& before, std::uint8_t index, std::vector<World>& worlds) const {
  World world = before;
  Actor& actor = world.actors[index];
  const auto self = static_cast<std::int8_t>(index);
  if (actor.pc == Pc::end && actor.pending == 0) return;
  bool moved = false;
  if (actor.pending != 0) {
    moved = wake(world, actor, self);
  } else if (actor.pc >= Pc::attend && actor.pc <= Pc::break_down) {
    moved = hold(world, actor);
  } else if (actor.pc <= Pc::leave) {
    moved = call(world, actor, self);
  } else if (actor.pc <= Pc::watch_clear) {
    moved = watch(world, actor, self);
  } else {
    moved = act(world, actor);
  }
  if (moved) worlds.push_back(world);
  // A deadline passes while this caller waits for others, or sleeps itself.
  const Actor& was = before.actors[index];
  if (was.role != Role::impatient || was.pending != 0 || was.out_of_time) return;
  if (was.pc != Pc::relock && was.pc != Pc::slept) return;
  world = before;
  world.actors[index].out_of_time = true;
  world.actors[index].asleep_on_cv = false;
  if (was.pc == Pc::slept) world.actors[index].pc = Pc::awake;
  worlds.push_back(world);
}

// As ProgressLock::wake_now() does, in its order.
bool Model::wake(World& world, Actor& actor, std::int8_t) const {
  if ((actor.pending & wake_window) != 0) {
    world.window_event = true;
    actor.pending &= ~wake_window;
  } else if ((actor.pending & wake_poll) != 0) {
    world.holder_event = true;
    actor.pending &= ~wake_poll;
  } else if ((actor.pending & wake_watcher) != 0) {
    world.watcher_event = true;
    actor.pending &= ~wake_watcher;
  } else if ((actor.pending & pass_mutex) != 0) {
    if (world.mutex != -1 && !mutation_.notifies_without_mutex) return false;
    actor.pending = static_cast<std::uint8_t>((actor.pending & ~pass_mutex) | notify);
  } else {
    for (Actor& other : world.actors) other.asleep_on_cv = false;
    actor.pending &= ~notify;
  }
  return true;
}

bool Model::advance(World& world) const {
  bool happened = false;
  for (std::uint8_t i = 0; i < operations_; ++i) {
    if (world.operations[i] != Phase::running || (world.data >> i & 1) == 0) continue;
    world.operations[i] = Phase::finished;
    world.unannounced = happened = true;
  }
  return happened;
}

bool Model::anything_runs(const World& world) const {
  for (std::uint8_t i = 0; i < operations_; ++i) {
    if (world.operations[i] == Phase::running) return true;
  }
  return false;
}

// As ProgressEngine does.
bool Model::hold(World& world, Actor& actor) const {
  const auto go = [&](Pc pc) {
    actor.pc = pc;
    return true;
  };
  switch (actor.pc) {
    case Pc::attend:
      actor.called = (world.word & state::links_call) != 0;
      if ((world.word & state::abort_requested) != 0) return go(Pc::break_down);
      if ((world.word & state::submitted) == 0) return go(Pc::announce);
      apply(world, actor, Event::accept, state::accept(world.word));
      return go(Pc::accept_inbox);
    case Pc::break_down:
      world.closed = true;
      apply(world, actor, Event::break_down, state::break_down(world.word));
      for (std::uint8_t i = 0; i < operations_; ++i) {
        if (world.operations[i] != Phase::absent) world.operations[i] = Phase::finished;
      }
      world.unannounced = true;
      return go(Pc::announce);
    case Pc::accept_inbox:
      for (std::uint8_t i = 0; i < operations_; ++i) {
        if (world.operations[i] == Phase::inbox) world.operations[i] = Phase::running;
      }
      return go(Pc::announce);
    case Pc::announce:
      if (world.unannounced && state::has_callers(world.word)) {
        world.unannounced = false;
        Transition announced{.wakes = {.waiters = true}};
        if (mutation_.event == Event::announce) mutation_.change(announced);
        add_wakes(actor, announced.wakes);
      }
      return go(actor.called ? Pc::look : Pc::advance);
    case Pc::look: apply(world, actor, Event::look, state::look(world.word)); return go(Pc::list);
    case Pc::list: world.shown = static_cast<std::uint8_t>((world.shown + 1) % 4); return go(Pc::show);
    case Pc::show: apply(world, actor, Event::show, state::show(world.word)); return go(Pc::links);
    case Pc::links: world.links_changed = false; return go(Pc::advance);
    case Pc::advance:
      advance(world);
      if (!window_ || !anything_runs(world)) world.links_changed = false;
      return go(Pc::goal);
    default: return sleep_or_release(world, actor);
  }
}

// The other half of the round: whether it is over, and how it sleeps.
bool Model::sleep_or_release(World& world, Actor& actor) const {
  const auto go = [&](Pc pc) {
    actor.pc = pc;
    return true;
  };
  const bool watches = actor.role == Role::watcher;
  const bool on_window = window_ && !watches && anything_runs(world);  // where it sleeps
  switch (actor.pc) {
    case Pc::goal: {
      bool reached = actor.out_of_time || finished(world, actor);
      if (watches) {
        reached = state::has_callers(world.word) || (world.word & state::stopping) != 0 ||
                  (!anything_runs(world) && (world.word & state::submitted) == 0);
      }
      return go(reached ? Pc::release : on_window ? Pc::ticket : Pc::fall_asleep);
    }
    case Pc::ticket: world.window_event = false; return go(Pc::fall_asleep);
    case Pc::fall_asleep: {
      const Transition slept = state::fall_asleep(world.word, on_window, world.unannounced);
      if (!apply(world, actor, Event::fall_asleep, slept)) return go(Pc::attend);
      return go(Pc::last_advance);
    }
    case Pc::last_advance: return go(window_ && advance(world) ? Pc::awake : Pc::slept);
    case Pc::slept: {
      bool ready = false;
      for (std::uint8_t i = 0; i < operations_; ++i) {
        ready |= world.operations[i] == Phase::running && (world.data >> i & 1) != 0;
      }
      ready |= on_window ? world.window_event : world.holder_event || world.links_changed;
      return ready && go(Pc::awake);
    }
    case Pc::awake:
      world.holder_event = false;
      apply(world, actor, Event::awake, state::awake(world.word));
      return go(Pc::attend);
    case Pc::release:
      world.unannounced = false;
      apply(world, actor, Event::release, state::release(world.word, anything_runs(world)));
      actor.called = false;
      return go(watches ? Pc::watch : Pc::end);
    default: return false;
  }
}

// As Watcher::run() and ProgressLock::have_links_looked_at().
bool Model::watch(World& world, Actor& actor, std::int8_t self) const {
  const auto go = [&](Pc pc) {
    actor.pc = pc;
    return true;
  };
  switch (actor.pc) {
    case Pc::watch:
      if ((world.word & state::stopping) != 0) return go(Pc::end);
      if (apply(world, actor, Event::take_as_watcher, state::take_as_watcher(world.word, actor.called, true))) {
        return go(Pc::attend);
      }
      return go(actor.called ? Pc::call : Pc::lie_down);
    case Pc::lie_down: {
      const Transition down = state::lie_down(world.word);
      actor.out_of_time = (down.next & state::dozing) != 0;
      apply(world, actor, Event::lie_down, down);
      return go(Pc::watch_poll);
    }
    case Pc::call:
      actor.shown_before = world.shown;
      apply(world, actor, Event::call_to_links, state::call_to_links(world.word));
      return go(Pc::watch_lock);
    case Pc::watch_lock: return lock(world, self) && go(Pc::watch_wait);
    case Pc::watch_wait:
      if (apply(world, actor, Event::wait_as_watcher, state::wait_as_watcher(world.word))) return go(Pc::looked);
      world.mutex = -1;
      return go(Pc::resume);
    case Pc::looked:
      if (world.shown == actor.shown_before) return go(Pc::watch_cv_sleep);
      world.mutex = -1;
      return go(Pc::resume);
    case Pc::watch_cv_sleep:
      world.mutex = -1;
      actor.asleep_on_cv = true;
      return go(Pc::watch_relock);
    case Pc::watch_relock: return !actor.asleep_on_cv && lock(world, self) && go(Pc::watch_wait);
    case Pc::resume:
      apply(world, actor, Event::resume_as_watcher, state::resume_as_watcher(world.word));
      actor.called = world.shown == actor.shown_before;
      return go(Pc::watch);
    case Pc::watch_poll:
      actor.called = world.links_changed;
      return (world.watcher_event || world.links_changed || actor.out_of_time) && go(Pc::watch_clear);
    case Pc::watch_clear: world.watcher_event = actor.out_of_time = false; return go(Pc::watch);
    default: return false;
  }
}

bool Model::may_come(const World& world, std::uint8_t operation) const {
  switch (peers_) {
    case Peers::ready: return true;
    case Peers::want_all_begun:
      for (std::uint8_t i = 0; i < operations_; ++i) {
        if (world.operations[i] < Phase::running) return false;
      }
      return true;
    case Peers::want_other_returned:
      if (operation != 0) return true;
      for (const Actor& actor : world.actors) {
        if (actor.role <= Role::impatient && actor.operation != 0 && actor.pc != Pc::end) return false;
      }
      return true;
    case Peers::silent: break;
  }
  return false;
}

bool Model::act(World& world, Actor& actor) const {
  switch (actor.role) {
    case Role::data:
      if (!may_come(world, actor.operation)) return false;
      world.data = static_cast<std::uint8_t>(world.data | 1U << actor.operation);
      break;
    case Role::newcomer: world.links_changed = true; break;
    case Role::aborter: apply(world, actor, Event::request_abort, state::request_abort(world.word)); break;
    default: apply(world, actor, Event::stop, state::stop(world.word)); break;
  }
  actor.pc = Pc::end;
  return true;
}

}  // namespace hocket::progress_model
