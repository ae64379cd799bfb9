#include "src/comm/communicator.hpp"

#include <algorithm>

#include "src/comm/bootstrap.hpp"
#include "src/comm/children.hpp"
#include "src/comm/local.hpp"
#include "src/comm/own_input.hpp"
#include "src/comm/validate.hpp"
#include "src/exec/reduce.hpp"

namespace hocket {

namespace {

constexpr std::size_t plans_kept = 256;
constexpr std::size_t operations_kept = 16;
constexpr std::size_t vector_slice_bytes = std::size_t{512} << 10;

Status at_creation(const Status& status, Rank rank) {
  if (status.cause().rank != no_rank) return status;
  Cause cause = status.cause();
  cause.rank = rank;
  if (cause.operation.empty()) cause.operation = "create";
  return Status(std::move(cause));
}

}  // namespace

Communicator::Communicator(CommunicatorParts parts, const RegionTable* regions)
    : parts_(std::move(parts)), regions_(regions), plans_(plans_kept) {}

// Where the link set ends here, so do the operations that still run, before what they use does.
// What is pending ends with the link set, and functions that are called then may still ask this communicator: so it
// goes on pointing there, but does not own it.
Communicator::~Communicator() {
  std::shared_ptr<LinkSet>& link_set = parts_.link_set;
  const std::shared_ptr<LinkSet> owner = std::exchange(link_set, {std::shared_ptr<void>(), link_set.get()});
}

// ---- creation -------------------------------------------------------------------------------------------------------

Result<std::unique_ptr<Communicator>> Communicator::create(const Options& options, const RegionTable& regions,
                                                           const std::stop_token& stop) {
  auto parts = options.size == 1 ? make_alone(options, describe_self(options, {}), &regions, false)
                                 : bootstrap(options, regions, stop);
  if (!parts.ok()) return at_creation(parts.status(), options.rank);
  return std::unique_ptr<Communicator>(new Communicator(std::move(*parts), &regions));
}

Result<std::vector<std::unique_ptr<Communicator>>> Communicator::create_local(const Options& options) {
  auto all = make_local(options);
  if (!all.ok()) return all.status();
  std::vector<std::unique_ptr<Communicator>> made;
  for (CommunicatorParts& parts : *all) made.emplace_back(new Communicator(std::move(parts), nullptr));
  return made;
}

Result<std::unique_ptr<Communicator>> Communicator::split(const SplitRequest& request, const std::stop_token& stop) {
  auto child = make_child({.parts = parts_,
                           .regions = regions_,
                           .children = children_,
                           .allgather = [this](auto all, Deadline deadline) { return allgather(all, deadline); }},
                          request, stop);
  if (!child.ok()) return child.status();
  if (!child->has_value()) return std::unique_ptr<Communicator>();
  return std::unique_ptr<Communicator>(new Communicator(std::move(**child), regions_));
}

Status Communicator::allgather(std::span<std::byte> all, Deadline deadline) {
  const std::size_t block = all.size() / static_cast<std::size_t>(options().size);
  const auto remaining = std::chrono::duration_cast<std::chrono::milliseconds>(deadline.remaining()).count();
  auto operation = prepare({.collective = Collective::allgather,
                            .send = all.data() + static_cast<std::size_t>(options().rank) * block,
                            .recv = all.data(),
                            .count = block,
                            .timeout_ms = std::max<std::int64_t>(remaining, 1),
                            .of_split = true});
  return operation.ok() ? run({&*operation, 1}) : operation.status();
}

// ---- calls ----------------------------------------------------------------------------------------------------------

void Communicator::abort(std::string_view reason) {
  parts_.link_set->abort(*parts_.context, reason);
}

Result<std::shared_ptr<Operation>> Communicator::prepare(const CallArguments& arguments) {
  if (Status broken = status(); !broken.ok()) return broken;
  const std::lock_guard lock(plans_mutex_);
  if (auto operation = latest_call_.repeat(arguments)) return operation;
  latest_call_.forget();
  auto checked = validate(arguments, options().rank, options().size);
  if (!checked.ok()) return checked.status();
  auto operation = prepare_checked(arguments, *checked, nullptr);
  if (!checked->blocks) latest_call_.keep(arguments, operation);
  return operation;
}

// Requires plans_mutex_. `staging`: where the data will lie, if not in the caller's memory.
std::shared_ptr<Operation> Communicator::prepare_checked(const CallArguments& arguments, CheckedCall& checked,
                                                         std::shared_ptr<Staging> staging) {
  const Signature& signature = checked.signature;
  const CollectiveInfo& collective = info_of(arguments.collective);
  const bool token = collective.chunks == Chunks::token;
  Binding binding{
      .input = static_cast<const std::byte*>(arguments.send),
      .output = static_cast<std::byte*>(arguments.recv),
      .signature = signature,
      .reduction = reduction_for(signature.dtype, token ? ReduceOp::max : signature.op, options().size),
      .timeout = arguments.timeout_ms > 0 ? std::chrono::milliseconds(arguments.timeout_ms) : options().timeout,
      .root = arguments.root,
      .staging = std::move(staging)};
  if (info_of(signature.op).takes == Takes::scalar) scale_input(arguments, checked, binding);
  if (!collective.runs_in_place() && checked.placement == Placement::in_place) copy_input(checked, binding);
  const bool user = info_of(signature.op).takes == Takes::function;
  if (user) {
    binding.user =
        std::make_shared<UserFunction>(arguments.function, arguments.context, signature.dtype, parts_.link_set->rank());
    binding.reduction.custom = binding.user.get();
  }
  const bool in_rank_order = options().deterministic || (user && !arguments.commutative);
  // Narrow floats are rounded with each operand then, as they are where messages carry the partial sums.
  if (in_rank_order) binding.reduction.all = nullptr;
  // A function that may throw is kept away from memory that others read: what it leaves then must not be seen. Direct
  // paths know blocks of equal size only, and no prefixes.
  if (parts_.window_use != nullptr && collective.direct_paths && !user &&
      options().algorithms.wanted(arguments.collective, checked.bytes) == automatic_algorithm) {
    binding.signature.algorithm |= Signature::direct_algorithm;
    auto direct = direct_operation(arguments.persistent);
    direct->bind(binding, arguments.persistent);
    return direct;
  }
  const Algorithm& algorithm = choose(checked, collective.equal_blocks, in_rank_order);
  binding.signature.algorithm |= latest_choice_.number;
  const PlanKey key{.algorithm = &algorithm,
                    .rank = options().rank,
                    .size = options().size,
                    .root = arguments.root,
                    .count = checked.blocks ? 0 : static_cast<std::size_t>(signature.count),
                    .element_bytes = size_of(signature.dtype),
                    .slice_bytes = vector_slice_bytes,
                    .placement = checked.placement,
                    .topology = membership().topology(),
                    .wire = algorithm.encoded ? signature.wire() : WireFormat::exact,
                    .blocks = checked.blocks};
  auto operation =
      arguments.from_any ? any_source_receive(key, arguments.source) : operation_for(key, arguments.persistent);
  operation->bind(binding, arguments.persistent);
  return operation;
}

// Requires plans_mutex_. An operation for this plan that nobody uses any more, or a new one; a persistent one is its
// caller's alone.
std::shared_ptr<ScheduleOperation> Communicator::operation_for(const PlanKey& key, bool persistent) {
  for (auto at = idle_.rbegin(); at != idle_.rend() && !persistent; ++at) {
    if (at->use_count() == 1 && (*at)->finished() && (*at)->plan().key == key) {
      std::rotate(at.base() - 1, at.base(), idle_.end());
      return idle_.back();
    }
  }
  auto made = std::make_shared<ScheduleOperation>(plans_.get(key), parts_.context);
  made->set_transports(parts_.link_set->mesh().routes().transports_of(made->directions()));
  if (persistent) return made;
  idle_.push_back(made);
  if (idle_.size() > operations_kept) idle_.erase(idle_.begin());
  return made;
}

// Requires plans_mutex_.
std::shared_ptr<Operation> Communicator::direct_operation(bool persistent) {
  for (auto& operation : idle_direct_) {
    if (!persistent && operation.use_count() == 1 && operation->finished()) return operation;
  }
  auto made = std::make_shared<DirectOperation>(*parts_.window_use, parts_.context);
  made->set_transports(parts_.link_set->window_transport());
  if (!persistent && idle_direct_.size() < operations_kept) idle_direct_.push_back(made);
  return made;
}

}  // namespace hocket
