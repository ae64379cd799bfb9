#include "src/exec/executor.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "src/exec/executor_parts.hpp"
#include "src/exec/recording.hpp"
#include "src/spi/plain_messages.hpp"

namespace hocket {
namespace {

const Status destroyed(Code::aborted, "the communicator was destroyed");  // made beforehand: ending needs no memory
const Status not_finished(Code::in_progress, "the operation is not finished yet");

}  // namespace

// ---- making and ending ----------------------------------------------------------------------------------------------

Executor::Executor(const Config& config) : parts_(std::make_unique<Parts>(config)) {
  parts_->engine.on_break([this] {
    if (parts_->config.let_go) parts_->config.let_go();
    if (parts_->config.on_break) parts_->config.on_break(recording());
  });
}

Result<std::unique_ptr<Executor>> Executor::make(const Config& config) {
  std::unique_ptr<Executor> executor(new Executor(config));
  if (!config.alone) {
    if (Status opened = executor->parts_->lock.open(); !opened.ok()) return opened;
  }
  return executor;
}

Executor::~Executor() {
  stop(destroyed);
}

Status Executor::attach(Peers& peers) {
  parts_->engine.attach(&peers);
  if (parts_->config.alone) return {};
  return parts_->watcher.start({.progress =
                                    [&parts = *parts_] {
                                      const ProgressGuard progress(parts);
                                      parts.engine.run({.nobody = true}, Deadline::never());
                                    },
                                .fail =
                                    [&parts = *parts_] {
                                      if (parts.failure.request_abort(parts.failure.of_exception()))
                                        parts.lock.request_abort();
                                    }});
}

void Executor::stop(const Status& why) {
  ProgressEngine& engine = parts_->engine;
  parts_->lock.stop();
  parts_->watcher.join();
  if (!engine.attached()) return;
  if (!engine.idle() || (parts_->lock.state() & progress::submitted) != 0) engine.break_down(why);
  parts_->inbox.close();
  engine.attach(nullptr);
}

Executor::Exchanged Executor::exchanged(const Context& context, Rank rank) const {
  const PeerCounters::Values counted = context.counted_with(rank);
  return {.counted = counted, .waited = parts_->recorder.time_in(counted.waited_ticks)};
}

Recording Executor::recording() const {
  Recording recording{.communicators = {},
                      .operations = parts_->recorder.operations(),
                      .steps = {},
                      .waits = parts_->recorder.waits(),
                      .broken = parts_->failure.get()};
  if (parts_->steps) recording.steps = parts_->steps->steps(parts_->recorder.clock());
  for (const auto& context : parts_->contexts.all()) {
    recording.communicators.push_back(
        {.identity = context->identity(), .calls = context->calls(), .counters = context->counted()});
  }
  return recording;
}

void Executor::set_wait_budget(const WaitBudget& budget) {
  parts_->engine.set_wait_budget(budget);
}

void Executor::use_window(Window& window) {
  parts_->engine.use_window(window);
}

void Executor::use_several_windows() {
  parts_->engine.use_several_windows();
}

Rank Executor::rank() const {
  return parts_->config.rank;
}

TransportListener& Executor::listener() {
  return parts_->engine;
}

const std::shared_ptr<Context>& Executor::first() const {
  return parts_->contexts.first();
}

std::shared_ptr<Context> Executor::add(Context::Identity identity) {
  return parts_->contexts.add(std::move(identity));
}

void Executor::say_names() {
  parts_->contexts.say_names();
}

// ---- for callers ----------------------------------------------------------------------------------------------------

// Whether they were accepted.
bool Executor::submit(Operations operations) {
  try {
    if (!parts_->inbox.put(operations)) return false;
  } catch (...) {  // a persistent one is not running, then
    for (const auto& operation : operations) operation->take_back();
    throw;
  }
  parts_->lock.submit();
  return true;
}

Status Executor::run(Operations operations) {
  Parts& parts = *parts_;
  if (!parts.lock.try_take()) {
    Status started = start(operations);
    return started.ok() ? wait(operations, Deadline::never()) : started;
  }
  {
    const ProgressGuard progress(parts);
    constexpr progress::State in_the_way =
        progress::submitted | progress::abort_requested | progress::broken | progress::stopping;
    const bool meets_nobody = (parts.lock.state() & in_the_way) == 0;
    if (meets_nobody && parts.engine.idle() && parts.engine.needs_no_places(operations)) {
      operations.size() == 1 ? parts.engine.run_alone(operations.front()) : parts.engine.run_messages(operations);
      if (all_finished(operations)) {
        parts.lock.completed_alone();  // somebody may wait for one of these beside others
        return status_of(operations);
      }
    } else if (meets_nobody) {
      parts.engine.add_calls(operations);
    } else if (!submit(operations)) {
      return refuse(operations);
    }
    parts.engine.run({.operations = operations}, Deadline::never());
  }
  return status_of(operations);
}

// Mostly it is over at once, and then there is nothing else to be done. Progress is given back with a locked
// instruction; behind that, the others are woken.
bool Executor::run_again(const std::shared_ptr<Operation>& operation, const std::byte* input, std::byte* output) {
  Parts& parts = *parts_;
  if (!parts.engine.needs_no_place_again(*operation) || !parts.lock.take_from_rest())
    return false;  // nothing is queued
  const RanNow ran = parts.engine.begin_again(operation, input, output);
  if (ran == RanNow::over && parts.lock.return_to_rest()) [[likely]] {
    wake_behind_fence(*operation);
  } else {
    finish_again(operation, input, output, ran);
  }
  return true;
}

void Executor::finish_again(const std::shared_ptr<Operation>& operation, const std::byte* input, std::byte* output,
                            RanNow ran) {
  Parts& parts = *parts_;
  if (ran == RanNow::over) {
    wake(*operation);
  } else if (parts.engine.go_on(operation, input, output, ran) && parts.lock.return_to_rest()) {
    return;
  }
  const ProgressGuard progress(parts);
  if (!operation->finished()) parts.engine.run({.operations = {&operation, 1}}, Deadline::never());
}

bool Executor::run_again(Operations pair, const std::byte* input, std::byte* output) {
  if (!parts_->engine.needs_no_places(pair) || !parts_->lock.take_from_rest()) return false;
  pair[0]->bind_again(input, nullptr);
  pair[1]->bind_again(nullptr, output);
  const auto runs_now = [&](Operations in_order) { return parts_->engine.run_messages(in_order); };
  const bool now = receive_begins_first(pair[1]->signature()) ? runs_now(std::array{pair[1], pair[0]}) : runs_now(pair);
  if (now && parts_->lock.return_to_rest()) return true;
  const ProgressGuard progress(*parts_);
  if (!all_finished(pair)) parts_->engine.run({.operations = pair}, Deadline::never());
  return true;
}

// Nothing starts here where that is so; where somebody progresses, neither.
bool Executor::may_start_here() const {
  constexpr progress::State in_the_way = progress::abort_requested | progress::broken | progress::stopping;
  return (parts_->lock.state() & in_the_way) == 0;
}

// Messages begin on this thread where nobody progresses: mostly those of small data are over then. So do small calls
// over a window, as others may wait for what they announce.
bool Executor::starts_here(Operations operations) {
  Parts& parts = *parts_;
  const auto takes_no_time = [&](const auto& operation) {
    return operation->is_message() ? parts.engine.needs_no_place(*operation) : operation->is_small();
  };
  if (parts.config.alone || !std::ranges::all_of(operations, takes_no_time) || !parts.lock.try_take()) return false;
  const bool starts = may_start_here();
  if (starts) parts.engine.start_here(operations);
  parts.lock.release_started(parts.engine.rest());
  return starts;
}

Status Executor::start(Operations operations) {
  if (starts_here(operations)) return {};
  if (!submit(operations)) return refuse(operations);
  if (parts_->config.alone) finish_alone(operations);
  return {};
}

// Ends what was not accepted.
Status Executor::refuse(Operations operations) {
  Status why = broken();
  if (why.ok()) why = Status(Code::aborted, "the communicator is being destroyed");
  for (const auto& operation : operations) operation->finish(why);
  return why;
}

// Nobody else progresses. In a callback this thread may progress already; then the operations are left to that.
void Executor::finish_alone(Operations operations) {
  if (!Operation::in_callback()) {
    (void)wait(operations, Deadline::never());
  } else if (parts_->lock.try_take()) {
    const ProgressGuard progress(*parts_);
    parts_->engine.run({.nobody = true}, Deadline::never());
  }
}

Status Executor::wait(Operations operations, Deadline deadline) {
  const auto done = [&] { return all_finished(operations); };
  return wait_until(ProgressEngine::Goal{.operations = operations}, done, deadline) ? status_of(operations)
                                                                                    : not_finished;
}

Status Executor::wait(const RunEnd& run, Deadline deadline) {
  const auto done = [&] { return run.finished(); };
  return wait_until(ProgressEngine::Goal{.run = &run}, done, deadline) ? Status() : not_finished;
}

Status Executor::wait_any(std::span<const Operations> sets, std::span<const RunEnd* const> runs, Deadline deadline) {
  const auto done = [&] { return any_finished(sets, runs); };
  if (wait_until(ProgressEngine::Goal{.any = sets, .any_run = runs}, done, deadline)) return {};
  return Status(Code::in_progress, "no operation is finished yet");
}

// Whether `done` came in time.
template <class Goal, class Done>
bool Executor::wait_until(const Goal& goal, Done done, Deadline deadline) {
  if (done()) return true;
  if (parts_->lock.take_unless(done, deadline)) {
    const ProgressGuard progress(*parts_);
    parts_->engine.run(goal, deadline);
  }
  return done();
}

void Executor::listen(CompletionSignal& signal) {
  parts_->lock.listen(signal);
}

void Executor::forget(CompletionSignal& signal) {
  parts_->lock.forget(signal);
}

Status Executor::with_exclusive_progress(const std::function<Status()>& work) {
  (void)parts_->lock.take_unless([] { return false; }, Deadline::never());
  const ProgressGuard progress(*parts_);
  Status status = work();
  return status.ok() ? parts_->engine.take_peer_failure() : status;
}

void Executor::abort(const Status& why, const Context& context) {
  if (parts_->failure.request_abort(parts_->contexts.named(why, context))) parts_->lock.request_abort();
}

Status Executor::broken() const {
  const bool fails = (parts_->lock.state() & (progress::broken | progress::abort_requested)) != 0;
  return fails ? parts_->failure.get() : Status();
}

}  // namespace hocket
