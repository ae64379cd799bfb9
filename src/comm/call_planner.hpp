// CallPlanner: makes operations of a communicator's calls. A call is validated, and its binding made: the caller's
// buffers, or copies that the library needs. Then its route is chosen (directly over shared memory, or over links),
// there its algorithm, from that its plan made, and an operation that runs the plan is bound.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "src/comm/call_arguments.hpp"
#include "src/comm/call_route.hpp"
#include "src/comm/device_call.hpp"
#include "src/comm/idle_operations.hpp"
#include "src/comm/latest_call.hpp"

namespace hocket::comm {

// Thread rule: any thread, except destruction.
class CallPlanner {
 public:
  // `parts` outlive it.
  explicit CallPlanner(const CommunicatorParts& parts)
      : parts_(parts),
        executor_(parts.link_set->executor()),
        latest_calls_(parts.membership.options().gpus),
        operations_(parts) {}

  Result<std::shared_ptr<Operation>> prepare(const CallArguments& call);
  // See LatestCall.
  template <class Ended>
  Code run_again(const CallArguments& call, Ended ended) {
    return latest_calls_.like(call).run_again(call, executor_, ended);
  }
  // The same of a send and a receive that start together.
  template <class Ended>
  Code run_again(const CallArguments& send, const CallArguments& recv, Ended ended) {
    return LatestCall::run_again(latest_calls_.like(send), send, latest_calls_.like(recv), recv, executor_, ended);
  }
  template <class Show>
  Started start_again(const CallArguments& call, RunEnd& end, const Show& show) {
    return latest_calls_.like(call).start_again(call, executor_, end, show);
  }
  // The operations of a call on a list, in their order; small tensors share one. `call`: what holds for all tensors.
  Result<std::vector<std::shared_ptr<Operation>>> prepare_list(const CallArguments& call,
                                                               std::span<const hocket_tensor> tensors);
  // What copies a message of this rank to itself; the two are sound and fit.
  Result<std::shared_ptr<Operation>> prepare_to_self(const CallArguments& send, const CallArguments& recv);

 private:
  // Of a call whose data the host can reach.
  using PlanOnHost = std::function<std::shared_ptr<Operation>(const CallArguments& call)>;

  const Membership& membership() const { return parts_.membership; }

  // These require mutex_. `staging`: where the data will lie, if not in the caller's memory.
  Result<std::shared_ptr<Operation>> plan_where_data_is(const CallArguments& call, CheckedCall checked,
                                                        std::shared_ptr<Staging> staging);
  Result<std::shared_ptr<Operation>> plan_mirrored(const CallArguments& call, DeviceCall data,
                                                   const PlanOnHost& plan_on_host);
  Result<std::shared_ptr<Operation>> plan_on_gpu(const CallArguments& call, CheckedCall& checked, DeviceCall data);
  CallRoute route_for(const CallArguments& call, const CheckedCall& checked) const;
  bool runs_on_gpu(const CallArguments& call, const CheckedCall& checked, const DeviceCall& data) const;
  std::shared_ptr<Operation> plan(const CallArguments& call, CheckedCall checked, std::shared_ptr<Staging> staging);
  std::shared_ptr<Operation> plan_to_self(const CallArguments& both);
  std::shared_ptr<Operation> plan_over_host_windows(const CallArguments& call, const CheckedCall& checked,
                                                    Binding& binding);
  std::shared_ptr<Operation> plan_over_window(const CallArguments& call, const CheckedCall& checked, Binding& binding);
  std::shared_ptr<Operation> plan_over_links(const CallArguments& call, const CheckedCall& checked, Binding& binding);
  PlanKey plan_key(const CallArguments& call, const CheckedCall& checked, const Algorithm& algorithm,
                   const Binding& binding) const;
  Binding binding_of(const CallArguments& call, CheckedCall& checked, std::shared_ptr<Staging> staging) const;
  Choice algorithm_for(const ChoiceKey& key);

  const CommunicatorParts& parts_;
  Executor& executor_;
  std::mutex mutex_;
  LatestCalls latest_calls_;
  ChoiceKey latest_choice_key_;
  Choice latest_choice_;  // no algorithm: none yet
  IdleOperations operations_;
  std::shared_ptr<GpuLanes> lanes_;  // null: no call has used a GPU yet
};

}  // namespace hocket::comm
