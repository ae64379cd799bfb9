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

const Operation* StartedCalls::only_and_well() const {
  const Operation* const operation = only();
  return operation != nullptr && operation->finished() && operation->status().ok() ? operation : nullptr;
}

bool StartedCalls::finished() const {
  if (const Operation* const operation = only()) return operation->finished();
  return std::ranges::all_of(parts, [](const Part& part) { return all_finished(part.operations); });
}

Status StartedCalls::status() const {
  if (const Operation* const operation = only()) return operation->status();
  for (const Part& part : parts) {
    if (Status status = status_of(part.operations); !status.ok()) return status;
  }
  return {};
}

void StartedCalls::allow_callback() const {
  if (Operation* const operation = only()) return operation->allow_callback();
  for (const Part& part : parts) {
    for (const auto& operation : part.operations) operation->allow_callback();
  }
}

Status StartedCalls::mark_streams() const {
  for (const Part& part : parts) {
    for (const auto& operation : part.operations) {
      if (Status marked = operation->mark_streams(); !marked.ok()) return marked;
    }
  }
  return {};
}

void StartedCalls::restart() const {
  for (const Part& part : parts) {
    for (const auto& operation : part.operations) operation->restart();
  }
}

void StartedCalls::let_go_now() const noexcept {
  if (Operation* const operation = only()) return operation->let_go();
  for (const Part& part : parts) {
    for (const auto& operation : part.operations) operation->let_go();
  }
}

Status StartedCalls::wait(Deadline deadline) const {
  for (const Part& part : parts) {
    if (all_finished(part.operations)) continue;
    if (Status status = part.executor->wait(part.operations, deadline); status.code() == Code::in_progress) {
      return status;
    }
  }
  return status();
}

namespace {

using Operations = std::span<const std::shared_ptr<Operation>>;

// Those on which unfinished calls run.
std::vector<Executor*> executors_of(std::span<const StartedCalls* const> all) {
  std::vector<Executor*> executors;
  for (const StartedCalls* const calls : all) {
    if (calls == nullptr) continue;
    for (const StartedCalls::Part& part : calls->parts) {
      if (all_finished(part.operations) || std::ranges::count(executors, part.executor) != 0) continue;
      executors.push_back(part.executor);
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
  if (executors.size() == 1) {
    std::vector<Operations> sets;
    for (const StartedCalls* const calls : all) {
      if (calls == nullptr) continue;
      const auto part = std::ranges::find(calls->parts, executors.front(), &StartedCalls::Part::executor);
      if (part != calls->parts.end()) sets.emplace_back(part->operations);  // what else they have is finished
    }
    (void)executors.front()->wait_any(sets, deadline);
    return first_finished();
  }
  CompletionSignal signal;
  const Listening listening(executors, signal);
  while (first_finished() == all.size() && !deadline.passed()) signal.wait(deadline);
  return first_finished();
}

bool StartedCalls::on_complete(Callback callback) const {
  std::vector<std::shared_ptr<Operation>> operations;  // the callback may end these calls
  for (const Part& part : parts) operations.insert(operations.end(), part.operations.begin(), part.operations.end());
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
