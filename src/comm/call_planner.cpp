#include "src/comm/call_planner.hpp"

#include <utility>

#include "src/comm/log_lines.hpp"
#include "src/comm/own_input.hpp"
#include "src/exec/reduce.hpp"
#include "src/plan/algorithm_id.hpp"
#include "src/plan/slicing.hpp"

namespace hocket::comm {

namespace {

// Whether elements are small enough for the window; those of the library's own types are.
bool fits(const Signature& call, const WindowUse& use, Rank members) {
  if (call.dtype != DataType::opaque) return true;
  return has_room_for(size_of(call), static_cast<std::uint32_t>(members), use.window->staging_bytes());
}

}  // namespace

Result<std::shared_ptr<Operation>> CallPlanner::prepare(const CallArguments& call) {
  if (auto operation = latest_call_.repeat(call)) return operation;
  const std::lock_guard lock(mutex_);
  auto checked = validate(call, membership().rank(), membership().size());
  if (!checked.ok()) return checked.status();
  const bool unequal = static_cast<bool>(checked->blocks);
  auto operation = plan(call, std::move(*checked), nullptr);
  if (!unequal) latest_call_.keep(call, operation);
  return operation;
}

std::shared_ptr<Operation> CallPlanner::plan(const CallArguments& call, CheckedCall checked,
                                             std::shared_ptr<Staging> staging) {
  Binding binding = binding_of(call, checked, std::move(staging));
  std::shared_ptr<Operation> operation;
  const bool has_window =
      parts_.window_use != nullptr && fits(checked.signature, *parts_.window_use, membership().size());
  if (route_of(call, checked, membership(), has_window) == CallRoute::window) {
    binding.signature.algorithm = direct_paths_id;
    operation = operations_.over_window(call.persistent);
    log_algorithm(membership(), call.collective, checked.bytes, "direct paths over shared memory");
  } else {
    operation = plan_over_links(call, checked, binding);
  }
  operation->bind(binding, call.persistent);
  return operation;
}

std::shared_ptr<Operation> CallPlanner::plan_over_links(const CallArguments& call, const CheckedCall& checked,
                                                        Binding& binding) {
  const Signature& signature = checked.signature;
  const auto unequal = static_cast<bool>(checked.blocks);
  const auto [algorithm, id] = algorithm_for(key_of(call, checked, membership().options()));
  binding.signature.algorithm = id;
  if (call.from_any) return operations_.from_any(call.source, algorithm->name);
  if (is_message(signature)) {
    return operations_.message(call.root, signature.kind == SignatureKind::send, algorithm->name, call.persistent);
  }
  const PlanKey key{.algorithm = algorithm,
                    .rank = membership().rank(),
                    .size = membership().size(),
                    .root = call.root,
                    .count = unequal ? 0 : static_cast<std::size_t>(signature.count),
                    .element_bytes = size_of(signature),
                    .slice_bytes = call_slice_bytes,
                    .placement = checked.placement,
                    .topology = membership().topology(),
                    .wire = algorithm->encoded ? signature.wire : WireFormat::exact,
                    .blocks = checked.blocks};
  return operations_.over_links(key, call.persistent);
}

// What the operation is bound to. Where its input is one of its own, the call is as if that was given.
Binding CallPlanner::binding_of(const CallArguments& call, CheckedCall& checked,
                                std::shared_ptr<Staging> staging) const {
  const Signature& signature = checked.signature;
  const Options& options = membership().options();
  const CollectiveInfo& collective = info_of(call.collective);
  const ReduceOp op = collective.chunks == Chunks::token ? ReduceOp::max : signature.op;
  Binding binding{.input = static_cast<const std::byte*>(call.send),
                  .output = static_cast<std::byte*>(call.recv),
                  .signature = signature,
                  .reduction = reduction_for(signature.dtype, op, options.size),
                  .timeout = call.timeout_ms > 0 ? timeout_of(call.timeout_ms) : options.timeout,
                  .root = call.root,
                  .staging = std::move(staging)};
  if (info_of(signature.op).takes == Takes::scalar) scale_input(call, checked, binding);
  if (!collective.runs_in_place() && checked.placement == Placement::in_place) copy_input(checked, binding);
  if (info_of(signature.op).takes == Takes::function) {
    binding.user = std::make_shared<UserFunction>(call.function, call.context, signature.dtype, size_of(signature),
                                                  parts_.link_set->rank());
    binding.reduction.custom = binding.user.get();
    binding.reduction.element_bytes = size_of(signature);
  }
  // Narrow floats are rounded with each operand then, as they are where messages carry the partial sums.
  if (is_in_rank_order(call, checked, options)) binding.reduction.all = nullptr;
  return binding;
}

// Mostly a call is like the one before.
Choice CallPlanner::algorithm_for(const ChoiceKey& key) {
  if (latest_choice_.algorithm == nullptr || latest_choice_key_ != key) {
    latest_choice_ = choose(key, membership());
    latest_choice_key_ = key;
    log_algorithm(membership(), key.collective, key.bytes, latest_choice_.algorithm->name);
  }
  return latest_choice_;
}

// A copy is an allgather of one rank.
std::shared_ptr<Operation> CallPlanner::prepare_to_self(const CallArguments& send, const CallArguments& recv) {
  const auto dtype = static_cast<DataType>(send.dtype);
  const std::lock_guard lock(mutex_);
  auto operation = operations_.over_links({.algorithm = find_algorithm(Collective::allgather, "direct"),
                                           .count = send.count,
                                           .element_bytes = size_of_element(send)},
                                          send.persistent);
  const Signature signature{.kind = SignatureKind::send,
                            .collective = Collective::send,
                            .dtype = dtype,
                            .opaque_bytes = opaque_bytes_of(send),
                            .root = membership().rank(),
                            .count = send.count};
  operation->bind({.input = static_cast<const std::byte*>(send.send),
                   .output = static_cast<std::byte*>(recv.recv),
                   .signature = signature,
                   .reduction = {},
                   .timeout = membership().options().timeout},
                  send.persistent);
  return operation;
}

}  // namespace hocket::comm
