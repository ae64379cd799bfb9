// StartedCalls: operations that were started together, as those see them who wait for them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "src/exec/run_end.hpp"
#include "src/exec/started.hpp"
#include "src/exec/transport_names.hpp"
#include "src/spi/status.hpp"
#include "src/spi/types.hpp"

namespace hocket {
class Executor;
class Operation;
}  // namespace hocket

namespace hocket::comm {

// How an operation that is finished was carried out. The name is static.
struct CallFacts {
  std::uint64_t sequence = 0;
  std::uint64_t manner = 0;  // number of the Manner; 0: nothing is known
  TransportNames transports;
  std::string_view algorithm;
  WireFormat wire = WireFormat::exact;
};
// Every small call pays for them, so they are written where they are to stand.
[[gnu::noinline]] void tell_facts(const Operation& operation, CallFacts& facts);
// The same without its number, where it may run meanwhile.
void tell_manner(const Operation& operation, CallFacts& facts);
// The same of a call that is like the one before: mostly only its number is new. It runs no other operation.
void tell_facts_again(const Operation& operation, CallFacts& facts);
// Of one that is finished.
const Status& end_of(const Operation& operation);
// Before it is dropped; see Operation.
void let_go(Operation& operation) noexcept;

// Whether the calling thread is inside a function that is called on completion.
bool in_callback();

class StartedCalls;

// Waits until one of them is finished; null entries are passed over. The lowest index of those that are, all.size()
// where the deadline has passed first.
std::size_t wait_any(std::span<const StartedCalls* const> all, Deadline deadline);

// Operations that are started together, by what runs them, or one run of an operation that tells only its end. Empty:
// nothing is to be done.
class StartedCalls {
 public:
  using Operations = std::span<const std::shared_ptr<Operation>>;
  struct Part {
    Executor* executor;  // only valid while one of the operations is unfinished
    Operations operations;
  };

  StartedCalls() = default;
  ~StartedCalls() { drop(); }
  StartedCalls(StartedCalls&& other) noexcept = default;
  StartedCalls& operator=(StartedCalls&& other) noexcept {
    drop();
    executor_ = other.executor_;
    run_ = other.run_;
    only_ = std::move(other.only_);
    several_ = std::move(other.several_);
    return *this;
  }

  // Where they are several.
  struct Group {
    Executor* executor;
    std::vector<std::shared_ptr<Operation>> operations;
  };
  void set(std::vector<Group> groups);
  // Mostly it is one operation, of which all calls pay for the handle.
  void set(Executor& executor, std::shared_ptr<Operation> operation) {
    executor_ = &executor;
    only_ = std::move(operation);
  }

  // The run has begun, and stays as long as this.
  void set(Executor& executor, RunEnd& run) {
    executor_ = &executor;
    run_ = &run;
  }
  // Null: they are operations.
  const RunEnd* run() const { return run_; }
  Executor* executor_of_run() const { return executor_; }

  // Of operations.
  std::size_t parts() const { return only_ != nullptr ? 1 : several_ != nullptr ? several_->size() : 0; }
  Part part(std::size_t at) const {
    if (only_ != nullptr) return {executor_, {&only_, 1}};
    const Group& group = (*several_)[at];
    return {group.executor, group.operations};
  }
  // That operation, where it is one alone and has ended well.
  const Operation* only_and_well() const;
  bool finished() const;
  // Before they start: on_complete() may be called later.
  void allow_callback() const;
  // Before they start, where they are persistent; see Operation.
  Status mark_streams() const;
  // Makes persistent operations, all of which are finished, ready for another run.
  void restart() const;
  // Empty from now on.
  void drop() noexcept {
    run_ = nullptr;
    if (only_ != nullptr || several_ != nullptr) drop_now();
  }
  // The first failure among them; requires finished().
  Status status() const;
  // Waits for all, whatever some end with. Code::in_progress when the deadline passes first.
  Status wait(Deadline deadline) const;
  // Has `callback` called once, when all are finished, with the first failure; see Operation::on_complete().
  using Callback = std::function<void(Code)>;
  bool on_complete(Callback callback) const;

 private:
  void drop_now() noexcept;
  // Until it says true, which is returned.
  template <class Look>
  bool any_part(const Look& look) const {
    for (std::size_t at = 0; at < parts(); ++at) {
      if (look(part(at))) return true;
    }
    return false;
  }
  template <class Visit>
  void each_operation(const Visit& visit) const {
    (void)any_part([&](const Part& part) {
      for (const auto& operation : part.operations) visit(*operation);
      return false;
    });
  }

  Executor* executor_ = nullptr;
  RunEnd* run_ = nullptr;
  std::shared_ptr<Operation> only_;
  std::unique_ptr<std::vector<Group>> several_;
};

}  // namespace hocket::comm
