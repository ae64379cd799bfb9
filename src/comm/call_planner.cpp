#include "src/comm/call_planner.hpp"

#include <utility>

#include "src/comm/log_lines.hpp"
#include "src/comm/own_input.hpp"
#include "src/exec/gpu/mirrored_operation.hpp"
#include "src/exec/reduce.hpp"
#include "src/plan/algorithm_id.hpp"
#include "src/plan/slicing.hpp"

namespace hocket::comm {

namespace {

constexpr std::string_view over_window = "direct paths over shared memory";

}  // namespace

Result<std::shared_ptr<Operation>> CallPlanner::prepare(const CallArguments& call) {
  if (auto operation = latest_calls_.like(call).repeat(call)) return operation;
  const std::lock_guard lock(mutex_);
  auto checked = validate(call, membership().rank(), membership().size());
  if (!checked.ok()) return checked.status();
  auto operation = plan_where_data_is(call, std::move(*checked), nullptr);
  if (!operation.ok()) return operation;
  latest_calls_.like(call).keep(call, CallTables::of(call, membership().rank(), membership().size()), *operation);
  return operation;
}

Result<std::shared_ptr<Operation>> CallPlanner::plan_where_data_is(const CallArguments& call, CheckedCall checked,
                                                                   std::shared_ptr<Staging> staging) {
  Gpus* const gpus = membership().options().gpus;
  if (gpus == nullptr) return plan(call, std::move(checked), std::move(staging));
  auto data = staging ? find_device_data(*gpus, call, *staging)
                      : find_device_data(*gpus, call, checked, membership().rank(), membership().size());
  if (!data.ok()) return data.status();
  if (!*data) return plan(call, std::move(checked), std::move(staging));
  if (!lanes_) lanes_ = std::make_shared<GpuLanes>();
  if (!staging && runs_on_gpu(call, checked, *data)) return plan_on_gpu(call, checked, std::move(*data));
  return plan_mirrored(call, std::move(*data),
                       [&](const CallArguments& on_host) { return plan(on_host, std::move(checked), nullptr); });
}

CallRoute CallPlanner::route_for(const CallArguments& call, const CheckedCall& checked) const {
  const bool has_window =
      parts_.window_use != nullptr && fits_window(checked, parts_.window_use->setting_of_window(), membership().size());
  const SharedMemory shared = has_window                 ? SharedMemory::of_all
                              : parts_.levels != nullptr ? SharedMemory::of_hosts
                                                         : SharedMemory::none;
  return route_of(call, checked, membership(), shared);
}

// The other ranks' data may lie elsewhere: then the operation finds out. What needs an input of the library's own goes
// over the host.
bool CallPlanner::runs_on_gpu(const CallArguments& call, const CheckedCall& checked, const DeviceCall& data) const {
  const bool needs_own_input = !info_of(call.collective).runs_in_place() && checked.placement == Placement::in_place;
  return data.whole && !needs_own_input && !checked.blocks && route_for(call, checked) == CallRoute::window &&
         GpuPath::takes(checked.signature, static_cast<std::uint32_t>(call.root), *parts_.window_use);
}

Result<std::shared_ptr<Operation>> CallPlanner::plan_on_gpu(const CallArguments& call, CheckedCall& checked,
                                                            DeviceCall data) {
  auto ordered = GpuCall::make(*data.gpu, call.stream);
  if (!ordered.ok()) return ordered.status();
  if (!call.persistent) {
    if (Status marked = ordered->mark(); !marked.ok()) return marked;
  }
  Binding binding = binding_of(call, checked, nullptr);
  binding.signature.algorithm = direct_paths_id;
  binding.device = std::make_shared<DeviceData>(DeviceData{.call = std::move(*ordered),
                                                           .input = binding.input,
                                                           .output = binding.output,
                                                           .lanes = lanes_,
                                                           .layout = std::move(data.layout),
                                                           .input_at = data.send_at.value_or(0),
                                                           .output_at = data.recv_at.value_or(0)});
  std::shared_ptr<Operation> operation = operations_.over_window(call.persistent);
  log_algorithm(membership(), call.collective, checked.bytes, "direct paths over one GPU");
  operation->bind(binding, call.persistent);
  return operation;
}

Result<std::shared_ptr<Operation>> CallPlanner::plan_mirrored(const CallArguments& call, DeviceCall data,
                                                              const PlanOnHost& plan_on_host) {
  auto ordered = GpuCall::make(*data.gpu, call.stream);
  if (!ordered.ok()) return ordered.status();
  auto gpu_call = std::make_unique<GpuCall>(std::move(*ordered));
  auto mirror = HostMirror::make(lanes_, *gpu_call, std::move(data.layout));
  if (!mirror.ok()) return mirror.status();
  auto inner = plan_on_host(data.on_host(call, (*mirror)->memory()));
  const Binding binding{.signature = inner->signature(), .reduction = {}, .timeout = inner->timeout()};
  auto operation = std::make_shared<MirroredOperation>(parts_.context, std::move(inner), std::move(gpu_call),
                                                       std::move(*mirror), call.persistent);
  if (!call.persistent) {
    if (Status marked = operation->mark_streams(); !marked.ok()) return marked;
  }
  operation->bind(binding, call.persistent);
  return std::shared_ptr<Operation>(std::move(operation));
}

std::shared_ptr<Operation> CallPlanner::plan(const CallArguments& call, CheckedCall checked,
                                             std::shared_ptr<Staging> staging) {
  Binding binding = binding_of(call, checked, std::move(staging));
  std::shared_ptr<Operation> operation;
  switch (route_for(call, checked)) {
    case CallRoute::window: operation = plan_over_window(call, checked, binding); break;
    case CallRoute::host_windows: operation = plan_over_host_windows(call, checked, binding); break;
    case CallRoute::links: operation = plan_over_links(call, checked, binding); break;
  }
  if (const WireFormat allowed = checked.signature.wire; allowed != operation->wire()) {
    const std::string_view by = binding.signature.algorithm == direct_paths_id ? over_window : operation->algorithm();
    log_exact_instead(membership(), call.collective, checked.bytes, allowed, by);
  }
  operation->bind(binding, call.persistent);
  return operation;
}

std::shared_ptr<Operation> CallPlanner::plan_over_window(const CallArguments& call, const CheckedCall& checked,
                                                         Binding& binding) {
  if (checked.blocks && !info_of(call.collective).all_know_blocks()) {
    const BlockExchange::Place place{.self = static_cast<std::uint32_t>(membership().rank()),
                                     .root = static_cast<std::uint32_t>(checked.signature.root),
                                     .members = static_cast<std::uint32_t>(membership().size())};
    if (auto large = BlockExchange::over_links(checked.signature, *checked.blocks.table, place)) {
      const auto [algorithm, id] = algorithm_for(key_of(call, checked, membership().options()));
      binding.signature.algorithm = id;
      PlanKey key = plan_key(call, checked, *algorithm, binding);
      key.slice_bytes = block_slice_bytes;
      key.blocks = {std::make_shared<const UnequalBlocks>(std::move(*large))};
      return operations_.over_window_and_links(key, checked.blocks, call.persistent);
    }
  }
  binding.signature.algorithm = direct_paths_id;
  log_algorithm(membership(), call.collective, checked.bytes, over_window);
  return operations_.over_window(call.persistent, checked.blocks);
}

std::shared_ptr<Operation> CallPlanner::plan_over_host_windows(const CallArguments& call, const CheckedCall& checked,
                                                               Binding& binding) {
  const Signature& signature = checked.signature;
  const HostLevels& levels = *parts_.levels;
  const HostLevels::Leaders leaders = levels.leaders_with(call.root);
  const auto [algorithm, id] = choose_for_leaders(key_of(call, checked, membership().options()), membership());
  binding.signature.algorithm = id;
  const bool takes_sum = levels.window_use() != nullptr && info_of(call.collective).reduces();
  TwoLevelOperation::Key key{.between = {.algorithm = algorithm,
                                         .rank = levels.own_host(),
                                         .size = levels.hosts(),
                                         .root = info_of(call.collective).has_root() ? levels.host_of(call.root) : 0,
                                         .count = static_cast<std::size_t>(signature.count),
                                         .element_bytes = size_of(signature),
                                         .slice_bytes = call_slice_bytes,
                                         .placement = takes_sum ? Placement::in_place : checked.placement},
                             .number = leaders.number,
                             .leader = leaders.here};
  auto operation = operations_.over_host_windows(key, leaders.among, call.persistent);
  log_algorithm(membership(), call.collective, checked.bytes, operation->algorithm());
  return operation;
}

std::shared_ptr<Operation> CallPlanner::plan_over_links(const CallArguments& call, const CheckedCall& checked,
                                                        Binding& binding) {
  const Signature& signature = checked.signature;
  const auto [algorithm, id] = algorithm_for(key_of(call, checked, membership().options()));
  binding.signature.algorithm = id;
  if (call.from_any) return operations_.from_any(call.source, algorithm->name);
  if (is_message(signature)) {
    return operations_.message(call.root, signature.kind == SignatureKind::send, algorithm->name, call.persistent);
  }
  return operations_.over_links(plan_key(call, checked, *algorithm, binding), call.persistent);
}

PlanKey CallPlanner::plan_key(const CallArguments& call, const CheckedCall& checked, const Algorithm& algorithm,
                              const Binding& binding) const {
  const Signature& signature = checked.signature;
  return {.algorithm = &algorithm,
          .rank = membership().rank(),
          .size = membership().size(),
          .root = call.root,
          .count = checked.blocks ? 0 : static_cast<std::size_t>(signature.count),
          .element_bytes = size_of(signature),
          .slice_bytes = call_slice_bytes,
          .placement = checked.placement,
          .topology = membership().topology(),
          .wire = algorithm.encoded ? signature.wire : WireFormat::exact,
          .wide_sums = info_of(call.collective).reduces() && binding.reduction.wide != nullptr,
          .blocks = checked.blocks};
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
  // Narrow floats are rounded with each operand then, as they must be where messages carry the partial sums.
  if (is_in_rank_order(call, checked, options)) binding.reduction.round_each();
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

Result<std::shared_ptr<Operation>> CallPlanner::prepare_to_self(const CallArguments& send, const CallArguments& recv) {
  CallArguments both = send;
  both.recv = recv.recv;
  const std::lock_guard lock(mutex_);
  if (Gpus* const gpus = membership().options().gpus) {
    auto data = find_device_data_to_self(*gpus, both);
    if (!data.ok()) return data.status();
    if (*data) {
      if (!lanes_) lanes_ = std::make_shared<GpuLanes>();
      return plan_mirrored(both, std::move(*data), [&](const CallArguments& on_host) { return plan_to_self(on_host); });
    }
  }
  return plan_to_self(both);
}

// A copy is an allgather of one rank.
std::shared_ptr<Operation> CallPlanner::plan_to_self(const CallArguments& both) {
  const auto dtype = static_cast<DataType>(both.dtype);
  auto operation = operations_.over_links({.algorithm = find_algorithm(Collective::allgather, "direct"),
                                           .count = both.count,
                                           .element_bytes = size_of_element(both)},
                                          both.persistent);
  const Signature signature{.kind = SignatureKind::send,
                            .collective = Collective::send,
                            .dtype = dtype,
                            .opaque_bytes = opaque_bytes_of(both),
                            .root = membership().rank(),
                            .count = both.count};
  operation->bind({.input = static_cast<const std::byte*>(both.send),
                   .output = static_cast<std::byte*>(both.recv),
                   .signature = signature,
                   .reduction = {},
                   .timeout = membership().options().timeout},
                  both.persistent);
  return operation;
}

}  // namespace hocket::comm
