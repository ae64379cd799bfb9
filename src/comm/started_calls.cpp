#include "src/comm/started_calls.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "src/exec/completion_signal.hpp"
#include "src/exec/executor.hpp"
#include "src/exec/operation.hpp"

namespace hocket::comm {

void tell_facts(const Operation& operation, CallFacts& facts) {
  facts.sequence = operation.sequence();
  tell_manner(operation, facts);
}

void tell_manner(const Operation& operation, CallFacts& facts) {
  if (facts.manner == operation.manner().number() && operation.can_move()) return;
  facts.transports = operation.transports();
  facts.algorithm = operation.algorithm();
  facts.wire = operation.wire();
  facts.manner = operation.manner().number();
}

void tell_facts_again(const Operation& operation, CallFacts& facts) {
  if (facts.manner != operation.manner().number()) return tell_facts(operation, facts);
  facts.sequence = operation.sequence();
}

const Status& end_of(const Operation& operation) {
  return operation.status();
}

void let_go(Operation& operation) noexcept {
  operation.let_go();
}

bool in_callback() {
  return Operation::in_callback();
}

void StartedCalls::set(std::vector<Group> groups) {
  if (groups.size() == 1 && groups.front().operations.size() == 1) {
    return set(*groups.front().executor, std::move(groups.front().operations.front()));
  }
  several_ = std::make_unique<std::vector<Group>>(std::move(groups));
}

const Operation* StartedCalls::only_and_well() const {
  return only_ != nullptr && only_->finished() && only_->status().ok() ? only_.get() : nullptr;
}

bool StartedCalls::finished() const {
  if (run_ != nullptr) return run_->finished();
  if (only_ != nullptr) return only_->finished();
  return !any_part([](const Part& part) { return !all_finished(part.operations); });
}

Status StartedCalls::status() const {
  if (run_ != nullptr) return run_->status();
  Status first;
  (void)any_part([&](const Part& part) { return !(first = status_of(part.operations)).ok(); });
  return first;
}

void StartedCalls::allow_callback() const {
  each_operation([](Operation& operation) { operation.allow_callback(); });
}

Status StartedCalls::mark_streams() const {
  Status first;
  each_operation([&](Operation& operation) {
    if (first.ok()) first = operation.mark_streams();
  });
  return first;
}

void StartedCalls::restart() const {
  each_operation([](Operation& operation) { operation.restart(); });
}

void StartedCalls::drop_now() noexcept {
  if (only_ != nullptr) return Operation::leave_to_itself(std::move(only_));
  for (Group& group : *several_) {
    for (auto& operation : group.operations) Operation::leave_to_itself(std::move(operation));
  }
  several_.reset();
}

Status StartedCalls::wait(Deadline deadline) const {
  if (run_ != nullptr) {
    Status late = run_->finished() ? Status() : executor_->wait(*run_, deadline);
    return late.ok() ? run_->status() : late;
  }
  Status late;
  const bool too_late = any_part([&](const Part& part) {
    if (all_finished(part.operations)) return false;
    late = part.executor->wait(part.operations, deadline);
    return late.code() == Code::in_progress;
  });
  return too_late ? late : status();
}

namespace {

// Those on which unfinished calls run.
std::vector<Executor*> executors_of(std::span<const StartedCalls* const> all) {
  std::vector<Executor*> executors;
  for (const StartedCalls* const calls : all) {
    if (calls == nullptr) continue;
    const auto add = [&](Executor* executor) {
      if (std::ranges::count(executors, executor) == 0) executors.push_back(executor);
    };
    if (calls->run() != nullptr && !calls->run()->finished()) add(calls->executor_of_run());
    for (std::size_t at = 0; at < calls->parts(); ++at) {
      const StartedCalls::Part part = calls->part(at);
      if (!all_finished(part.operations)) add(part.executor);
    }
  }
  return executors;
}

// While it lives, a signal is raised when operations of these executors end.
class Listening {
 public:
  Listening(std::vector<Executor*> executors, CompletionSignal& signal)
      : executors_(std::move(executors)), signal_(signal) {
    try {
      for (Executor* const executor : executors_) executor->listen(signal_);
    } catch (...) {
      end();
      throw;
    }
  }
  ~Listening() { end(); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  void end() {
    for (Executor* const executor : executors_) executor->forget(signal_);
  }

  const std::vector<Executor*> executors_;
  CompletionSignal& signal_;
};

}  // namespace

// This thread makes one executor progress; where there are several, it leaves that to their own threads.
std::size_t wait_any(std::span<const StartedCalls* const> all, Deadline deadline) {
  const auto first_finished = [&] {
    const auto found = std::ranges::find_if(all, [](const auto* calls) { return calls && calls->finished(); });
    return static_cast<std::size_t>(found - all.begin());
  };
  if (const std::size_t found = first_finished(); found < all.size()) return found;
  const auto executors = executors_of(all);
  if (const std::size_t found = first_finished(); found < all.size()) return found;  // of one that is not among these
  if (executors.size() == 1) {
    std::vector<StartedCalls::Operations> sets;
    std::vector<const RunEnd*> runs;
    for (const StartedCalls* const calls : all) {
      if (calls == nullptr) continue;
      if (calls->run() != nullptr) runs.push_back(calls->run());
      for (std::size_t at = 0; at < calls->parts(); ++at) {
        const StartedCalls::Part part = calls->part(at);  // what others run is finished
        if (part.executor == executors.front()) sets.push_back(part.operations);
      }
    }
    (void)executors.front()->wait_any(sets, runs, deadline);
    return first_finished();
  }
  CompletionSignal signal;
  const Listening listening(executors, signal);
  while (first_finished() == all.size() && !deadline.passed()) signal.wait(deadline);
  return first_finished();
}

bool StartedCalls::on_complete(Callback callback) const {
  if (run_ != nullptr) return run_->on_complete(std::move(callback));
  std::vector<std::shared_ptr<Operation>> operations;  // the callback may end these calls
  for (std::size_t at = 0; at < parts(); ++at) {
    operations.insert(operations.end(), part(at).operations.begin(), part(at).operations.end());
  }
  if (operations.empty()) {
    Operation::call_back(std::move(callback), Code::ok);
    return true;
  }
  struct Expected {
    std::atomic<std::size_t> unfinished;
    std::atomic<Code> result{Code::ok};
    Callback callback;
  };
  const auto expected = std::make_shared<Expected>(operations.size(), Code::ok, std::move(callback));
  return std::ranges::all_of(operations, [&](const auto& operation) {
    return operation->on_complete([expected](Code result) {
      Code none = Code::ok;
      if (result != Code::ok) expected->result.compare_exchange_strong(none, result);
      if (--expected->unfinished == 0) expected->callback(expected->result);
    });
  });
}

}  // namespace hocket::comm
