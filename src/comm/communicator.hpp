// Communicator: one rank's membership in a group of ranks. The floor that knows names: it chooses transports and
// algorithms, makes plans and hands them to the executor of the link set that it runs on, its own or its parent's.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "src/base/region_table.hpp"
#include "src/comm/call_arguments.hpp"
#include "src/comm/communicator_parts.hpp"
#include "src/comm/latest_call.hpp"
#include "src/exec/schedule_operation.hpp"
#include "src/plan/plan.hpp"

namespace hocket {

struct CheckedCall;
struct SplitRequest;

// Thread rule: any thread, except destruction.
class Communicator {
 public:
  // `regions`: this process's registered memory; outlives the communicator. Code::aborted soon after `stop` is
  // requested, here and on the ranks that have been met.
  static Result<std::unique_ptr<Communicator>> create(const Options& options, const RegionTable& regions,
                                                      const std::stop_token& stop = {});
  static Result<std::vector<std::unique_ptr<Communicator>>> create_local(const Options& options);
  // Leaves the group, as LinkSet does. Where others run on the same link set, nothing happens but that this one is
  // gone: its pending operations go on.
  ~Communicator();

  Rank rank() const { return membership().rank(); }
  Rank size() const { return membership().size(); }
  const Membership& membership() const { return parts_.membership; }
  Counters counters() const { return parts_.context->shown_counters(); }
  Status status() const { return executor().broken(); }
  void abort(std::string_view reason);
  // Collective. The child that this rank is in, null where it is in none. A request to stop breaks this communicator,
  // whose other ranks wait for this one.
  Result<std::unique_ptr<Communicator>> split(const SplitRequest& request, const std::stop_token& stop = {});

  // Checks, plans and binds a call.
  Result<std::shared_ptr<Operation>> prepare(const CallArguments& arguments);
  // The operations of a call on a list, in their order; small tensors share one. `arguments`: what holds for all
  // tensors.
  Result<std::vector<std::shared_ptr<Operation>>> prepare_list(const CallArguments& arguments,
                                                               std::span<const hocket_tensor> tensors);
  // What copies a message of this rank to itself; the two are sound and fit.
  std::shared_ptr<Operation> prepare_to_self(const CallArguments& send, const CallArguments& recv);
  // What runs prepared calls.
  Executor& executor() const { return parts_.link_set->executor(); }
  Status run(Executor::Operations operations) { return executor().run(operations); }
  Status start(Executor::Operations operations) { return executor().start(operations); }
  // Expires when this communicator ends.
  std::weak_ptr<const void> life() const { return life_; }

 private:
  Communicator(CommunicatorParts parts, const RegionTable* regions);

  const Options& options() const { return membership().options(); }
  Status allgather(std::span<std::byte> all, Deadline deadline);
  std::shared_ptr<Operation> prepare_checked(const CallArguments& arguments, CheckedCall& checked,
                                             std::shared_ptr<Staging> staging);
  const Algorithm& choose(const CheckedCall& checked, Collective collective, bool in_rank_order);
  std::shared_ptr<ScheduleOperation> operation_for(const PlanKey& key, bool persistent = false);
  std::shared_ptr<Operation> direct_operation(bool persistent);
  std::shared_ptr<Operation> any_source_receive(const PlanKey& key, std::int32_t* source);

  CommunicatorParts parts_;
  const RegionTable* const regions_;
  std::atomic<int> children_{0};  // splits so far

  // What was chosen for the latest call over links.
  struct Choice {
    std::size_t bytes = 0;
    WireFormat wire = WireFormat::exact;
    bool in_rank_order = false;
    bool uneven = false;
    std::uint8_t number = 0;  // as the call's signature has it
    const Algorithm* algorithm = nullptr;
  };

  std::mutex plans_mutex_;
  LatestCall latest_call_;
  Choice latest_choice_;
  PlanCache plans_;
  std::shared_ptr<PlanCache> any_source_plans_;  // of the thread that progresses; null: not needed yet
  std::vector<std::shared_ptr<ScheduleOperation>>
      idle_;  // latest used last; one that only this vector holds may run again
  std::vector<std::shared_ptr<DirectOperation>> idle_direct_;
  std::shared_ptr<const void> life_ = std::make_shared<char>();
};

}  // namespace hocket
