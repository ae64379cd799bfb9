// What callers do in the model.
#include "tests/unit/exec/progress_model.hpp"

namespace hocket::progress_model {

namespace state = progress;

// As Executor::starts_here(): behind what was submitted, unless something else is to be done first.
bool Model::start_here(World& world, Actor& actor) const {
  actor.pc = Pc::hand_back;
  if ((world.word & (state::abort_requested | state::broken | state::stopping)) != 0) return true;
  if ((world.word & state::submitted) != 0) {
    apply(world, actor, Event::accept, state::accept(world.word));
    for (std::uint8_t i = 0; i < operations_; ++i) {
      if (world.operations[i] == Phase::inbox) world.operations[i] = Phase::running;
    }
  }
  world.operations[actor.operation] = Phase::running;
  advance(world);
  return true;
}

// As Executor::run(), start() and wait(), and ProgressLock::take_unless().
bool Model::call(World& world, Actor& actor, std::int8_t self) const {
  const auto go = [&](Pc pc) {
    actor.pc = pc;
    return true;
  };
  Phase& operation = world.operations[actor.operation];
  switch (actor.pc) {
    case Pc::take: {
      const bool taken = apply(world, actor, Event::take, state::take(world.word));
      if (actor.role == Role::exclusive) return go(taken ? Pc::release : Pc::want);
      return go(taken ? Pc::add : Pc::put);
    }
    case Pc::add:
      if (actor.role == Role::start_here) return start_here(world, actor);
      if ((world.word & (state::submitted | state::broken)) == 0) {
        operation = Phase::running;
      } else if (world.closed) {
        operation = Phase::finished;
        return go(Pc::release);
      } else {
        operation = Phase::inbox;
        apply(world, actor, Event::submit, state::submit(world.word));
      }
      return go(Pc::attend);
    case Pc::hand_back: {
      world.unannounced = false;
      const bool started = operation != Phase::absent;
      const bool leaves = anything_runs(world);
      const bool short_way = leaves && apply(world, actor, Event::leave_started, state::leave_started(world.word));
      if (!short_way) apply(world, actor, Event::release_started, state::release_started(world.word, leaves));
      return go(started ? Pc::end : Pc::put);
    }
    case Pc::put:
      operation = world.closed ? Phase::finished : Phase::inbox;
      return go(world.closed ? Pc::end : Pc::submit);
    case Pc::submit:
      apply(world, actor, Event::submit, state::submit(world.word));
      return go(actor.role == Role::start || actor.role == Role::start_here ? Pc::end : Pc::wait_take);
    case Pc::wait_take:
      if (finished(world, actor)) return go(Pc::end);
      return go(apply(world, actor, Event::take, state::take(world.word)) ? Pc::attend : Pc::want);
    case Pc::want: apply(world, actor, Event::want, state::want(world.word)); return go(Pc::lock);
    case Pc::lock: return lock(world, self) && go(Pc::check);
    case Pc::check:
      if (!finished(world, actor) && !actor.out_of_time) return go(Pc::try_take);
      world.mutex = -1;
      return go(Pc::leave);
    case Pc::try_take:
      if (!apply(world, actor, Event::take_as_wanted, state::take_as_wanted(world.word))) return go(Pc::cv_sleep);
      world.mutex = -1;
      return go(actor.role == Role::exclusive ? Pc::release : Pc::attend);
    case Pc::cv_sleep:
      world.mutex = -1;
      actor.asleep_on_cv = true;
      return go(Pc::relock);
    case Pc::relock: return !actor.asleep_on_cv && lock(world, self) && go(Pc::check);
    case Pc::leave: apply(world, actor, Event::leave, state::leave(world.word)); return go(Pc::end);
    default: return false;
  }
}

}  // namespace hocket::progress_model
