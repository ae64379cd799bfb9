#include "src/comm/communicator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "src/base/caught.hpp"
#include "src/comm/agree.hpp"
#include "src/comm/bootstrap.hpp"
#include "src/comm/call_planner.hpp"
#include "src/comm/children.hpp"
#include "src/comm/join.hpp"
#include "src/comm/local.hpp"
#include "src/comm/log_lines.hpp"
#include "src/comm/shrink.hpp"

namespace hocket::comm {
namespace {

Status at_creation(const Status& status, Rank rank) {
  if (status.cause().rank != no_rank) return status;
  Cause cause = status.cause();
  cause.rank = rank;
  if (cause.operation.empty()) cause.operation = "create";
  return Status(std::move(cause));
}

}  // namespace

// Where memory runs out for the object itself, the others, who have theirs, learn why this rank has none.
Result<std::unique_ptr<Communicator>> Communicator::of(CommunicatorParts parts, const RegionTable* regions) {
  const std::shared_ptr<LinkSet> link_set = parts.link_set;
  const std::shared_ptr<Context> context = parts.context;
  auto made = caught_in([&]() -> Result<std::unique_ptr<Communicator>> {
    log_communicator(parts);
    return std::unique_ptr<Communicator>(new Communicator(std::move(parts), regions));
  });
  if (!made.ok()) link_set->executor().abort(made.status(), *context);
  return made;
}

Communicator::Communicator(CommunicatorParts parts, const RegionTable* regions)
    : parts_(std::make_unique<CommunicatorParts>(std::move(parts))),
      planner_(std::make_unique<CallPlanner>(*parts_)),
      regions_(regions),
      rank_(parts_->membership.rank()),
      size_(parts_->membership.size()) {}

// Where the link set ends here, so do the operations that still run, before what they use does.
// What is pending ends with the link set, and functions that are called then may still ask this communicator: so it
// goes on pointing there, but does not own it.
Communicator::~Communicator() {
  std::shared_ptr<LinkSet>& link_set = parts_->link_set;
  const std::shared_ptr<LinkSet> owner = std::exchange(link_set, {std::shared_ptr<void>(), link_set.get()});
}

Result<std::unique_ptr<Communicator>> Communicator::create(const Options& options, const RegionTable& regions,
                                                           const std::stop_token& stop) {
  auto parts = options.size == 1 ? make_alone(options, describe_self(options, {}), &regions, false)
                                 : bootstrap(options, regions, stop);
  if (!parts.ok()) return at_creation(parts.status(), options.rank);
  return of(std::move(*parts), &regions);
}

Result<std::vector<std::unique_ptr<Communicator>>> Communicator::create_local(const Options& options) {
  auto all = make_local(options);
  if (!all.ok()) return all.status();
  std::vector<std::unique_ptr<Communicator>> made;
  for (CommunicatorParts& parts : *all) made.emplace_back(new Communicator(std::move(parts), nullptr));
  return made;
}

Result<std::unique_ptr<Communicator>> Communicator::split(const SplitRequest& request, const std::stop_token& stop) {
  auto child = make_child({.parts = *parts_,
                           .regions = regions_,
                           .children = children_,
                           .allgather = [this](auto all, Deadline deadline) { return allgather(all, deadline); }},
                          request, stop);
  if (!child.ok()) return child.status();
  if (!child->has_value()) return std::unique_ptr<Communicator>();
  auto made = of(std::move(**child), regions_);
  if (!made.ok()) executor().abort(made.status(), *parts_->context);  // where the others would wait for another try
  return made;
}

Result<std::unique_ptr<Communicator>> Communicator::shrink(const ShrinkRequest& request, const std::stop_token& stop) {
  // What others have said meanwhile comes first: a rank that was stopped learns so that it is the one to be left out.
  if (parts_->lineage.standby) parts_->link_set->look_at_links();
  if (parts_->lineage.standby && status().ok()) abort("it is being shrunk");
  auto parts = comm::shrink(*parts_, status(), regions_, request, stop);
  if (!parts.ok()) return parts.status();
  return of(std::move(*parts), regions_);
}

Result<Agreed> Communicator::agree(const AgreeRequest& request, const std::stop_token& stop) {
  return comm::agree(
      *parts_, [this] { return status(); }, request, stop);
}

Result<std::unique_ptr<Communicator>> Communicator::take_in(const JoinRequest& request, const std::stop_token& stop) {
  auto parts = comm::take_in({.parts = *parts_,
                              .regions = regions_,
                              .allgather = [this](auto all, Deadline deadline) { return allgather(all, deadline); }},
                             request, stop);
  if (!parts.ok()) return parts.status();
  if (!parts->has_value()) return std::unique_ptr<Communicator>();
  return of(std::move(**parts), regions_);
}

Result<std::unique_ptr<Communicator>> Communicator::come_in(const JoinRequest& request, const RegionTable& regions,
                                                            const std::stop_token& stop) {
  auto parts = comm::come_in(request, regions, stop);
  if (!parts.ok()) return parts.status();
  return of(std::move(*parts), &regions);
}

Result<Rank> Communicator::previous_rank(Rank rank) const {
  const std::vector<Rank>& ranks = parts_->lineage.previous_ranks;
  if (ranks.empty())
    return Status(Code::invalid_argument, "this communicator was made neither by shrinking nor by joining");
  if (rank < 0 || rank >= size_) {
    return Status(Code::invalid_argument, fmt::format("rank is {}; it must be 0 … {}", rank, size_ - 1));
  }
  return ranks[static_cast<std::size_t>(rank)];
}

Status Communicator::allgather(std::span<std::byte> all, Deadline deadline) {
  const std::size_t block = all.size() / static_cast<std::size_t>(size_);
  const auto remaining = std::chrono::duration_cast<std::chrono::milliseconds>(deadline.remaining()).count();
  auto operation = prepare({.collective = Collective::allgather,
                            .send = all.data() + static_cast<std::size_t>(rank_) * block,
                            .recv = all.data(),
                            .count = block,
                            .timeout_ms = std::max<std::int64_t>(remaining, 1),
                            .of_split = true});
  return operation.ok() ? run({&*operation, 1}) : operation.status();
}

const Membership& Communicator::membership() const {
  return parts_->membership;
}

Counters Communicator::counters() const {
  return parts_->context->counted();
}

Executor::Exchanged Communicator::exchanged_with(Rank rank) const {
  return rank == rank_ ? Executor::Exchanged() : executor().exchanged(*parts_->context, rank);
}

Executor& Communicator::executor() const {
  return parts_->link_set->executor();
}

Status Communicator::status() const {
  return executor().broken();
}

void Communicator::abort(std::string_view reason) {
  parts_->link_set->abort(*parts_->context, reason);
}

Status Communicator::record(const std::string& file) const {
  return parts_->link_set->record(file);
}

Code Communicator::run_again(const CallArguments& call, Ended ended) {
  return planner_->run_again(call, ended);
}

Code Communicator::run_again(const CallArguments& send, const CallArguments& recv, Ended ended) {
  return planner_->run_again(send, recv, ended);
}

Started Communicator::start_again(const CallArguments& call, StartedCalls& calls, RunEnd& end, CallFacts& facts) {
  return planner_->start_again(call, end, [&](const Operation& operation, bool over) {
    if (over) return tell_facts_again(operation, facts);
    tell_manner(operation, facts);
    calls.set(executor(), end);
  });
}

Result<std::shared_ptr<Operation>> Communicator::prepare(const CallArguments& call) {
  if (Status broken = status(); !broken.ok()) return broken;
  return planner_->prepare(call);
}

Result<std::vector<std::shared_ptr<Operation>>> Communicator::prepare_list(const CallArguments& call,
                                                                           std::span<const hocket_tensor> tensors) {
  if (Status broken = status(); !broken.ok()) return broken;
  return planner_->prepare_list(call, tensors);
}

Result<std::shared_ptr<Operation>> Communicator::prepare_to_self(const CallArguments& send, const CallArguments& recv) {
  return planner_->prepare_to_self(send, recv);
}

Status Communicator::run(Operations operations) {
  return executor().run(operations);
}

Status Communicator::start(Operations operations) {
  return executor().start(operations);
}

StartedCalls Communicator::calls_of(std::shared_ptr<Operation> operation) const {
  StartedCalls calls;
  calls.set(executor(), std::move(operation));
  return calls;
}

}  // namespace hocket::comm
