// A model of the threads that meet at an executor: callers, the watcher, one who aborts, and the peers. Each takes one
// step at a time, in any order; every step that changes the word applies the real function of progress_state.hpp. What
// the model adds is what the word is about: operations, a mutex, a condition variable, and events that end a poll(2).
//
// Nothing wakes up by itself here: neither spuriously, nor at the end of a minute, nor at a deadline, unless an actor
// is impatient, or the watcher dozes. So wherever everybody sleeps although something is left to do, a wake-up was
// lost.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "src/exec/progress_state.hpp"

namespace hocket::progress_model {

using progress::State;
using progress::Transition;
using progress::Wakes;

// What may happen to the word; a mutation names one.
enum class Event : std::uint8_t {
  take,
  take_as_watcher,
  want,
  take_as_wanted,
  leave,
  release,
  release_started,
  leave_started,
  fall_asleep,
  awake,
  accept,
  look,
  show,
  break_down,
  submit,
  request_abort,
  stop,
  call_to_links,
  wait_as_watcher,
  resume_as_watcher,
  lie_down,
  announce,
  none,
};

// A defect put in on purpose.
struct Mutation {
  Event event = Event::none;
  std::function<void(Transition&)> change = [](Transition&) {};
  bool notifies_without_mutex = false;  // wakers do not wait for a thread that is about to sleep
};

enum class Role : std::uint8_t {
  run,
  start,
  start_here,      // what it starts begins on its thread, where nobody progresses
  start_and_wait,  // callers, as the executor's functions of these names
  impatient,       // starts and waits, but its deadline may pass
  exclusive,       // a caller who needs progress itself, not the end of an operation
  watcher,
  aborter,
  stopper,
  newcomer,  // at the links, where somebody must look
  data,      // what an operation waits for
};

// When what an operation waits for comes from its peer: at any time; or when the peer has what it waits for itself,
// that the other operation begins or that its caller has returned; or never.
enum class Peers : std::uint8_t { ready, want_all_begun, want_other_returned, silent };

enum class Pc : std::uint8_t {
  // Callers.
  take,
  add,
  hand_back,
  put,
  submit,
  wait_take,
  want,
  lock,
  check,
  try_take,
  cv_sleep,
  relock,
  leave,
  // The actor that holds progress.
  attend,
  accept_inbox,
  announce,
  look,
  list,
  show,
  links,
  advance,
  goal,
  ticket,
  fall_asleep,
  last_advance,
  slept,
  awake,
  release,
  break_down,
  // The watcher.
  watch,
  lie_down,
  call,
  watch_lock,
  watch_wait,
  looked,
  watch_cv_sleep,
  watch_relock,
  resume,
  watch_poll,
  watch_clear,
  // The others.
  act,
  abort,
  end,
};

enum class Phase : std::uint8_t { absent, inbox, running, finished };

// One pending thing after another, since a thread wakes others step by step.
enum Pending : std::uint8_t { wake_poll = 1, wake_window = 2, wake_watcher = 4, pass_mutex = 8, notify = 16 };

struct Actor {
  Role role = Role::run;
  Pc pc = Pc::end;
  std::uint8_t pending = 0;
  std::uint8_t operation = 0;
  bool asleep_on_cv = false;
  bool called = false;       // the watcher's; of the actor that holds progress: the links are to be looked at
  bool out_of_time = false;  // an impatient caller's; the watcher's: it wakes up by itself
  std::uint8_t shown_before = 0;
};

constexpr std::size_t actors_max = 7, operations_max = 2;

struct World {
  State word = 0;
  std::int8_t mutex = -1;  // who holds it
  bool holder_event = false, watcher_event = false, window_event = false;
  bool unannounced = false, closed = false;
  bool links_changed = false;  // and nobody has looked
  std::uint8_t shown = 0, data = 0;
  std::array<Phase, operations_max> operations{};
  std::uint8_t nothing = 0;  // so that two worlds are equal where their bytes are
  std::array<Actor, actors_max> actors{};
};
static_assert(std::has_unique_object_representations_v<World>);

// The actors that meet.
struct Scenario {
  std::vector<Role> roles;
  Peers peers = Peers::ready;
  bool over_window = false;
  bool after_many_starts = false;  // and the watcher has not lain down since
};

class Model {
 public:
  Model(const Scenario& scenario, const Mutation& mutation)
      : window_(scenario.over_window), peers_(scenario.peers), mutation_(mutation) {
    if (scenario.after_many_starts) first_.word = progress::many_starts;
    for (const Role role : scenario.roles) {
      Actor& actor = first_.actors[size_++] = {.role = role, .pc = Pc::act};
      if (role == Role::watcher) actor.pc = Pc::watch;
      const bool puts = role == Role::start || role == Role::start_and_wait || role == Role::impatient;
      if (role <= Role::exclusive) actor.pc = puts ? Pc::put : Pc::take;
      if (role <= Role::impatient) actor.operation = operations_++;
    }
    for (std::uint8_t i = 0; i < operations_; ++i) {
      first_.actors[size_++] = {.role = Role::data, .pc = Pc::act, .operation = i};
    }
  }
  const World& first() const { return first_; }
  // Where one step of one actor leads; a choice leads to several worlds.
  std::vector<World> next(const World& world) const {
    std::vector<World> worlds;
    for (std::uint8_t actor = 0; actor < size_; ++actor) step(world, actor, worlds);
    return worlds;
  }
  // Requires that nobody can move. What waits for silent peers may do so for ever, unless everything has broken.
  bool everything_is_done(const World& world) const {
    const bool stopping = (world.word & progress::stopping) != 0;
    const bool may_wait = peers_ == Peers::silent && (world.word & progress::broken) == 0;
    bool done =
        world.mutex == -1 && (!world.links_changed || stopping) && (world.word & progress::abort_requested) == 0;
    for (std::uint8_t i = 0; i < operations_; ++i) {
      done &= world.operations[i] == Phase::finished || (may_wait && world.operations[i] == Phase::running);
    }
    for (std::uint8_t i = 0; i < size_; ++i) {
      const Actor& actor = world.actors[i];
      const bool waits = may_wait && actor.role <= Role::impatient;
      const bool watches = actor.role == Role::watcher && !stopping && (may_wait || actor.pc == Pc::watch_poll);
      done &= actor.pc == Pc::end || actor.role == Role::data || waits || watches;
    }
    return done;
  }
  bool is_sound(const World& world) const {
    int holders = 0;
    for (std::uint8_t i = 0; i < size_; ++i) {
      const Pc pc = world.actors[i].pc;
      holders += (pc >= Pc::attend && pc <= Pc::break_down) || pc == Pc::add || pc == Pc::hand_back;
    }
    return holders == ((world.word & progress::taken) != 0 ? 1 : 0);
  }

 private:
  void step(const World& before, std::uint8_t index, std::vector<World>& worlds) const;
  bool wake(World& world, Actor& actor, std::int8_t self) const;
  bool hold(World& world, Actor& actor) const;
  bool sleep_or_release(World& world, Actor& actor) const;
  bool call(World& world, Actor& actor, std::int8_t self) const;
  bool start_here(World& world, Actor& actor) const;
  bool watch(World& world, Actor& actor, std::int8_t self) const;
  bool act(World& world, Actor& actor) const;

  bool apply(World& world, Actor& actor, Event event, Transition transition) const {
    if (event == mutation_.event) mutation_.change(transition);
    if (transition.allowed) world.word = transition.next;
    add_wakes(actor, transition.wakes);
    return transition.allowed;
  }
  static void add_wakes(Actor& actor, const Wakes& wakes) {
    if (wakes.holder) actor.pending |= wakes.holder_on_window ? wake_window : wake_poll;
    if (wakes.watcher) actor.pending |= wake_watcher;
    if (wakes.waiters) actor.pending |= pass_mutex;
  }
  static bool lock(World& world, std::int8_t self) {
    if (world.mutex != -1) return false;
    world.mutex = self;
    return true;
  }
  static bool finished(const World& world, const Actor& actor) {
    return actor.role <= Role::impatient && world.operations[actor.operation] == Phase::finished;
  }
  bool may_come(const World& world, std::uint8_t operation) const;
  bool advance(World& world) const;
  bool anything_runs(const World& world) const;

  const bool window_;
  const Peers peers_;
  const Mutation& mutation_;
  World first_;
  std::uint8_t size_ = 0, operations_ = 0;
};

}  // namespace hocket::progress_model
