// ProgressState: which thread progresses, which threads sleep, and what there is to do, in one word of memory. Every
// event is one of the functions below: it maps the word to the next one and says which sleepers must be woken once that
// is stored. They are pure; ProgressLock applies them to an atomic word, and a test applies them in every possible
// order to show that no wake-up is ever lost. docs/reference/threads.md has them as a table.
//
// Three kinds of sleepers exist: the thread that progresses, in poll(2) or on the window; callers who want to progress
// in its place, or whose operations it completes, on a condition variable; and the watcher, in poll(2) or, when it has
// seen something that somebody else must look at, on the condition variable.
#pragma once

#include <cstdint>

namespace hocket::progress {

using State = std::uint32_t;

// ---- the bits -------------------------------------------------------------------------------------------------------

inline constexpr State taken = 1U << 0;       // a thread progresses: the holder
inline constexpr State by_watcher = 1U << 1;  // and it is the watcher, which gives way to callers
inline constexpr State asleep = 1U << 2;      // the holder sleeps or is about to; a thread that wants it must wake it
inline constexpr State on_window = 1U << 3;   // and it does so on the window, not in poll(2)
inline constexpr State submitted = 1U << 4;   // operations were submitted that no holder has accepted
inline constexpr State unfinished = 1U << 5;  // the latest holder left operations behind
inline constexpr State abort_requested = 1U << 6;  // and not yet carried out
inline constexpr State links_call = 1U << 7;       // the watcher saw something at the links; the holder must look
inline constexpr State watcher_waits = 1U << 8;    // on the condition variable
inline constexpr State broken = 1U << 9;           // nothing is accepted any more
inline constexpr State stopping = 1U << 10;        // likewise, and the watcher ends
inline constexpr State dozing = 1U << 11;          // the watcher looks at this word before long, without being woken
// Four bits count, up to many, what was started since the watcher lay down, from what was submitted last on.
inline constexpr State one_start = 1U << 12, many_starts = 15U << 12;
inline constexpr State one_caller = 1U << 16;  // the bits from here on count the callers who want to progress

// Whom to wake.
struct Wakes {
  bool holder = false;
  bool holder_on_window = false;  // where the holder sleeps; means nothing if it is not to be woken
  bool waiters = false;           // all threads that wait on the condition variable
  bool watcher = false;           // from its poll(2)

  friend constexpr bool operator==(const Wakes&, const Wakes&) = default;
};

// What an event makes of a state. Not allowed: the event cannot happen in this state, which stays as it is.
struct Transition {
  State next = 0;
  Wakes wakes = {};
  bool allowed = true;
};

// ---- what a state says ----------------------------------------------------------------------------------------------

constexpr bool has_callers(State state) {
  return state >= one_caller;
}
// Somebody must progress, and nobody who does so for reasons of their own has to.
constexpr bool has_work(State state) {
  return (state & (submitted | unfinished | abort_requested)) != 0;
}
// Callers have started one operation after another lately, each of which began on their threads: then they progress.
constexpr bool has_many_starts(State state) {
  return (state & many_starts) == many_starts;
}
// The holder should let a caller have its place.
constexpr bool gives_way(State state) {
  return (state & by_watcher) != 0 && has_callers(state);
}
// The holder must not sleep.
constexpr bool must_look(State state) {
  return (state & (submitted | abort_requested | links_call | stopping)) != 0 || gives_way(state);
}
// The watcher, which saw something at the links while somebody progressed, has to wait for that.
constexpr bool keeps_watcher_waiting(State state) {
  return (state & stopping) == 0 && ((state & taken) != 0 || has_callers(state));
}

namespace detail {

constexpr Transition refused(State state) {
  return {.next = state, .allowed = false};
}
constexpr Wakes sleeping_holder(State state) {
  return {.holder = (state & asleep) != 0, .holder_on_window = (state & on_window) != 0};
}
// The watcher should progress, and does not find that out by itself.
constexpr bool needs_watcher(State state) {
  return (state & (taken | dozing)) == 0 && !has_callers(state);
}
// Nobody progresses any more, or a caller who might have done so has gone: who takes over?
constexpr Wakes successors(State state) {
  if ((state & taken) != 0) return {};
  return {.waiters = has_callers(state) || (state & watcher_waits) != 0,
          .watcher = needs_watcher(state) && has_work(state)};
}

// How many operations came lately, and how the watcher sleeps, concerns the watcher only: it clears these two itself,
// and only when it wakes up.
constexpr bool is_rest(State state) {
  return (state & ~(dozing | many_starts)) == 0;
}
constexpr State count_start(State state) {
  return has_many_starts(state) ? state : state + one_start;
}

}  // namespace detail

// ---- taking and giving up progress ----------------------------------------------------------------------------------

// By a caller who has not asked for it before.
constexpr Transition take(State state) {
  return (state & taken) != 0 ? detail::refused(state) : Transition{.next = state | taken};
}
// By a caller who only takes it where nobody progresses or wants to, and nothing is to be done.
constexpr Transition take_from_rest(State state) {
  return detail::is_rest(state) ? Transition{.next = state | taken} : detail::refused(state);
}
// release() where that leaves nothing and wakes nobody; otherwise nothing happens.
constexpr Transition return_to_rest(State state) {
  const State next = state & ~taken;
  return detail::is_rest(next) ? Transition{.next = next} : detail::refused(state);
}
// The watcher progresses only where no caller wants to. `called`: it has seen something itself. `patient`: nor where
// callers are about to, as those are who start one operation after another.
constexpr Transition take_as_watcher(State state, bool called, bool patient) {
  if ((state & (taken | stopping)) != 0 || has_callers(state)) return detail::refused(state);
  const bool put_off = patient && has_many_starts(state) && (state & abort_requested) == 0;
  if (!called && (put_off || !has_work(state))) return detail::refused(state);
  return {.next = state | taken | by_watcher | (called ? links_call : 0)};
}
// A caller found progress taken and will wait for it, or for the end of its operations.
constexpr Transition want(State state) {
  return {.next = state + one_caller, .wakes = (state & by_watcher) != 0 ? detail::sleeping_holder(state) : Wakes{}};
}
constexpr Transition take_as_wanted(State state) {
  return (state & taken) != 0 ? detail::refused(state) : Transition{.next = (state - one_caller) | taken};
}
// A caller does not want it any more: its operations have finished, or its time is over.
constexpr Transition leave(State state) {
  return {.next = state - one_caller, .wakes = detail::successors(state - one_caller)};
}
constexpr Transition release(State state, bool leaves_work) {
  const State next = (state & ~(taken | by_watcher | asleep | on_window | unfinished)) | (leaves_work ? unfinished : 0);
  return {.next = next, .wakes = detail::successors(next)};
}
// release() by a caller who has started operations and not waited for them: as submit(), where all are taken in.
constexpr Transition release_started(State state, bool leaves_work) {
  return release(detail::count_start(state), leaves_work);
}
// release_started() with work that is left, in the midst of many starts: nothing else of the word changes, and nobody
// is woken. Otherwise nothing happens.
constexpr Transition leave_started(State state) {
  constexpr State left = unfinished | dozing | many_starts;
  return state == (left | taken) ? Transition{.next = left} : detail::refused(state);
}

// ---- the holder -----------------------------------------------------------------------------------------------------

// Before it sleeps. `unannounced`: it has completed operations and not woken the callers since, see ProgressLock.
constexpr Transition fall_asleep(State state, bool window, bool unannounced) {
  if (must_look(state) || (unannounced && has_callers(state))) return detail::refused(state);
  return {.next = state | asleep | (window ? on_window : 0)};
}
constexpr Transition awake(State state) {
  return {.next = state & ~(asleep | on_window)};
}
constexpr Transition accept(State state) {
  return {.next = state & ~submitted};
}
// Before it looks at the links; a call that comes from here on asks for another look.
constexpr Transition look(State state) {
  return {.next = state & ~links_call};
}
// It has shown the watcher what to watch, and so that it looks.
constexpr Transition show(State state) {
  return {.next = state, .wakes = {.waiters = (state & watcher_waits) != 0, .watcher = (state & by_watcher) == 0}};
}
constexpr Transition break_down(State state) {
  return {.next = (state & ~(submitted | abort_requested)) | broken};
}

// ---- everybody else -------------------------------------------------------------------------------------------------

constexpr Transition submit(State state) {
  if ((state & (broken | stopping)) != 0) return detail::refused(state);
  Wakes wakes = detail::sleeping_holder(state);
  wakes.watcher = detail::needs_watcher(state);
  return {.next = (state & ~many_starts) | one_start | submitted, .wakes = wakes};
}
constexpr Transition request_abort(State state) {
  if ((state & (broken | abort_requested)) != 0) return detail::refused(state);
  Wakes wakes = detail::sleeping_holder(state);
  wakes.watcher = (state & taken) == 0 && !has_callers(state);
  return {.next = state | abort_requested, .wakes = wakes};
}
constexpr Transition stop(State state) {
  Wakes wakes = detail::sleeping_holder(state);
  wakes.waiters = wakes.watcher = true;
  return {.next = state | stopping, .wakes = wakes};
}

// The watcher, before its poll(2). Whoever starts operations asynchronously mostly waits for them soon, and progresses
// then; waking the watcher each time would cost more than many an operation. So while operations keep coming it only
// dozes: it need not be woken for them, but looks after them a moment later if nobody else does.
constexpr Transition lie_down(State state) {
  const bool left = (state & taken) == 0 && !has_callers(state) && has_work(state);
  const State next = state & ~(dozing | many_starts);
  return {.next = (state & many_starts) != 0 || left ? next | dozing : next};
}
// The watcher has seen something while somebody else progresses, or is about to.
constexpr Transition call_to_links(State state) {
  return {.next = state | links_call, .wakes = detail::sleeping_holder(state)};
}
constexpr Transition wait_as_watcher(State state) {
  return keeps_watcher_waiting(state) ? Transition{.next = state | watcher_waits} : detail::refused(state);
}
constexpr Transition resume_as_watcher(State state) {
  return {.next = state & ~watcher_waits};
}

}  // namespace hocket::progress
