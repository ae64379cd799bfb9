// Communicator: one rank's membership in a group of ranks, for callers: it joins what is known of the group, what plans
// calls and what runs them, the executor of its links or its parent's.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "src/comm/call_arguments.hpp"
#include "src/comm/started_calls.hpp"
#include "src/exec/counters.hpp"
#include "src/exec/executor.hpp"
#include "src/spi/status.hpp"

namespace hocket {
class RegionTable;
}  // namespace hocket

namespace hocket::comm {

class CallPlanner;
class Membership;
struct AgreeRequest;
struct Agreed;
struct CommunicatorParts;
struct JoinRequest;
struct Options;
struct ShrinkRequest;
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

  Rank rank() const { return rank_; }
  Rank size() const { return size_; }
  const Membership& membership() const;
  Counters counters() const;
  Executor::Exchanged exchanged_with(Rank rank) const;
  // Ok while it works, else what broke it.
  Status status() const;
  void abort(std::string_view reason);
  // Writes what this rank has done and does, see LinkSet.
  Status record(const std::string& file) const;
  // Collective. The child that this rank is in, null where it is in none. A request to stop breaks this communicator,
  // whose other ranks wait for this one.
  Result<std::unique_ptr<Communicator>> split(const SplitRequest& request, const std::stop_token& stop = {});

  // The survivors' communicator, see shrink.hpp; breaks this one where it still works.
  Result<std::unique_ptr<Communicator>> shrink(const ShrinkRequest& request, const std::stop_token& stop = {});
  // What its ranks agree on, see agree.hpp; it may be broken, and nothing breaks it.
  Result<Agreed> agree(const AgreeRequest& request, const std::stop_token& stop = {});
  // The larger communicator with newcomers, see join.hpp; null where nobody came and nobody had to. A request to stop
  // breaks this one.
  Result<std::unique_ptr<Communicator>> take_in(const JoinRequest& request, const std::stop_token& stop = {});
  // The same for a newcomer.
  static Result<std::unique_ptr<Communicator>> come_in(const JoinRequest& request, const RegionTable& regions,
                                                       const std::stop_token& stop = {});
  // no_rank: a newcomer. Code::invalid_argument where this one was not made by shrinking or joining, or has no such
  // rank.
  Result<Rank> previous_rank(Rank rank) const;

  // Carries out a blocking call that is like the one before, where nothing else is to be done: `ended` is shown the
  // operation, and returns its result. another_call: it is to be prepared and run.
  using Ended = Code (*)(const Operation&);
  Code run_again(const CallArguments& call, Ended ended);
  // The same of a send and a receive that start together; `ended` is shown the receive, or what has failed.
  Code run_again(const CallArguments& send, const CallArguments& recv, Ended ended);
  // Starts a message that is like the one before: it is under way in `calls`, as `end`, which must stay until then, or
  // over at once. `facts` tell how, but for the number of what is under way. No: it is to be prepared and started.
  Started start_again(const CallArguments& call, StartedCalls& calls, RunEnd& end, CallFacts& facts);
  // Checks, plans and binds a call.
  Result<std::shared_ptr<Operation>> prepare(const CallArguments& call);
  // The operations of a call on a list, in their order; small tensors share one. `call`: what holds for all tensors.
  Result<std::vector<std::shared_ptr<Operation>>> prepare_list(const CallArguments& call,
                                                               std::span<const hocket_tensor> tensors);
  // What copies a message of this rank to itself; the two are sound and fit.
  Result<std::shared_ptr<Operation>> prepare_to_self(const CallArguments& send, const CallArguments& recv);
  // What runs prepared calls; run() and start() are its functions.
  Executor& executor() const;
  using Operations = std::span<const std::shared_ptr<Operation>>;
  Status run(Operations operations);
  Status start(Operations operations);
  // One operation of this communicator, before or after it starts.
  StartedCalls calls_of(std::shared_ptr<Operation> operation) const;
  // Expires when this communicator ends.
  std::weak_ptr<const void> life() const { return life_; }

 private:
  Communicator(CommunicatorParts parts, const RegionTable* regions);
  static Result<std::unique_ptr<Communicator>> of(CommunicatorParts parts, const RegionTable* regions);

  Status allgather(std::span<std::byte> all, Deadline deadline);

  const std::unique_ptr<CommunicatorParts> parts_;
  const std::unique_ptr<CallPlanner> planner_;
  const RegionTable* const regions_;
  const Rank rank_, size_;
  std::atomic<int> children_{0};  // splits so far
  const std::shared_ptr<const void> life_ = std::make_shared<char>();
};

}  // namespace hocket::comm
