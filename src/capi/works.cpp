// The C API's work handles.
#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "src/base/sized_struct.hpp"
#include "src/capi/handles.hpp"

using namespace hocket::capi;  // the functions of the API stand outside all namespaces
using hocket::Code;
using hocket::Status;

namespace hocket::capi {

bool may_wait() {
  return !comm::in_callback();
}

Status wait_refused() {
  return {Code::invalid_argument,
          "a call that may wait for other ranks or threads is not allowed inside a completion function; start "
          "asynchronous calls there, and leave the rest to another thread"};
}

Status read_options(const hocket_call_options* options, CallArguments& arguments) {
  if (take_options(options, arguments)) return {};
  const auto given = read_sized(options);
  if (!given) return {Code::invalid_argument, "options.struct_size is wrong: begin with HOCKET_CALL_OPTIONS_INIT"};
  (void)take_options(&*given, arguments);
  return {};
}

Status persistent_without_work() {
  return {Code::invalid_argument, "work is null, but a persistent call is started by its work handle"};
}

Status keep(Communicator& communicator, StartedCalls calls, hocket_work** work) {
  NewWork handle = new_work();
  handle->calls = std::move(calls);
  handle->persistent = true;
  handle->communicator = &communicator;
  handle->communicator_life = communicator.life();
  *work = handle.release();
  return {};
}

Result<Deadline> deadline_of_wait(int64_t timeout_ms) {
  if (timeout_ms < 0) {
    return Status(Code::invalid_argument, "timeout_ms is negative; use 0 for the operation's own deadline");
  }
  return Deadline::after(timeout_ms == 0 ? longest_timeout : timeout_of(timeout_ms));
}

namespace {

// Makes a persistent work ready for another run.
Status restart(hocket_work* work) {
  if (work == nullptr) return null_argument("work");
  if (!work->persistent) {
    return {Code::invalid_argument, "work is not persistent: only calls with options.persistent can be started again"};
  }
  if (work->communicator_life.expired()) {
    return {Code::invalid_argument, "the communicator of work was destroyed; release work"};
  }
  if (Status broken = work->communicator->status(); !broken.ok()) return broken;
  if (!work->calls.finished()) {
    return {Code::invalid_argument, "work is still running: wait until it is complete before it is started again"};
  }
  if (Status marked = work->calls.mark_streams(); !marked.ok()) return marked;
  work->calls.restart();
  return {};
}

// Whether it is one call that has ended well, as most have when somebody asks; then that is remembered.
bool is_well(const hocket_work* work) {
  if (work == nullptr) return false;
  if (work->over) {
    remember(work->facts, work->facts.sequence);
    return true;
  }
  if (const hocket::RunEnd* const run = work->calls.run(); run != nullptr) {
    if (!run->finished() || !run->status().ok()) return false;
    remember(work->facts, run->sequence());
    return true;
  }
  const Operation* const operation = work->calls.only_and_well();
  if (operation == nullptr) return false;
  remember(*operation);
  return true;
}

// Of one that has not ended well yet; few come here where the others are to be quick.
[[gnu::noinline]] hocket_result wait_for_end(hocket_work* work, int64_t timeout_ms) {
  return guarded([&]() -> Status {
    if (work == nullptr) return null_argument("work");
    if (timeout_ms >= 0 && work->calls.finished()) return remember(work->calls.status(), *work);
    const auto deadline = deadline_of_wait(timeout_ms);
    if (!deadline.ok()) return deadline.status();
    if (!may_wait() && !work->calls.finished()) return wait_refused();
    return remember(work->calls.wait(*deadline), *work);
  });
}

}  // namespace
}  // namespace hocket::capi

extern "C" {

hocket_result hocket_work_test(hocket_work* work) {
  if (is_well(work)) return HOCKET_OK;
  if (work != nullptr && !work->calls.finished()) return HOCKET_IN_PROGRESS;
  return guarded([&] { return work == nullptr ? null_argument("work") : remember(work->calls.status(), *work); });
}

hocket_result hocket_work_wait(hocket_work* work, int64_t timeout_ms) {
  return timeout_ms >= 0 && is_well(work) ? HOCKET_OK : wait_for_end(work, timeout_ms);
}

hocket_result hocket_work_wait_any(size_t count, hocket_work* const* works, int64_t timeout_ms, size_t* index) {
  return guarded([&]() -> Status {
    if (works == nullptr && count != 0) return null_argument("works");
    if (index == nullptr) return null_argument("index");
    const auto deadline = deadline_of_wait(timeout_ms);
    if (!deadline.ok()) return deadline.status();
    std::vector<const StartedCalls*> all;
    for (hocket_work* const work : std::span(works, count)) all.push_back(work != nullptr ? &work->calls : nullptr);
    *index = count;
    if (std::ranges::none_of(all, [](const auto* calls) { return calls != nullptr; })) return {};
    *index = hocket::comm::wait_any(all, may_wait() ? *deadline : hocket::Deadline(hocket::Deadline::Clock::now()));
    if (*index < count) return remember(all[*index]->status(), *works[*index]);
    return may_wait() ? Status(Code::in_progress, "none of the operations is finished yet") : wait_refused();
  });
}

hocket_result hocket_work_on_complete(hocket_work* work, hocket_callback function, void* context) {
  return guarded([&]() -> Status {
    if (work == nullptr) return null_argument("work");
    if (function == nullptr) return null_argument("function");
    const bool asked = work->calls.on_complete([=](Code result) {
      const WithoutGroups outside;
      function(static_cast<hocket_result>(result), context);
    });
    if (asked) return {};
    return {Code::invalid_argument, "work has a completion function already; it takes one at a time"};
  });
}

hocket_result hocket_work_start(hocket_work* work) {
  return guarded([&]() -> Status {
    if (Status status = restart(work); !status.ok()) return status;
    return work->communicator->start(work->calls.part(0).operations);
  });
}

hocket_result hocket_work_run(hocket_work* work) {
  return guarded([&]() -> Status {
    if (!may_wait()) return wait_refused();
    if (Status status = restart(work); !status.ok()) return status;
    return remember(work->communicator->run(work->calls.part(0).operations), *work);
  });
}

hocket_result hocket_work_finish(hocket_work* work) {
  hocket_result ended = HOCKET_OK;
  if (!is_well(work) && work != nullptr) {
    do ended = wait_for_end(work, 0);
    while (ended == HOCKET_IN_PROGRESS);
  }
  return hocket_work_release(work), ended;
}

hocket_result hocket_work_release(hocket_work* work) {
  if (work != nullptr) spare_works.give(work);
  return HOCKET_OK;
}

}  // extern "C"
